// A field for a food: it offers the foods that fit what is typed, with what is left of each.

import { make, setText } from "./dom.js";
import { number } from "./format.js";
import { goods, nameOf } from "./goods.js";
import { known } from "./store.js";
import { say } from "./words.js";

const offeredMax = 20; // a list of all foods may be far too long

const entry = (food) => `${food.id} · ${food.name}`;
const fitting = (text) => goods.filter((food) => entry(food).toLowerCase().includes(text));

// leftOf tells what is left of a food.
export const leftOf = (food) => (known.left[food - 1] > 0 ? say("{n} left", { n: number(known.left[food - 1]) }) :
  say("sold out"));

// findFood is the id of the food that a text names: by its number, or by a name that only it has; 0 for none.
export function findFood(text) {
  const typed = text.trim().toLowerCase();
  const id = Number(/^(\d+)( ·|$)/.exec(typed)?.[1]);
  if (id >= 1 && id <= goods.length) {
    return id;
  }
  const fits = typed === "" ? [] : goods.filter((food) => food.name.toLowerCase().includes(typed));
  return (fits.find((food) => food.name.toLowerCase() === typed) ?? (fits.length === 1 ? fits[0] : null))?.id ?? 0;
}

// offer has a field offer foods in its list. With a place to show it, that tells which food is meant.
export function offer(input, shown = null) {
  const offered = () => {
    input.list.replaceChildren(...fitting(input.value.trim().toLowerCase()).slice(0, offeredMax).map((food) =>
      make("option", { value: entry(food), label: `${entry(food)}, ${leftOf(food.id)}` })));
    show(input, shown);
  };
  input.addEventListener("focus", offered);
  input.addEventListener("input", offered);
}

// show tells which food a field means, and what is left of it.
export function show(input, shown) {
  if (!shown) {
    return;
  }
  const typed = input.value.trim();
  const food = findFood(typed);
  const fits = typed === "" ? 0 : fitting(typed.toLowerCase()).length;
  setText(shown, typed === "" ? "" : food ? `${nameOf(food)}: ${leftOf(food)}` :
    fits ? say("{n} foods fit: type more of the name.", { n: number(fits) }) : say("There is no such food."));
}
