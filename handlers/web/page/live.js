// The live view: what anybody may see of the sale.

import { isRoot } from "./api.js";
import { chart } from "./charts.js";
import { nextChange, now, stateOf } from "./clock.js";
import { announce, bars, byId, make, setFigure, setText } from "./dom.js";
import { latency, number, span, time } from "./format.js";
import { refusals } from "./messages.js";
import { onChange, refusedByCode } from "./store.js";

const headlines = {
  scheduled: "The sale has not opened yet",
  open: "The sale is open",
  paused: "The sale is paused",
  closed: "The sale is closed",
};
const names = { scheduled: "Scheduled", open: "Open", paused: "Paused", closed: "Closed" };
const lowPart = 0.1; // of a full cell: below it the cell has another colour
const fewCells = 12; // up to here they are large on a wall
const denseCells = 300; // from here on cells are small and have no number of their own

const scopes = {
  sale: "Stock and orders are those of the whole sale. Latency, refusals and connections are those of the server " +
    "that you are connected to.",
  server: "Stock and the number of orders are those of the whole sale. Orders per second, latency, refusals and " +
    "connections are those of the server that you are connected to.",
};

let paceChart = null;
let lastState = "";

export function start() {
  onChange(show);
}

// tick shows what changes with time alone.
export function tick(known) {
  if (known.sale) {
    showState(known.sale);
  }
}

export function show(known) {
  if (known.sale) {
    showState(known.sale);
    showSale(known.sale);
  }
  if (byId("view-live").hidden) {
    return;
  }
  showPace(known);
  showStock(known);
  if (known.pace) {
    const refused = refusals(refusedByCode(), isRoot());
    byId("no-refusals").hidden = refused.length > 0;
    bars(byId("refusals"), refused, number);
  }
  const top = isRoot() ? known.top : null;
  byId("top-card").hidden = !top;
  bars(byId("top-keys"), (top ?? []).map(({ key, hits }) => [key, hits]), number);
}

function showState(sale) {
  const at = now();
  const state = stateOf(sale, at);
  const next = nextChange(sale, at);
  setText(byId("state"), names[state] ?? state);
  byId("state").dataset.state = state;
  setText(byId("headline"), next ? next.what : headlines[state] ?? state);
  setText(byId("countdown"), next ? span(next.at - at) : "");
  byId("countdown").hidden = !next;
  if (state !== lastState) {
    if (lastState !== "") {
      announce(headlines[state] ?? state);
    }
    lastState = state;
    document.title = `${names[state] ?? state} · flashsale`;
  }
}

function showSale(sale) {
  setText(byId("sale-id"), sale.id);
  showTime("opens", sale.opens_at, sale.state === "scheduled" ? "when opened by hand" : "");
  showTime("closes", sale.closes_at, sale.state === "closed" ? "" : "when closed by hand");
  setFigure(byId("orders"), number(sale.orders));
  setFigure(byId("left"), number(sale.pieces_left));
  setFigure(byId("sold"), number(sale.pieces_sold));
  setText(byId("slices"), slicesText(sale));
}

// slicesText tells that a part of the sale is away, or does not follow a change yet.
function slicesText({ slices_away: away, slices_behind: behind }) {
  if (away) {
    return "A part of the sale is away: some buyers cannot order, and its pieces and orders are those of before.";
  }
  return behind ? "The last change has not reached every part of the sale yet." : "";
}

function showTime(id, at, otherwise) {
  setText(byId(id), at ? time(at) : otherwise);
  byId(id).parentElement.hidden = byId(id).textContent === "";
}

// peakOf is the most orders in a second of the last ten minutes, of this sale where its beginning was seen.
const peakOf = ({ seconds, orders, saleFrom }) => Math.max(0, ...orders.filter((_, i) => seconds[i] >= saleFrom));

function showPace(known) {
  paceChart ??= chart(byId("pace-chart"), { mark: () => known.saleFrom, markText: "Next sale" });
  paceChart.setData([known.seconds, known.orders]);
  const pace = known.pace;
  if (!pace) {
    return;
  }
  byId("pace-chart").setAttribute("aria-label", `Orders per second over the last ten minutes: now ${pace.orders}, ` +
    `at most ${peakOf(known)}`);
  setFigure(byId("rate"), number(pace.orders));
  setText(byId("peak"), `Peak ${number(peakOf(known))}`);
  setText(byId("scope"), scopes[pace.orders_of] ?? scopes.sale);
  setFigure(byId("p50"), latency(pace.p50_ms));
  setFigure(byId("p99"), latency(pace.p99_ms));
  setFigure(byId("connections"), number(pace.connections));
  if (pace.redis === null) { // it has not answered yet
    return;
  }
  setText(byId("redis"), pace.redis === "up" ? "Up" : "Away");
  byId("redis").dataset.kind = pace.redis === "up" ? "good" : "bad";
  const lag = number(pace.ledger_lag);
  setFigure(byId("ledger"), pace.ledger_lag === null ? "Off" : `${lag} behind`, Math.max(6, lag.length)); // two lines
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
    `${number(left.length - gone)} of ${number(left.length)} foods in stock`);
}

function showCell(cell, n, full) {
  if (cell.dataset.left === String(n) && cell.dataset.full === String(full)) {
    return;
  }
  Object.assign(cell.dataset, { left: n, full });
  const part = full > 0 ? Math.min(1, n / full) : 0;
  cell.style.setProperty("--part", part);
  cell.dataset.level = n === 0 ? "none" : part <= lowPart ? "low" : "some";
  cell.title = `Food ${cell.dataset.food}: ${number(n)} left`;
  setFigure(cell.lastElementChild, n === 0 ? "sold out" : number(n));
}
