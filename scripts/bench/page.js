// Draws the charts of the page, by uPlot, in the colours of its style. load is the report of the load.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axis(label, more) {
  return { label, stroke: () => colour("--faint"), grid: { stroke: () => colour("--grid"), width: 1 },
    ticks: { show: false }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", ...more };
}

// draw draws lines over the seconds of the load; a line is its label and its values.
function draw(id, unit, bars, lines) {
  const element = document.getElementById(id);
  const seconds = load.placed_by_second.map((_, second) => second);
  const plot = new uPlot({
    width: element.clientWidth, height: 300, cursor: { drag: { x: false } },
    scales: {
      x: { time: false, range: [0, seconds.length] },
      y: bars ? { range: (_, least, most) => [0, Math.max(1, most * 1.05)] } : { distr: 3 },
    },
    axes: [axis("seconds since the load began"), axis(unit, { size: 70 })],
    series: [{ label: "second" }, ...lines.map(([label], i) => ({
      label, stroke: () => colour(`--c${i}`), fill: bars ? () => colour(`--c${i}`) : undefined, width: 1.8,
      paths: bars ? uPlot.paths.bars({ size: [0.9], align: 1 }) : undefined,
      // A line through one point shows nothing, so the points of a short line are marked.
      points: { show: !bars && seconds.length <= 32 },
    }))],
  }, [seconds, ...lines.map(([, values]) => values)], element);
  new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 300 })).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw(false, true));
}

draw("placed", "orders/s", true, [["placed", load.placed_by_second]]);
draw("latency", "ms", false, ["p50", "p99", "max"].map((name) =>
  [name, load.order_by_second.map((second) => second.count ? second[`${name}_us`] / 1000 : null)]));
