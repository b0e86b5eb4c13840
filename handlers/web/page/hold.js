// The buyer's order where orders are held until they are paid: how long it is held, paying it, giving it back, and
// what has become of it.

import * as api from "./api.js";
import { now } from "./clock.js";
import { ask, byId, setText, tell } from "./dom.js";
import { span, time } from "./format.js";
import { tellError } from "./messages.js";
import { say } from "./words.js";

const lookEvery = 15_000; // ms between two looks at an order whose payment is open
const keptKey = "held"; // where this tab keeps the id of the order, for when the buyer comes back from the provider

const stamps = { held: "Held", paying: "Held", paid: "Paid" };
const ends = {
  released: "Order {id} was released: its pieces can be bought again, also by you.",
  refund_due: "Order {id} was released. Your money will be given back.",
  refunded: "Order {id} was released. Your money was given back.",
};

let order = null; // the one that is shown
let looked = 0; // when it was last looked at
let busy = false;
let changed = () => {}; // called with what the server tells of the order, null where it has ended

const isHeld = () => order?.state === "held" || order?.state === "paying";

export function start(whenChanged) {
  changed = whenChanged;
  byId("hold-pay").addEventListener("click", () => act(pay));
  byId("hold-back").addEventListener("click", () => act(giveBack));
  addEventListener("visibilitychange", () => { looked = 0; });
}

function keep(id) {
  try {
    sessionStorage.setItem(keptKey, id);
  } catch {
    // the browser stores nothing
  }
}

// kept is the id of the last held order of this tab, "" for none.
export function kept() {
  try {
    return sessionStorage.getItem(keptKey) ?? "";
  } catch {
    return "";
  }
}

// show shows an order, null for none.
export function show(next) {
  if (next?.state && next.id !== order?.id) {
    keep(next.id);
    looked = Date.now();
  }
  order = next;
  const stamp = say(stamps[order?.state] ?? "Ordered");
  setText(byId("receipt-title"), stamp);
  setText(byId("ordered-stamp"), stamp);
  byId("receipt-title").classList.toggle("open", isHeld());
  byId("ordered-stamp").classList.toggle("open", isHeld());
  byId("hold").hidden = !isHeld();
  tick();
}

// tick keeps the countdown, and looks at the order when its time is over, or a payment is open.
export function tick() {
  const left = isHeld() ? Date.parse(order.till) - now() : 0;
  const text = isHeld() ? say("Held until {time}: pay within {span}", { time: time(order.till), span: span(left) }) :
    order?.state === "paid" ? say("Paid {time}", { time: time(order.till) }) : "";
  setText(byId("hold-till"), text);
  setText(byId("ordered-hold"), text);
  byId("hold-pay").disabled = byId("hold-back").disabled = busy || left <= 0;
  const wait = left <= 0 ? 1000 : lookEvery;
  if (isHeld() && (left <= 0 || order.state === "paying") && !document.hidden && Date.now() - looked > wait) {
    look(order.id);
  }
}

// look asks what has become of an order.
export async function look(id) {
  looked = Date.now();
  try {
    const found = await api.call("GET", `/orders/${encodeURIComponent(id)}`);
    const over = found.state in ends;
    if (over) {
      keep("");
      tell(byId("buy-message"), found.state === "released" ? "" : "bad", say(ends[found.state], { id }));
    }
    changed(over ? null : found, id);
  } catch (error) {
    if (error.code === "ORDER_NOT_FOUND") {
      keep("");
      changed(null, id);
    }
  }
}

async function act(does) {
  busy = true;
  tell(byId("hold-message"), "", "");
  tick();
  try {
    await does(order.id);
  } catch (error) {
    tellError(byId("hold-message"), error);
    look(order.id);
  }
  busy = false;
  tick();
}

// pay opens a payment and goes to the page of its provider. One that costs nothing has none.
async function pay(id) {
  const payment = await api.call("POST", `/orders/${encodeURIComponent(id)}/payment`);
  if (/^https?:/.test(payment.url)) {
    location.assign(payment.url);
  }
  await look(id);
}

async function giveBack(id) {
  const text = say("Its pieces go back at once, and others can buy them. You may order again, if there are pieces " +
    "left. A payment that you have begun ends.");
  if (await ask(say("Give order {id} back?", { id }), text, say("Give it back"), true)) {
    await api.call("DELETE", `/orders/${encodeURIComponent(id)}`);
    await look(id);
  }
}
