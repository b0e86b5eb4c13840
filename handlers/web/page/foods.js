// Foods in the buyer's view: prices, stock, the steppers of the cart, and the lines of a cart and of a receipt.

import { byId, make, setText } from "./dom.js";
import { number, time } from "./format.js";
import { known } from "./store.js";

export let foods = []; // {id, price, stock, row, less, more, countText} by id

const priceOf = (food) => foods[food - 1]?.price ?? 0;
export const totalOf = (items) => items.reduce((sum, { food, count }) => sum + count * priceOf(food), 0);

// line is a line of a cart or of a receipt.
export const line = (food, count, note = "") => make("li", {},
  make("span", {}, `${count} × food ${food}`, make("strong", { class: "lack" }, note)),
  make("b", {}, number(count * priceOf(food))));

// lack tells why pieces in the cart cannot be had.
export function lack(food, count) {
  const stock = foods[food - 1]?.stock ?? count;
  return stock >= count ? "" : stock > 0 ? ` only ${number(stock)} left` : " sold out";
}

// showReceipt shows an order as the server tells it.
export function showReceipt({ id, items, total, placed_at: placedAt }) {
  setText(byId("receipt-id"), id);
  byId("receipt-items").replaceChildren(...items.map(({ food_id: food, count }) => line(food, count)));
  setText(byId("receipt-total"), number(total));
  setText(byId("receipt-time"), placedAt ? `Placed ${time(placedAt)}` : "");
}

export function start() {
  byId("food-filter").addEventListener("input", filter);
  byId("food-available").addEventListener("change", filter);
}

// build makes the list of foods, unless it is there: the keyboard's focus may be in it.
export function build(list) {
  const same = ({ id, price }, i) => id === foods[i].id && price === foods[i].price;
  if (list.length !== foods.length || !list.every(same)) {
    foods = list.map(makeRow);
    byId("foods").replaceChildren(...foods.map(({ row }) => row));
  }
  showStock();
}

function makeRow(food) {
  const stockText = make("span", { class: "muted stock" });
  const less = make("button", { type: "button", "data-food": food.id, "data-count": -1,
    "aria-label": `Take a piece of food ${food.id} out of the cart` }, "−");
  const more = make("button", { type: "button", "data-food": food.id, "data-count": 1,
    "aria-label": `Add a piece of food ${food.id} to the cart` }, "+");
  const countText = make("output", {}, "0");
  const row = make("li", { "data-food": food.id },
    make("div", { class: "what" }, make("strong", {}, `Food ${food.id}`), stockText),
    make("span", { class: "price" }, number(food.price), make("small", { class: "muted" }, "each")),
    make("div", { class: "stepper" }, less, countText, more));
  return { ...food, row, stockText, less, more, countText };
}

// showStock shows the stock by the stream, which is newer than the list; prices do not change.
export function showStock() {
  for (const food of foods) {
    food.stock = known.left[food.id - 1] ?? food.stock;
    setText(food.stockText, food.stock > 0 ? `${number(food.stock)} left` : "sold out");
    food.row.classList.toggle("gone", food.stock <= 0);
  }
  if (byId("food-available").checked) {
    filter();
  }
}

function filter() {
  const wanted = byId("food-filter").value.trim();
  const available = byId("food-available").checked;
  let shown = 0;
  for (const food of foods) {
    const fits = (wanted === "" || String(food.id).startsWith(wanted)) && (!available || food.stock > 0);
    food.row.hidden = !fits;
    shown += fits;
  }
  byId("no-foods").hidden = shown > 0;
}
