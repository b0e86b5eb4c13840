// Foods in the shop: pictures, prices, stock, the steppers of the cart, and the lines of a cart and of a receipt.

import { byId, make, setText } from "./dom.js";
import { number } from "./format.js";
import { amount, goods, nameOf, priceOf } from "./goods.js";
import { known } from "./store.js";
import { say } from "./words.js";

const imageSide = 160; // px; the server has this size
const fewPart = 0.1; // of a food's pieces: below it the bar has another colour

export let foods = []; // {id, stock, row, bar, stockText, less, more, countText} by id

// line is a line of a cart or of a receipt.
export const line = (food, count, note = "") => make("li", {},
  make("span", {}, `${count} × ${nameOf(food)}`, make("strong", { class: "lack" }, note)),
  make("b", {}, amount(count * priceOf(food))));

// stockOf is the number of pieces left, as far as it is known.
export const stockOf = (food) => foods[food - 1]?.stock ?? Infinity;

// lack tells why pieces in the cart cannot be had.
export function lack(food, count) {
  const stock = stockOf(food);
  return stock >= count ? "" : ` ${stock > 0 ? say("only {n} left", { n: number(stock) }) : say("sold out")}`;
}

export function start() {
  byId("food-filter").addEventListener("input", filter);
  byId("food-available").addEventListener("change", filter);
  byId("food-sort").addEventListener("change", sort);
}

// build makes the list of foods, unless it is there: the keyboard's focus may be in it.
export function build() {
  if (foods.length !== goods.length) {
    foods = goods.map(makeCard);
    showStock();
    sort();
  }
}

function makeCard(food) {
  const { id, name } = food;
  const stockText = make("span", { class: "stock" });
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  const button = (count, sign, label) => make("button", { type: "button", "data-food": id, "data-count": count,
    "aria-label": label }, sign);
  const less = button(-1, "−", say("Take a piece of {name} out of the cart", { name }));
  const more = button(1, "+", say("Add a piece of {name} to the cart", { name }));
  const countText = make("output", {}, "0");
  const picture = make("img", { class: "picture", src: food.image ?? "/web/food.svg", alt: "", loading: "lazy",
    decoding: "async", width: imageSide, height: imageSide });
  const price = make("p", { class: "price" }, make("b", {}, amount(food.price)),
    make("small", { class: "muted" }, food.unit ? ` / ${food.unit}` : ""));
  const row = make("li", { "data-food": id },
    make("div", { class: "frame" }, picture, make("span", { class: "ribbon" }, say("Sold out"))),
    make("div", { class: "what" }, make("h2", {}, name), make("p", { class: "muted about" }, food.description)),
    price, make("div", { class: "left" }, bar, stockText),
    make("div", { class: "stepper" }, less, countText, more));
  return { ...food, stock: food.stock ?? 0, row, bar, stockText, less, more, countText };
}

// showStock shows the stock that the stream tells. Cards keep their places: nothing moves under a finger.
export function showStock() {
  for (const food of foods) {
    const stock = known.left[food.id - 1] ?? food.stock;
    const full = known.full[food.id - 1] ?? stock;
    if (stock === food.shown && full === food.full) {
      continue;
    }
    Object.assign(food, { stock, shown: stock, full });
    const part = full > 0 ? Math.min(1, stock / full) : 0;
    setText(food.stockText, stock > 0 ? say("{n} left", { n: number(stock) }) : say("Sold out"));
    food.bar.style.setProperty("--part", part);
    food.row.classList.toggle("few", part <= fewPart);
    food.row.classList.toggle("gone", stock <= 0);
  }
}

const orders = {
  stock: (a, b) => (b.stock > 0) - (a.stock > 0) || a.id - b.id,
  price: (a, b) => a.price - b.price || a.id - b.id,
  name: (a, b) => a.name.localeCompare(b.name),
};

// sort puts the cards in the wanted order, as of now.
export function sort() {
  const sorted = foods.toSorted(orders[byId("food-sort").value]);
  byId("foods").replaceChildren(...sorted.map(({ row }) => row));
  filter();
}

const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

function filter() {
  const wanted = folded(byId("food-filter").value.trim());
  const available = byId("food-available").checked;
  let shown = 0;
  for (const food of foods) {
    const fits = (folded(food.name).includes(wanted) || String(food.id) === wanted) && (!available || food.stock > 0);
    food.row.hidden = !fits;
    shown += fits;
  }
  byId("no-foods").hidden = shown > 0;
}
