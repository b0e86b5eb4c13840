// The sale that follows: what it will be, and its opening.

import * as api from "./api.js";
import { now, stateOf } from "./clock.js";
import { byId, setText, tell } from "./dom.js";
import { count, fromLocalInput, zoned } from "./format.js";
import { reasonOf } from "./messages.js";
import { known } from "./store.js";
import { say } from "./words.js";

const path = "/admin/sale/next";
const attempts = 5; // the server opens it once at most

// start has the form ask agreed and then perform, which show the outcome.
export function start(agreed, perform) {
  byId("next-plan").addEventListener("click", showPlan);
  byId("next-sale").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [opens, closes] = ["next-opens", "next-closes"].map((id) => fromLocalInput(byId(id).value));
    const times = { opens_at: opens, closes_at: closes };
    const wrong = fault(times, now());
    setText(byId("next-fault"), wrong);
    if (wrong) {
      return;
    }
    const plan = await look();
    if (plan && await agreed(say("Open the next sale?"), text(plan, times), say("Open the next sale"), true)) {
      tell(byId("operate-message"), "", say("The next sale is being opened…"));
      perform(() => open({ id: plan.sale, ...times }), (opened) => {
        byId("next-sale").reset();
        return say("Sale {id} is there. The servers take it over within seconds.", { id: opened.next });
      });
    }
  });
}

// look reads what the next sale would be; null where it cannot be read.
async function look() {
  tell(byId("operate-message"), "", say("Reading the catalogue…"));
  try {
    const plan = await api.call("GET", path);
    tell(byId("operate-message"), "", "");
    return plan;
  } catch (error) {
    refuse(error);
    return null;
  }
}

async function showPlan() {
  setText(byId("next-fault"), "");
  setText(byId("next-shown"), "");
  const plan = await look();
  if (plan && api.may("viewer")) {
    setText(byId("next-shown"), planText(plan).join(" "));
  }
}

// refuse tells in the form why there can be no next sale.
function refuse(error) {
  tell(byId("operate-message"), "", "");
  setText(byId("next-fault"), told(error));
}

// told is the reason of a refusal; of a catalogue that cannot be read the server names the place.
const told = (error) => (error.code === "NEXT_SALE_FAILED" ? error.message : reasonOf(error));

function fault({ opens_at: opens, closes_at: closes }, at) {
  const isOver = (text) => text && Date.parse(text) <= at;
  if (known.sale && stateOf(known.sale, at) !== "closed") {
    return say("This sale is not closed: close it first.");
  }
  if (isOver(opens) || isOver(closes)) {
    return say("A time is over: it is {time} now.", { time: zoned(new Date(at).toISOString()) });
  }
  return opens && closes && Date.parse(opens) >= Date.parse(closes) ?
    say("The sale cannot have these times: it must open before it closes.") : "";
}

const planText = (plan) => [
  say(plan.same_foods ? "The next one has {foods} with {pieces}, as this one had at first." :
    "The next one has other foods: {foods} with {pieces}.",
  { foods: count(plan.foods, "food"), pieces: count(plan.pieces, "piece") }),
  say("{users} of the catalogue can log in.", { users: count(plan.users, "user") })];

// text tells what happens to the orders, the carts and the stock, and what the next sale will be.
const text = (plan, { opens_at: opens, closes_at: closes }) => [
  say("This sale ends for good. Its orders are kept ({orders}), its carts are deleted.",
    { orders: count(known.sale.orders, "order") }),
  !plan.exported && say("The orders are first written to a file in the data folder of this server."),
  ...planText(plan),
  opens ? say("It opens at {time}.", { time: zoned(opens) }) : say("It opens at once."),
  closes ? say("It closes at {time}.", { time: zoned(closes) }) : say("It has no closing time."),
  say("Until the servers have it, orders are refused for some seconds."),
].filter(Boolean).join("\n");

// open opens it. An answer that is lost is asked for again.
async function open(wish) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await api.call("POST", path, wish);
    } catch (error) {
      if (error.code === "NEXT_SALE_FAILED") {
        throw new api.Refusal(error.status, error.message, error.message);
      }
      if (!api.isUnsure(error) || attempt >= attempts) {
        throw error;
      }
      await new Promise((resolve) => { setTimeout(resolve, 1000 + Math.random() * 1000); });
    }
  }
}
