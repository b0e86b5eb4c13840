// What was sold, by food: a table that can be sorted, for operators.

import * as api from "./api.js";
import { byId, make, setText } from "./dom.js";
import { download } from "./download.js";
import { after, number } from "./format.js";
import { amount, nameOf } from "./goods.js";
import { tellError } from "./messages.js";
import { known } from "./store.js";
import { language, say, sayCount } from "./words.js";

const rowsMax = 200; // shown; a file has all

// columns are those of index.html: what a row is sorted by, and what it shows.
const columns = {
  food: [(f) => nameOf(f.food_id), (f) => nameOf(f.food_id)],
  initial: [(f) => f.initial, (f) => number(f.initial)],
  restocked: [(f) => f.restocked, (f) => number(f.restocked)],
  left: [(f) => f.left, (f) => number(f.left)],
  sold: [(f) => f.sold, (f) => number(f.sold)],
  revenue: [(f) => f.revenue, (f) => amount(f.revenue)],
  after: [(f) => f.sold_out_after_ms ?? Infinity, (f) => after(f.sold_out_after_ms)],
  refused: [(f) => f.refused_pieces, (f) => number(f.refused_pieces)],
  tries: [(f) => f.refused_orders, (f) => number(f.refused_orders)],
};

let sums = null;
let sorted = { by: "revenue", down: true };
let ended = new AbortController(); // is aborted when the login ends

const heads = () => [...document.querySelectorAll("#sums-table th[data-by]")];

export function start() {
  for (const head of heads()) {
    head.firstElementChild.addEventListener("click", () => {
      const { by } = head.dataset;
      sorted = { by, down: sorted.by === by ? !sorted.down : by !== "food" && by !== "after" };
      draw();
    });
  }
  byId("sums-again").addEventListener("click", show);
  byId("sums-csv").addEventListener("click", () => download(
    `/admin/sums?format=csv&bom=1&language=${language}`, `sums-${known.sale?.id ?? "sale"}.csv`,
    byId("sums-state"), ended.signal));
  api.onSession((session) => {
    if (!session) {
      ended.abort();
      ended = new AbortController();
      sums = null;
      setText(byId("sums-state"), "");
      draw();
    }
  });
}

// show reads the sums as they are now.
export async function show() {
  const { signal } = ended;
  try {
    const told = await api.call("GET", "/admin/sums");
    if (!signal.aborted) {
      sums = told;
      setText(byId("sums-state"), told.slices_away ? say("A part of the sale is away: the sums are not whole.") : "");
      draw();
    }
  } catch (error) {
    if (!signal.aborted) {
      tellError(byId("sums-state"), error);
    }
  }
}

function draw() {
  const [value] = columns[sorted.by];
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const rows = [...sums?.foods ?? []].sort((a, b) =>
    (sorted.down ? -1 : 1) * (sorted.by === "food" ? value(a).localeCompare(value(b), language) :
      compare(value(a), value(b))) || a.food_id - b.food_id);
  for (const head of heads()) {
    head.setAttribute("aria-sort", head.dataset.by !== sorted.by ? "none" : sorted.down ? "descending" : "ascending");
  }
  const names = Object.keys(columns);
  byId("sums-table").tBodies[0].replaceChildren(...rows.slice(0, rowsMax).map((food) => make("tr", {},
    ...names.map((name, i) => make(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : { class: "num" },
      columns[name][1](food))))));
  const total = sums?.total;
  byId("sums-table").tFoot.hidden = !total;
  if (total) {
    byId("sums-total").replaceChildren(make("th", { scope: "row" }, say("All foods")),
      ...[total.initial, total.restocked, total.left, total.sold].map((n) => make("td", { class: "num" }, number(n))),
      make("td", { class: "num" }, amount(total.revenue)), make("td", { class: "num" }, "–"),
      ...[total.refused_pieces, total.refused_orders].map((n) => make("td", { class: "num" }, number(n))));
  }
  setText(byId("sums-note"), [
    rows.length > rowsMax && say("The first {n} of {all} foods; the file has all.",
      { n: number(rowsMax), all: number(rows.length) }),
    total?.refused_unnamed > 0 && sayCount(total.refused_unnamed,
      "Of one order that was refused the foods are not known.",
      "Of {n} orders that were refused the foods are not known.")].filter(Boolean).join(" "));
}
