// What an operator changes of a held order, with a reason: its end, or fewer pieces.

import * as api from "./api.js";
import { ask, byId, make, tell } from "./dom.js";
import { amount, nameOf } from "./goods.js";
import { tellError } from "./messages.js";
import { known } from "./store.js";
import { say } from "./words.js";

let order = null;

// start has the form show the order again after a change.
export function start(again) {
  byId("order-correct").addEventListener("submit", (event) => {
    event.preventDefault();
    const cancels = event.submitter.id === "order-cancel";
    correct(cancels ? { state: "cancelled" } : { items: left() }, again);
  });
}

// show offers changes of an order that can be changed.
export function show(shown) {
  order = shown;
  const open = ["held", "paying", "paid"].includes(order?.state) && order.sale === known.sale?.id &&
    api.may("operator");
  byId("order-correct").hidden = !open;
  tell(byId("correct-message"), "", "");
  if (open) {
    byId("correct-reason").value = "";
    byId("correct-items").replaceChildren(...order.items.map((item) => make("label", {},
      say("{name}, of {n}", { name: nameOf(item.food_id), n: item.count }), " ",
      make("input", { type: "number", min: 0, max: item.count, value: item.count, required: "" }))));
  }
}

// left are the items that the form leaves of the order.
const left = () => order.items.map((item, i) => ({ food_id: item.food_id,
  count: byId("correct-items").querySelectorAll("input")[i].valueAsNumber })).filter(({ count }) => count > 0);

// worth is what an order without these items costs less.
const worth = (items) => order.items.reduce((sum, { food_id: food, count, price }) =>
  sum + price * (count - (items.find((item) => item.food_id === food)?.count ?? 0)), 0);

async function correct(change, again) {
  const { id } = order;
  const items = change.items ?? [];
  const title = say(change.state ? "Cancel order {id}?" : "Take pieces out of order {id}?", { id });
  const money = order.state === "paid" ? say("{amount} are due to be given back, then: see the refunds.",
    { amount: amount(worth(items)) }) : say("It is not paid. A payment that the buyer has begun ends.");
  const text = [say("The pieces can be sold again at once."), money,
    say("The change is written to the log."), say("The buyer reads the reason.")].join(" ");
  if (!await ask(title, text, say(change.state ? "Cancel the order" : "Take them out"), true)) {
    return;
  }
  try {
    await api.call("PATCH", `/admin/orders/${encodeURIComponent(id)}`,
      { reason: byId("correct-reason").value.trim(), ...change });
    again(id);
  } catch (error) {
    tellError(byId("correct-message"), error);
  }
}
