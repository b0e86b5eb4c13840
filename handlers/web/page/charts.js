// Charts, by uPlot, in the colours of the page's theme.

import "./uplot.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const charts = new Set();

// redraw paints all charts again, in the colours that hold now.
export const redraw = () => charts.forEach((chart) => chart.redraw(false, true));
document.addEventListener("theme", redraw);

// whole labels only the whole numbers of an axis.
const whole = (_, splits) => splits.map((n) => {
  if (!Number.isInteger(n)) {
    return "";
  }
  return n >= 1e6 ? `${n / 1e6}M` : n >= 1e4 ? `${n / 1e3}k` : String(n);
});

const part = (options) => {
  const format = new Intl.DateTimeFormat("en-GB", options);
  return (seconds) => format.format(new Date(seconds * 1000));
};
const hour = part({ hour: "2-digit", minute: "2-digit" });
const day = part({ day: "numeric", month: "short" });
const month = part({ month: "short", year: "numeric" });
const daySeconds = 86400;

// times labels an axis of time by the distance of its labels: hours with the day at midnight, days, or months.
const times = (_, splits, axis, space, distance) => splits.map((at) => {
  if (distance >= 28 * daySeconds) {
    return month(at);
  }
  return distance >= daySeconds || hour(at) === "00:00" ? day(at) : hour(at);
});

// stepOf is the time from the last point but one to the last.
const stepOf = (xs) => (xs.length > 1 ? xs.at(-1) - xs.at(-2) : 0);

function axis(more) {
  return {
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
    ...more,
  };
}

// drawMark draws a line across a chart at a time, with a text beside it.
function drawMark({ ctx, bbox, valToPos, scales }, at, text) {
  if (!(at > scales.x.min && at < scales.x.max)) {
    return;
  }
  const x = Math.round(valToPos(at, "x", true));
  ctx.save();
  ctx.fillStyle = colour("--muted");
  ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  const left = x > bbox.left + bbox.width / 2;
  ctx.textAlign = left ? "right" : "left";
  ctx.textBaseline = "top";
  ctx.fillText(text, x + (left ? -6 : 6) * devicePixelRatio, bbox.top);
  ctx.restore();
}

// chart makes a chart of one curve in an element and keeps its size. bars draws columns in place of a line, each
// to the right of its time. onPoint is called with the place of the point under the cursor, null for none. mark
// is the time of a line across the chart.
export function chart(element, { bars = false, onPoint = () => {}, mark = () => 0, markText = "" } = {}) {
  const plot = new window.uPlot({
    width: element.clientWidth || 300,
    height: element.clientHeight || 200,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { range: (self, from, to) => [from, bars ? to + stepOf(self.data[0]) : to] },
      y: { range: (_, least, most) => [0, Math.max(4, (most ?? 0) * 1.1)] } },
    axes: [axis({ space: 90, size: 26, gap: 6, values: times }), axis({ size: 48, space: 44, values: whole })],
    series: [{}, {
      stroke: () => colour("--accent"),
      fill: () => colour("--accent-tint"),
      width: 2,
      points: { show: false },
      paths: bars ? window.uPlot.paths.bars({ size: [0.8, 60], align: 1 }) : undefined,
    }],
    hooks: { setCursor: [(self) => onPoint(self.cursor.idx ?? null)],
      draw: [(self) => drawMark(self, mark(), markText)] },
  }, [[], []], element);
  charts.add(plot);
  new ResizeObserver(() => {
    if (element.clientWidth > 0) {
      plot.setSize({ width: element.clientWidth, height: element.clientHeight });
    }
  }).observe(element);
  return plot;
}
