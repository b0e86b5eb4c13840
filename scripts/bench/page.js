// Draws the charts of the page, by uPlot, in the colours of its style.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// percent is the percentile at so many nines; nines below 1 are not labelled.
const percent = (nines) => Number.isInteger(nines) ? `${+(100 * (1 - 10 ** -nines)).toPrecision(9)}%` : "";

function axis(label, more) {
  return { label, stroke: () => colour("--faint"), grid: { stroke: () => colour("--grid"), width: 1 },
    ticks: { show: false }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", ...more };
}

function draw(element, chart) {
  const series = chart.Lines.map((label, i) => ({
    label, stroke: () => colour(`--c${i}`), fill: chart.Bars ? () => colour(`--c${i}`) : undefined, width: 1.8,
    paths: chart.Bars ? uPlot.paths.bars({ size: [0.9], align: 1 }) : undefined,
    // A line through one point shows nothing, so the points of a short line are marked.
    points: { show: !chart.Bars && chart.Data[0].length <= 32 },
  }));
  const plot = new uPlot({
    width: element.clientWidth, height: 300, cursor: { drag: { x: false } },
    scales: {
      x: { time: false, range: [0, Math.max(1, chart.Data[0].at(-1) + (chart.Bars ? 1 : 0))] },
      y: chart.Logarithmic ? { distr: 3 } : { range: (_, least, most) => [0, Math.max(1, most * 1.05)] },
    },
    axes: [axis(chart.X, chart.Percentiles ? { values: (_, splits) => splits.map(percent) } : {}),
      axis(chart.Y, { size: 70 })],
    series: [{ label: chart.X, value: chart.Percentiles
      ? (_, nines) => nines == null ? "--" : `${(100 * (1 - 10 ** -nines)).toPrecision(6)}%` : undefined }, ...series],
  }, chart.Data, element);
  new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 300 })).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw(false, true));
}

document.querySelectorAll(".chart").forEach((element, i) => draw(element, charts[i]));
