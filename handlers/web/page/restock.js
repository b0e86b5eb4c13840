// Adding pieces of a food, and taking unsold ones back.

import * as api from "./api.js";
import { now, stateOf } from "./clock.js";
import { byId, tell } from "./dom.js";
import { count, number } from "./format.js";
import { findFood, offer, show } from "./foodfield.js";
import { nameOf, readGoods } from "./goods.js";
import { known } from "./store.js";
import { say } from "./words.js";

const message = (kind, text) => tell(byId("operate-message"), kind, text);

// start has the form ask agreed and then perform, which show the outcome.
export function start(agreed, perform) {
  offer(byId("restock-food"), byId("restock-shown"));
  byId("restock").addEventListener("submit", async (event) => {
    event.preventDefault();
    await readGoods();
    const food = findFood(byId("restock-food").value);
    const add = byId("restock-pieces").valueAsNumber;
    if (!food) {
      show(byId("restock-food"), byId("restock-shown"));
      message("bad", say("Choose one food by its number or its name."));
      byId("restock-food").focus();
      return;
    }
    const left = known.left[food - 1];
    if (add === 0) {
      message("bad", say("A restock adds or takes back 1 to 1,000,000,000 pieces."));
    } else if (add < 0 && -add > left) {
      message("bad", tooMany(food, -add));
    } else if (await agreed(title(food, add), text(food, left, add), say(add < 0 ? "Take back" : "Add"), add < 0)) {
      perform(() => change(food, add), (told) => say("{name}: {n} left now.",
        { name: nameOf(told.id), n: number(told.stock) }));
    }
  });
}

const tooMany = (food, wanted) => say("{name}: {left} left, {n} cannot be taken back.",
  { name: nameOf(food), left: number(known.left[food - 1]), n: number(wanted) });

const title = (food, add) => say(add < 0 ? "Take back {pieces} of {name}?" : "Add {pieces} to {name}?",
  { pieces: count(Math.abs(add), "piece"), name: nameOf(food) });

function text(food, left, add) {
  const closed = known.sale && stateOf(known.sale, now()) === "closed";
  return [left !== undefined && say("Left now: {n}, after that: {after}, if nobody buys meanwhile.",
    { n: number(left), after: number(left + add) }),
  add > 0 && (closed ? say("The sale is closed: nobody can buy them until you open it again.") :
    say("Buyers see them within a second.")),
  say("The change is written to the log.")].filter(Boolean).join(" ");
}

async function change(food, add) {
  try {
    const told = await api.insist("POST", `/admin/foods/${food}/stock`, { add },
      () => message("", say("No answer yet. Asking again: the change is made once at most.")));
    byId("restock").reset();
    show(byId("restock-food"), byId("restock-shown"));
    return told;
  } catch (error) {
    if (error.code === "TOO_FEW_LEFT") { // the stock was sold meanwhile
      throw new api.Refusal(error.status, tooMany(food, -add), error.message);
    }
    throw error;
  }
}
