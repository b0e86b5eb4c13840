// Charts, by uPlot, in the colours of the page's theme.

import "./uplot.js";
import { region } from "./format.js";

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
  const format = new Intl.DateTimeFormat(region, options);
  return (seconds) => format.format(new Date(seconds * 1000));
};
const second = part({ timeStyle: "medium" });
const hour = part({ timeStyle: "short" });
const day = part({ day: "numeric", month: "short" });
const month = part({ month: "short", year: "numeric" });
const minuteSeconds = 60;
const daySeconds = 86400;
const leastSpan = minuteSeconds; // of a curve that has just begun

const isMidnight = (at) => at.getHours() + at.getMinutes() === 0;

// times labels an axis of time by the distance of its labels: seconds, hours with the day at midnight, days, or
// months.
const times = (_, splits, axis, space, distance) => splits.map((at) => {
  if (distance >= 28 * daySeconds) {
    return month(at);
  }
  if (distance < minuteSeconds) {
    return second(at);
  }
  return distance >= daySeconds || isMidnight(new Date(at * 1000)) ? day(at) : hour(at);
});

// stepOf is the time from the last point but one to the last.
const stepOf = (xs) => (xs.length > 1 ? xs.at(-1) - xs.at(-2) : 0);

const fontOf = (size) => `${size}px system-ui, sans-serif`;

function axis(more) {
  return {
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { show: false },
    ...more,
  };
}

// drawMarks draws a line across a chart for each mark, with its text where there is room.
function drawMarks({ ctx, bbox, valToPos, scales }, marks, size) {
  ctx.save();
  ctx.fillStyle = colour("--muted");
  ctx.font = fontOf(size * devicePixelRatio);
  ctx.textBaseline = "top";
  let free = -Infinity; // where the last text ends
  for (const { at, text } of marks.filter(({ at: t }) => t >= scales.x.min && t <= scales.x.max)) {
    const x = Math.round(valToPos(at, "x", true));
    ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
    const [gap, width] = [6 * devicePixelRatio, ctx.measureText(text).width];
    const from = x + gap + width > bbox.left + bbox.width ? x - gap - width : x + gap;
    if (from > free) {
      ctx.fillText(text, from, bbox.top);
      free = from + width + gap;
    }
  }
  ctx.restore();
}

// drawGaps draws a bar at the foot of a chart for each time in which something is missing.
function drawGaps({ ctx, bbox, valToPos, scales }, gaps) {
  ctx.save();
  ctx.fillStyle = colour("--warn");
  for (const { from, to } of gaps.filter((gap) => gap.to > scales.x.min && gap.from < scales.x.max)) {
    const left = Math.max(valToPos(from, "x", true), bbox.left);
    const right = Math.min(valToPos(to, "x", true), bbox.left + bbox.width);
    const height = 4 * devicePixelRatio;
    ctx.fillRect(left, bbox.top + bbox.height - height, Math.max(right - left, devicePixelRatio), height);
  }
  ctx.restore();
}

const fromZero = { range: (_, least, most) => [0, Math.max(4, (most ?? 0) * 1.1)] };

function series(bars) {
  return {
    stroke: () => colour("--accent"),
    fill: () => colour("--accent-tint"),
    width: 2,
    points: { show: false },
    paths: bars ? window.uPlot.paths.bars({ size: [0.8, 60], align: 1 }) : undefined,
  };
}

// chart makes a chart of a curve in an element and keeps its size. bars draws columns in place of a line, each to
// the right of its time. sum is for a second curve, with an axis of its own at the right. onPoint is called with
// the place of the point under the cursor, null for none. marks are {at, text}, gaps {from, to}. size is that of its
// texts.
export function chart(element, { bars = false, sum = false, onPoint = () => {}, marks = () => [], gaps = () => [],
  size = 12 }) {
  const font = fontOf(size);
  const side = { font, size: 4 * size, space: 3.5 * size, values: whole };
  const plot = new window.uPlot({
    width: element.clientWidth || 300,
    height: element.clientHeight || 200,
    padding: [Math.ceil(0.7 * size), sum ? 0 : 22, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { range: bars ? (self, from, to) => [from, to + stepOf(self.data[0])] :
      (_, from, to) => [from, Math.max(to, from + leastSpan)] }, y: fromZero, sum: fromZero },
    axes: [axis({ font, space: 8 * size, size: 2.2 * size, gap: size / 2, values: times }), axis(side),
      ...(sum ? [axis({ ...side, size: 5 * size, side: 1, scale: "sum", grid: { show: false } })] : [])],
    series: [{}, series(bars), ...(sum ? [{ scale: "sum", stroke: () => colour("--muted"), width: 1.5, dash: [6, 4],
      points: { show: false }, spanGaps: true }] : [])],
    hooks: { setCursor: [(self) => onPoint(self.cursor.idx ?? null)],
      draw: [(self) => { drawGaps(self, gaps()); drawMarks(self, marks(), size); }] },
  }, sum ? [[], [], []] : [[], []], element);
  charts.add(plot);
  const observer = new ResizeObserver(() => {
    if (element.clientWidth > 0) {
      plot.setSize({ width: element.clientWidth, height: element.clientHeight });
    }
  });
  observer.observe(element);
  plot.hooks.destroy = [() => {
    observer.disconnect();
    charts.delete(plot);
  }];
  return plot;
}

// byKeys lets a person walk along the chart that an element has with the arrow keys. text tells a point.
export function byKeys(element, chartOf, text) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
  element.addEventListener("keydown", (event) => {
    const plot = chartOf();
    const last = plot.data[0].length - 1;
    if (event.key === "Escape") {
      plot.setCursor({ left: -10, top: -10 });
    } else if (event.key in steps && last >= 0) {
      event.preventDefault();
      const i = Math.min(last, Math.max(0, (plot.cursor.idx ?? last + 1) + steps[event.key]));
      plot.setCursor({ left: plot.valToPos(plot.data[0][i], "x"), top: 10 });
      for (const [name, value] of [["valuemax", last], ["valuenow", i], ["valuetext", text(i)]]) {
        element.setAttribute(`aria-${name}`, value);
      }
    }
  });
}
