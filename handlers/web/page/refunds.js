// The money that is due to be given back, for operators.

import * as api from "./api.js";
import { ask, byId, make, tell } from "./dom.js";
import { number, time } from "./format.js";
import { amount } from "./goods.js";
import { tellError } from "./messages.js";
import { known } from "./store.js";
import { say } from "./words.js";

const reasons = {
  "sold out": "paid too late, and sold out",
  closed: "paid after the sale",
  "other order": "paid too late, the buyer has another order",
  cancelled: "paid after the order was given back",
  amount: "not what the order cost",
  ended: "a payment that another had replaced",
  twice: "paid twice",
  "unknown order": "no such order is kept",
};

export function start() {
  byId("refunds-table").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) {
      end(button.dataset.payment, button.dataset.amount);
    }
  });
  byId("refunds-done").addEventListener("change", show);
  api.onSession(() => { byId("refunds").hidden = true; });
}

// show reads the list, where orders are held.
export async function show() {
  if (known.sale?.hold_seconds === undefined) {
    return;
  }
  const done = byId("refunds-done").checked;
  try {
    const list = await api.call("GET", `/admin/refunds?state=${done ? "done" : "due"}`);
    if (!api.may("viewer")) {
      return; // logged out meanwhile
    }
    byId("refunds").hidden = false;
    tell(byId("refunds-message"), "", list.length ? "" : say(done ? "None was given back." : "No money is due."));
    byId("refunds-table").hidden = list.length === 0;
    byId("refunds-table").tBodies[0].replaceChildren(...list.map(row));
  } catch (error) {
    tellError(byId("refunds-message"), error);
  }
}

// money names the currency where it is that of the sale.
const money = (refund) => (refund.currency ? amount(refund.amount) : number(refund.amount));

function row(refund) {
  const done = make("button", { type: "button", "data-payment": refund.payment_id, "data-amount": money(refund) },
    say("Given back"));
  const open = refund.state === "due" && api.may("operator");
  return make("tr", {}, make("td", { class: "at" }, time(refund.since)),
    make("td", {}, make("a", { href: `#/orders/${refund.order_id}` }, refund.order_id)),
    make("td", {}, refund.username || String(refund.user_id)), make("td", {}, refund.payment_id),
    make("td", {}, reasons[refund.reason] ? say(reasons[refund.reason]) : refund.reason),
    make("td", { class: "num" }, money(refund)), make("td", {}, ...(open ? [done] : [])));
}

async function end(payment, sum) {
  const text = say("This only notes it. Give the money back at the provider first, for payment {id}.",
    { id: payment });
  if (!await ask(say("Was {amount} given back?", { amount: sum }), text, say("It was given back"))) {
    return;
  }
  try {
    await api.call("POST", `/admin/refunds/${encodeURIComponent(payment)}/done`);
    show();
  } catch (error) {
    tellError(byId("refunds-message"), error);
  }
}
