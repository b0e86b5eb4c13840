// Foods in the shop: pictures, prices, stock, the steppers of the cart, and the lines of a cart and of a receipt.

import { byId, make, setText } from "./dom.js";
import { number } from "./format.js";
import { amount, goods, nameOf, priceOf } from "./goods.js";
import { known } from "./store.js";
import { say } from "./words.js";

// The server has pictures in these sizes, pixels of the longer side; a card is about half as wide as a phone.
const imageSizes = [160, 320, 640];
const cardWidths = "(max-width: 719px) 46vw, 16rem";
const fewPart = 0.1; // of a food's pieces: below it the bar has another colour

// foods are {id, stock, row, bar, stockText, less, more, countText} by id; without a stock before that is known.
export let foods = [];

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
    foods.forEach(({ row }) => sight.unobserve(row));
    foods = goods.map(makeCard);
    foods.forEach(({ row }) => sight.observe(row));
    showStock();
    sort();
  }
}

// pictureOf are the addresses of a picture. Only those of -images come in sizes.
function pictureOf({ image = "/web/food.svg" }) {
  if (!image.startsWith("/images/")) {
    return { src: image };
  }
  const sized = (size) => `${image}?size=${size}`;
  return { sizes: cardWidths, srcset: imageSizes.map((size) => `${sized(size)} ${size}w`).join(), src: sized(320) };
}

function makeCard(food) {
  const { id, name } = food;
  const stockText = make("span");
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  const button = (count, sign, label) => make("button", { type: "button", "data-food": id, "data-count": count,
    "aria-label": label }, sign);
  const less = button(-1, "−", say("Take a piece of {name} out of the cart", { name }));
  const more = button(1, "+", say("Add a piece of {name} to the cart", { name }));
  const countText = make("output", {}, "0");
  const picture = make("img", { class: "picture", alt: "", loading: "lazy", decoding: "async", width: 4, height: 3,
    ...pictureOf(food) });
  const price = make("p", { class: "price" }, make("b", {}, amount(food.price)),
    make("small", { class: "muted" }, food.unit ? ` / ${food.unit}` : ""));
  const row = make("li", { "data-food": id },
    make("div", { class: "frame" }, picture, make("span", { class: "ribbon" }, say("Sold out")),
      make("div", { class: "stepper" }, less, countText, more)),
    bar, make("div", { class: "what" }, make("h2", {}, name), make("p", { class: "muted about" }, food.description)),
    price, make("p", { class: "stock" }, stockText));
  return { ...food, row, bar, stockText, less, more, countText };
}

// sight knows which cards can be seen, or nearly: only these are drawn. So a hundred foods that sell out cost a phone
// no more than the few on its screen.
const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    foods[target.dataset.food - 1].inSight = isIntersecting;
  }
  showStock();
}, { rootMargin: "50%" });

// showStock shows the stock that the stream tells. Cards keep their places: nothing moves under a finger.
export function showStock() {
  for (const food of foods) {
    food.stock = known.left[food.id - 1];
    if (food.inSight && food.stock !== undefined) {
      draw(food, known.full[food.id - 1] ?? food.stock);
    }
  }
}

function draw(food, full) {
  const { stock } = food;
  if (stock === food.drawn && full === food.full) {
    return;
  }
  Object.assign(food, { drawn: stock, full });
  const part = full > 0 ? Math.min(1, stock / full) : 0;
  setText(food.stockText, stock > 0 ? say("{n} left", { n: number(stock) }) : say("Sold out"));
  food.bar.style.setProperty("--part", part.toFixed(2));
  food.row.classList.toggle("few", part <= fewPart);
  food.row.classList.toggle("gone", stock <= 0);
}

const isIn = ({ stock = Infinity }) => stock > 0; // also while the stock is not known

const orders = {
  stock: (a, b) => isIn(b) - isIn(a) || a.id - b.id,
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
    const fits = (folded(food.name).includes(wanted) || String(food.id) === wanted) && (!available || isIn(food));
    food.row.hidden = !fits;
    shown += fits;
  }
  byId("no-foods").hidden = shown > 0;
}
