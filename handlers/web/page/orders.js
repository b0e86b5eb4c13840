// All orders, for root: read as a stream, shown a page at a time.

import * as api from "./api.js";
import { byId, make, setText } from "./dom.js";
import { count, number, time } from "./format.js";
import { tellError } from "./messages.js";

const pageRows = 50;

let orders = [];
let found = [];
let page = 0;
let reading = null; // what stops the list that is being read

export function start() {
  byId("orders-load").addEventListener("click", load);
  byId("orders-stop").addEventListener("click", () => reading?.abort());
  byId("orders-find").addEventListener("input", () => turn(0));
  byId("orders-back").addEventListener("click", () => turn(page - 1));
  byId("orders-next").addEventListener("click", () => turn(page + 1));
  api.onSession((session) => {
    if (!session) {
      reading?.abort();
      reading = null;
      running(false);
      orders = [];
      byId("orders-find").value = "";
      setText(byId("orders-state"), "");
      turn(0);
    }
  });
}

// show is called whenever the view is entered.
export const show = () => (orders.length === 0 && !reading ? load() : turn(page));

// Splitter finds the objects of a list of JSON in pieces of its text: the list may be far too long to be read
// at once. JSON lines are split as well.
export class Splitter {
  constructor(onObject) {
    Object.assign(this, { onObject, depth: 0, quoted: false, escaped: false, text: "" });
  }

  push(piece) {
    let begin = this.depth > 0 ? 0 : -1;
    for (let i = 0; i < piece.length; i++) {
      const c = piece[i];
      if (this.quoted) {
        this.quoted = this.escaped || c !== '"';
        this.escaped = !this.escaped && c === "\\";
      } else if (c === '"') {
        this.quoted = true;
      } else if (c === "{" && this.depth++ === 0) {
        begin = i;
      } else if (c === "}" && --this.depth === 0) {
        this.onObject(JSON.parse(this.text + piece.slice(begin, i + 1)));
        this.text = "";
        begin = -1;
      }
    }
    if (begin >= 0) {
      this.text += piece.slice(begin);
    }
  }
}

async function load() {
  reading?.abort();
  const mine = new AbortController();
  reading = mine;
  orders = [];
  running(true);
  try {
    const splitter = new Splitter((order) => orders.push(order));
    const reply = await api.request("GET", "/admin/orders?details=1");
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
    if (reading === mine) {
      orders.sort((a, b) => (a.placed_at < b.placed_at ? 1 : a.placed_at > b.placed_at ? -1 : 0)); // the newest first
      setText(byId("orders-state"), `${count(orders.length, "order")}${mine.signal.aborted ? ", stopped" : ""}`);
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
  byId("orders-stop").hidden = !is;
  if (is) {
    setText(byId("orders-state"), "Reading…");
  }
}

function turn(to) {
  const wanted = byId("orders-find").value.trim();
  found = wanted === "" ? orders : orders.filter((o) => o.id === wanted || String(o.user_id) === wanted);
  const pages = Math.max(1, Math.ceil(found.length / pageRows));
  page = Math.min(Math.max(0, to), pages - 1);
  byId("orders-table").tBodies[0].replaceChildren(
    ...found.slice(page * pageRows, (page + 1) * pageRows).map((o) => make("tr", {},
      make("td", {}, o.id), make("td", { class: "num" }, String(o.user_id)),
      make("td", {}, o.items.map(({ food_id, count }) => `${count} × food ${food_id}`).join(", ")),
      make("td", { class: "num" }, number(o.total)), make("td", { class: "when" }, time(o.placed_at)))));
  setText(byId("orders-page"), `Page ${number(page + 1)} of ${number(pages)}`);
  byId("orders-back").disabled = page === 0;
  byId("orders-next").disabled = page >= pages - 1;
}
