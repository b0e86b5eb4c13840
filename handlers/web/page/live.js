// The live view: what anybody may see of the sale.

import { may } from "./api.js";
import { chart } from "./charts.js";
import { nextChange, now, saidState, shownState } from "./clock.js";
import { bars, byId, make, setFigure, setText } from "./dom.js";
import { latency, number, span, time } from "./format.js";
import { nameOf } from "./goods.js";
import { refusals } from "./messages.js";
import { onChange, refusedByCode } from "./store.js";
import { say } from "./words.js";

const names = { scheduled: "Scheduled", open: "Open", paused: "Paused", closed: "Closed", "sold-out": "Sold out" };
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
  const top = may("viewer") ? known.top : null;
  byId("top-card").hidden = !top;
  bars(byId("top-keys"), (top ?? []).map(({ key, hits }) => [key, hits]), number);
  if (byId("view-live").hidden) {
    return;
  }
  showPace(known);
  showStock(known);
  if (known.pace) {
    const refused = refusals(refusedByCode(), may("viewer"));
    byId("no-refusals").hidden = refused.length > 0;
    bars(byId("refusals"), refused, number);
  }
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
  setText(byId("slices"), slicesText(sale));
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

// peakOf is the most orders in a second of the last ten minutes, of this sale where its beginning was seen.
const peakOf = ({ seconds, orders, saleFrom }) => Math.max(0, ...orders.filter((_, i) => seconds[i] >= saleFrom));

function showPace(known) {
  paceChart ??= chart(byId("pace-chart"), { mark: () => known.saleFrom, markText: say("Next sale") });
  paceChart.setData([known.seconds, known.orders]);
  const pace = known.pace;
  if (!pace) {
    return;
  }
  byId("pace-chart").setAttribute("aria-label", 
    say("Orders per second over the last ten minutes: now {n}, at most {peak}",
      { n: pace.orders, peak: peakOf(known) }));
  setFigure(byId("rate"), number(pace.orders));
  setText(byId("peak"), say("Peak {n}", { n: number(peakOf(known)) }));
  setText(byId("scope"), say(scopes[pace.orders_of] ?? scopes.sale));
  setFigure(byId("p50"), latency(pace.p50_ms));
  setFigure(byId("p99"), latency(pace.p99_ms));
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
