// The live view: what anybody may see of the sale.

import { may } from "./api.js";
import { byKeys, chart } from "./charts.js";
import { nextChange, now, saidState, shownState } from "./clock.js";
import { bars, byId, make, setFigure, setText } from "./dom.js";
import { clockTime, latency, number, span, time } from "./format.js";
import { nameOf } from "./goods.js";
import { wordsOf } from "./hits.js";
import { refusals } from "./messages.js";
import { known, onChange, refusedByCode } from "./store.js";
import * as story from "./story.js";
import { marksOf } from "./story.js";
import * as wall from "./wall.js";
import { say } from "./words.js";

const names = { scheduled: "Scheduled", open: "Open", paused: "Paused", closed: "Closed", "sold-out": "Sold out" };
const lowPart = 0.1; // of a full cell: below it the cell has another colour
const fewCells = 12; // up to here they are large on a wall
const denseCells = 300; // from here on cells are small and have no number of their own

const waitingPoints = 600; // of the curve before the opening
const pageText = 12; // pixels, the texts of the chart
const wallText = 0.014; // of the screen's width, the same on a wall
const shortFigure = 6; // characters that have the full size

let paceChart = null;
let points = []; // of the curve that is shown
let textSize = 0; // of the chart
let pointAt = null; // the time of the one under the cursor

export function start() {
  onChange(show);
  byKeys(byId("pace-chart"), () => paceChart, (i) => pointText(points[i]));
}

// tick shows what changes with time alone.
export function tick() {
  if (known.sale) {
    showState(known.sale);
  }
}

export function show() {
  if (known.sale) {
    showState(known.sale);
    showSale(known.sale);
  }
  const top = may("viewer") ? known.top : null;
  byId("top-card").hidden = !top;
  bars(byId("top-keys"), (top ?? []).map(({ key, hits }) => [wordsOf(key), hits]), number);
  if (byId("view-live").hidden) {
    return;
  }
  showPace();
  showStock(known);
  showRefused();
  story.show(known.marks, known.sale?.id);
}

function showState(sale) {
  const at = now();
  const state = shownState(sale, at);
  const next = nextChange(sale, at);
  setText(byId("state"), say(names[state] ?? state));
  byId("state").dataset.state = state;
  setText(byId("headline"), next && state !== "sold-out" ? next.what : saidState(sale, at));
  setText(byId("countdown"), next ? span(next.at - at) : "");
  byId("countdown").hidden = !next;
}

function showSale(sale) {
  setText(byId("sale-id"), sale.id);
  showTime("opens", sale.opens_at, sale.state === "scheduled" ? say("when opened by hand") : "");
  showTime("closes", sale.closes_at, sale.state === "closed" ? "" : say("when closed by hand"));
  setFigure(byId("orders"), number(sale.orders));
  setFigure(byId("left"), number(sale.pieces_left));
  setFigure(byId("sold"), number(sale.pieces_sold));
  showHeld(sale);
  setText(byId("slices"), slicesText(sale));
}

// showHeld shows the pieces of orders that wait to be paid, where orders are held.
function showHeld({ pieces_held: held, next_release_at: next }) {
  byId("held-tile").hidden = held === undefined;
  setFigure(byId("held"), held === undefined ? "" : number(held));
  setText(byId("next-release"), next ? say("the next hold ends {time}", { time: time(next) }) : "");
}

// slicesText tells that a part of the sale is away, or does not follow a change yet.
function slicesText({ slices_away: away, slices_behind: behind }) {
  if (away) {
    return say("A part of the sale is away: some buyers cannot order, and its pieces and orders are those of before.");
  }
  return behind ? say("The last change has not reached every part of the sale yet.") : "";
}

function showTime(id, at, otherwise) {
  setText(byId(id), at ? time(at) : otherwise);
  byId(id).parentElement.hidden = byId(id).textContent === "";
}

// shownPoints is the part of the curve from the opening on. Before that it is all there is.
function shownPoints({ curve, marks }) {
  const opened = marks.find(({ what }) => what === "opened");
  const from = opened ? Math.floor(Date.parse(opened.at) / 1000) : 0;
  const first = curve.points.findIndex(({ t, step }) => t + step > from);
  return first < 0 ? curve.points.slice(-waitingPoints) : curve.points.slice(opened ? first : -waitingPoints);
}

// pointText is what a point of the curve says.
function pointText(point) {
  if (point.rate === null) {
    return say("{time}: no figures", { time: clockTime(point.t) });
  }
  const values = { time: clockTime(point.t), rate: number(Math.round(point.rate * 10) / 10), all: number(point.total),
    refused: number(point.refused), connections: number(point.connections) };
  const parts = [say("{time}: {rate} a second, {all} orders in all, {refused} refused, {connections} connections",
    values)];
  if (point.p99 > 0) {
    parts.push(say("99% of orders within {p99}", { p99: latency(point.p99) }));
  }
  const away = known.curve.away(point);
  if (away) {
    parts.push(say("{n} of {all} servers", { n: away.servers, all: away.of }));
  }
  return parts.join(say(", "));
}

function showPoint(i) {
  pointAt = i === null ? null : points[i]?.t ?? null;
  setText(byId("pace-point"), i !== null && points[i] ? pointText(points[i]) : "");
}

function showCurve() {
  points = shownPoints(known);
  const size = wall.isOn() ? Math.max(pageText, Math.round(innerWidth * wallText)) : pageText;
  if (size !== textSize) {
    paceChart?.destroy();
    textSize = size;
    paceChart = chart(byId("pace-chart"), { sum: true, onPoint: showPoint, marks: () => marksOf(known.marks),
      gaps: () => known.curve.missing, size });
  }
  paceChart.setData([points.map(({ t }) => t), points.map(({ rate }) => rate), points.map(({ total }) => total)]);
  const again = points.findIndex(({ t }) => t === pointAt);
  setText(byId("pace-point"), again >= 0 ? pointText(points[again]) : "");
  byId("no-orders-yet").hidden = known.sale?.orders !== 0;
}

// showWords shows words where a figure is not there.
function showWords(element, words) {
  setFigure(element, words, shortFigure);
  element.dataset.words = "";
}

function showLatency(id, ms) {
  if (ms === null) {
    showWords(byId(id), say(known.sale?.orders === 0 ? "no orders yet" : "no orders now"));
  } else {
    delete byId(id).dataset.words;
    setFigure(byId(id), latency(ms));
  }
}

// scopeText tells of which servers the figures are.
function scopeText({ servers, servers_of: of }) {
  if (of === null) {
    return say("Redis is away: the figures are those of the server that you are connected to.");
  }
  if (servers < of) {
    return say("{n} of {all} servers: the figures of those that are away are missing.", { n: servers, all: of });
  }
  return of > 1 ? say("All figures are those of the whole sale, by {all} servers.", { all: of }) :
    say("All figures are those of the whole sale.");
}

function showPace() {
  showCurve();
  setText(byId("peak"), say("Peak {n}", { n: number(known.peak) }));
  const pace = known.pace;
  if (!pace) {
    setFigure(byId("rate"), number(known.curve.points.at(-1)?.orders));
    return;
  }
  setFigure(byId("rate"), number(pace.orders));
  setText(byId("scope"), scopeText(pace));
  byId("scope").dataset.kind = pace.servers === pace.servers_of ? "" : "warn";
  showLatency("p50", pace.p50_ms);
  showLatency("p99", pace.p99_ms);
  setFigure(byId("connections"), number(pace.connections));
  if (pace.redis === null) { // it has not answered yet
    return;
  }
  setText(byId("redis"), say(pace.redis === "up" ? "Up" : "Away"));
  byId("redis").dataset.kind = pace.redis === "up" ? "good" : "bad";
  const lag = number(pace.ledger_lag);
  setFigure(byId("ledger"), pace.ledger_lag === null ? say("Off") : say("{n} behind", { n: lag }),
    Math.max(6, lag.length)); // two lines
}

// showRefused shows how many calls were refused in the whole sale, and how many of them in the last minute.
function showRefused() {
  const byCode = refusedByCode();
  const list = refusals(byCode.map(([code, , all]) => [code, all]));
  const minute = refusals(byCode.map(([code, n]) => [code, n]));
  byId("no-refusals").hidden = list.length > 0;
  bars(byId("refusals"), list, number);
  [...byId("refusals").children].forEach((line, i) => {
    const now = minute[i][1];
    const text = now > 0 ? say("{n} a minute", { n: number(now) }) : "";
    line.insertBefore(make("small", { class: "muted" }, text), line.lastElementChild);
  });
}

function showStock({ left, full }) {
  const list = byId("stock");
  list.classList.toggle("dense", left.length > denseCells);
  byId("view-live").classList.toggle("few", left.length <= fewCells);
  while (list.childElementCount > left.length) {
    list.lastElementChild.remove();
  }
  for (let i = list.childElementCount; i < left.length; i++) {
    list.append(make("li", { "data-food": i + 1 }, make("span", { class: "food" }, String(i + 1)), make("b")));
  }
  left.forEach((n, i) => showCell(list.children[i], n, full[i]));
  const gone = left.filter((n) => n === 0).length;
  setText(byId("stock-summary"), left.length === 0 ? "" :
    say("{n} of {all} foods in stock", { n: number(left.length - gone), all: number(left.length) }));
}

function showCell(cell, n, full) {
  if (cell.dataset.left === String(n) && cell.dataset.full === String(full)) {
    return;
  }
  Object.assign(cell.dataset, { left: n, full });
  const part = full > 0 ? Math.min(1, n / full) : 0;
  cell.style.setProperty("--part", part);
  cell.dataset.level = n === 0 ? "none" : part <= lowPart ? "low" : "some";
  cell.title = `${nameOf(cell.dataset.food)}: ${say("{n} left", { n: number(n) })}`;
  setFigure(cell.lastElementChild, n === 0 ? say("sold out") : number(n));
}
