// The orders, for operators: found by buyer, food and time, read as a stream, shown a page at a time.

import * as api from "./api.js";
import { byId, make, setText } from "./dom.js";
import { offer, findFood } from "./foodfield.js";
import { count, fromLocalInput, number, time } from "./format.js";
import { amount, nameOf, readGoods } from "./goods.js";
import { tellError } from "./messages.js";
import { showOrder, start as startOrder } from "./order.js";
import * as refunds from "./refunds.js";
import { Splitter } from "./splitter.js";
import { known } from "./store.js";
import * as sums from "./sums.js";
import { say } from "./words.js";

const pageRows = 50;
const most = 1_000_000; // orders that the page reads

let orders = [];
let strange = false; // they are of a sale whose foods may be others than in the catalogue
let during = ""; // the id of the sale that went on when they were read
let page = 0;
let reading = null; // what stops the list that is being read

export function start() {
  offer(byId("orders-food"));
  byId("orders-search").addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  byId("orders-all").addEventListener("click", () => {
    byId("orders-search").reset();
    load();
  });
  byId("orders-sale").addEventListener("change", load);
  byId("orders-stop").addEventListener("click", () => reading?.abort());
  byId("orders-back").addEventListener("click", () => turn(page - 1));
  byId("orders-next").addEventListener("click", () => turn(page + 1));
  sums.start();
  startOrder();
  refunds.start();
  api.onSession((session) => {
    if (!session) {
      reading?.abort();
      reading = null;
      running(false);
      orders = [];
      strange = false;
      byId("orders-search").reset();
      offerSales([]);
      setText(byId("orders-state"), "");
      showOrder("");
      turn(0);
    }
  });
}

// show is called whenever the view is entered. The address may name an order: #/orders/<id>.
export async function show() {
  const id = location.hash.split("/")[2] ?? "";
  byId("orders-list").hidden = byId("orders-state").hidden = id !== "";
  await readGoods().catch(() => {}); // names and prices
  showOrder(id);
  if (id === "") {
    sums.show();
    refunds.show();
    readSales();
    if (!reading && (orders.length === 0 || during !== known.sale?.id)) {
      load();
    } else {
      turn(page);
    }
  }
}

// readSales offers the sales before this one.
async function readSales() {
  try {
    const told = await api.call("GET", "/admin/sales");
    if (api.may("viewer")) {
      offerSales(told.previous);
    }
  } catch {
    // this sale is offered in any case
  }
}

function offerSales(previous) {
  const chosen = byId("orders-sale").value;
  const [own] = byId("orders-sale").options;
  byId("orders-sale").replaceChildren(own, ...previous.map((id) => make("option", { value: id }, id)));
  byId("orders-sale").value = previous.includes(chosen) ? chosen : "";
  byId("orders-sales").hidden = previous.length === 0;
}

// wanted is what somebody looks for, as the server takes it; null where it is one order.
function wanted() {
  const query = new URLSearchParams({ details: "1", limit: most });
  const who = byId("orders-find").value.trim();
  if (/^\w+-\d+(-\d+)?$/.test(who)) {
    return null;
  }
  const food = byId("orders-food").value.trim();
  const span = { from: fromLocalInput(byId("orders-from").value), to: fromLocalInput(byId("orders-to").value) };
  for (const [name, value] of Object.entries({ [/^\d+$/.test(who) ? "user" : "name"]: who,
    food: findFood(food) || food, sale: byId("orders-sale").value, ...span })) {
    if (value) {
      query.set(name, value);
    }
  }
  return query;
}

async function load() {
  const query = wanted();
  if (!query) {
    location.hash = `#/orders/${byId("orders-find").value.trim()}`;
    byId("orders-find").value = ""; // the list is found again behind the order
    return;
  }
  reading?.abort();
  const mine = new AbortController();
  reading = mine;
  orders = [];
  strange = query.has("sale");
  during = known.sale?.id ?? "";
  page = 0;
  running(true);
  try {
    const splitter = new Splitter((order) => orders.push(order));
    const reply = await api.request("GET", `/admin/orders?${query}`);
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    mine.signal.addEventListener("abort", () => reader.cancel());
    for (let shown = 0; ;) {
      const { done, value } = await reader.read();
      if (done || mine.signal.aborted) {
        reader.cancel();
        break;
      }
      splitter.push(value);
      if (performance.now() - shown > 250) { // paint now and then, so that the page does not freeze
        shown = performance.now();
        turn(page);
        await new Promise((resolve) => { setTimeout(resolve); });
      }
    }
    const names = strange && orders.length > 0 && await knowsFoods(orders[0].id).catch(() => false);
    if (reading === mine) {
      strange &&= !names;
      orders.sort((a, b) => (a.placed_at < b.placed_at ? 1 : a.placed_at > b.placed_at ? -1 : 0)); // the newest first
      const sum = money(orders.reduce((all, order) => all + order.total, 0));
      setText(byId("orders-state"), [count(orders.length, "order"), sum, mine.signal.aborted && say("stopped")]
        .filter(Boolean).join(" · "));
    }
  } catch (error) {
    if (reading === mine) {
      tellError(byId("orders-state"), error);
    }
  }
  if (reading === mine) {
    reading = null;
    running(false);
    turn(page);
  }
}

function running(is) {
  byId("orders-load").hidden = is;
  byId("orders-all").hidden = is;
  byId("orders-stop").hidden = !is;
  if (is) {
    byId("orders-state").dataset.kind = "";
    setText(byId("orders-state"), say("Reading…"));
  }
}

// knowsFoods reports whether the sale of an order has had the foods of the catalogue: then the order has their names.
async function knowsFoods(id) {
  const order = await api.call("GET", `/admin/orders/${id}`);
  return Boolean(order.currency) || order.items.some((item) => item.name);
}

const money = (units) => (strange ? number(units) : amount(units));
const foodName = (id) => (strange ? say("food {id}", { id }) : nameOf(id));
const buyer = ({ username, user_id }) => (username ? `${username} (${user_id})` : say("user {id}", { id: user_id }));

function turn(to) {
  const pages = Math.max(1, Math.ceil(orders.length / pageRows));
  page = Math.min(Math.max(0, to), pages - 1);
  byId("orders-table").tBodies[0].replaceChildren(
    ...orders.slice(page * pageRows, (page + 1) * pageRows).map((o) => make("tr", { "data-user": o.user_id },
      make("td", { class: "at" }, time(o.placed_at)),
      make("td", {}, make("a", { href: `#/orders/${o.id}` }, o.id)), make("td", {}, buyer(o)),
      make("td", {}, o.items.map((item) => `${item.count} × ${foodName(item.food_id)}`).join(", ")),
      make("td", { class: "num" }, money(o.total)))));
  byId("no-orders").hidden = orders.length > 0 || reading !== null;
  setText(byId("orders-page"), say("Page {n} of {all}", { n: number(page + 1), all: number(pages) }));
  byId("orders-back").disabled = page === 0;
  byId("orders-next").disabled = page >= pages - 1;
}
