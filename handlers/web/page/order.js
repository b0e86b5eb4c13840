// One order, for operators.

import * as api from "./api.js";
import { byId, make, setText, tell } from "./dom.js";
import { number, zoned } from "./format.js";
import * as correct from "./correct.js";
import { amount as money } from "./goods.js";
import { tellError } from "./messages.js";
import { known } from "./store.js";
import { language, say } from "./words.js";

const states = { held: "held", paying: "a payment is open", paid: "paid", released: "released",
  refund_due: "money is due to be given back", refunded: "the money was given back" };

let asked = 0; // counts questions; the answer to an older one is not shown

export const start = () => correct.start(showOrder);

// showOrder shows the order with that id, none for "".
export async function showOrder(id) {
  const question = ++asked;
  byId("order-card").hidden = id === "";
  byId("order-facts").replaceChildren();
  byId("order-items").tBodies[0].replaceChildren();
  setText(byId("order-total"), "");
  setText(byId("order-title"), id);
  correct.show(null);
  tell(byId("order-message"), "", id === "" ? "" : say("Reading…"));
  if (id === "") {
    return;
  }
  try {
    const order = await api.call("GET", `/admin/orders/${encodeURIComponent(id)}`);
    if (question === asked) {
      tell(byId("order-message"), "", "");
      draw(order);
    }
  } catch (error) {
    if (question === asked) {
      tellError(byId("order-message"), error);
    }
  }
}

function draw(order) {
  // the currency of a past sale with other foods is not known
  const amount = order.currency || order.sale === known.sale?.id ? money : number;
  const facts = [["Buyer", order.username || "–"], ["Buyer's number", String(order.user_id)],
    ["Placed at", zoned(order.placed_at)], ["Sale", order.sale]];
  if (order.state) {
    facts.push(["State", say(states[order.state] ?? order.state)], ["Since or until", zoned(order.till)],
      ["Payment", order.payment_id ?? "–"], ["Reason", order.reason ?? "–"]);
  }
  byId("order-facts").replaceChildren(...facts.map(([name, value]) =>
    make("div", {}, make("dt", {}, say(name)), make("dd", {}, value))));
  byId("order-items").tBodies[0].replaceChildren(...order.items.map((item) => make("tr", {},
    make("td", {}, item.names?.[language] ?? item.name ?? say("food {id}", { id: item.food_id })),
    make("td", { class: "num" }, String(item.count)), make("td", { class: "num" }, amount(item.price)),
    make("td", { class: "num" }, amount(item.sum)))));
  setText(byId("order-total"), amount(order.total));
  correct.show(order);
}
