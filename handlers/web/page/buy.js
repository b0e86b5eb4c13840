// The buyer's view: foods, a cart of at most three pieces, and one order.

import * as api from "./api.js";
import { nextChange, now, stateOf } from "./clock.js";
import { announce, byId, make, setText, tell } from "./dom.js";
import { number, span, time } from "./format.js";
import { tellError } from "./messages.js";
import { known, onChange } from "./store.js";

const piecesMax = 3;
const orderTexts = { scheduled: "Not open yet", paused: "Paused", closed: "Closed" };

let foods = []; // {id, price, stock, row, ...} by id
let order = null; // the user's own
let saleShown = ""; // id
let busy = false; // a change of the cart or an order is under way

const cart = () => api.session?.items ?? []; // [{food, count}] in the order of their first pieces
const pieces = () => cart().reduce((sum, { count }) => sum + count, 0);
const countOf = (food) => cart().find((item) => item.food === food)?.count ?? 0;
const message = () => byId("buy-message");

export function start() {
  byId("order").addEventListener("click", placeOrder);
  byId("food-filter").addEventListener("input", filter);
  byId("food-available").addEventListener("change", filter);
  byId("foods").addEventListener("click", (event) => {
    const step = event.target.closest("button")?.dataset;
    if (step?.food && event.target.closest("[aria-disabled=true]") === null) {
      change(Number(step.food), Number(step.count));
    }
  });
  api.onSession(show);
  onChange(() => {
    if (byId("view-buy").hidden) {
      return;
    }
    if (known.sale && known.sale.id !== saleShown) { // the next sale has begun, or this is the first answer
      show();
    } else {
      showStock();
    }
  });
}

// show is called whenever the view is entered or the login changes.
export async function show() {
  byId("buy-welcome").hidden = api.session !== null;
  byId("buy-shop").hidden = api.session === null;
  if (!api.session || byId("view-buy").hidden) {
    order = null;
    foods = [];
    tell(message(), "", "");
    return;
  }
  const login = api.session;
  saleShown = known.sale?.id ?? "";
  try {
    const [list, orders] = await Promise.all([api.call("GET", "/foods"), api.call("GET", "/orders?details=1")]);
    if (login === api.session) {
      order = orders[0] ?? null;
      build(list);
    }
  } catch (error) {
    tellError(message(), error);
  }
}

// build makes the list of foods, unless it is there: the keyboard's focus may be in it.
function build(list) {
  const same = ({ id, price }, i) => id === foods[i].id && price === foods[i].price;
  if (list.length === foods.length && list.every(same)) {
    showStock();
    return;
  }
  foods = list.map((food) => {
    const stock = make("span", { class: "muted stock" });
    const less = make("button", { type: "button", "data-food": food.id, "data-count": -1,
      "aria-label": `Take a piece of food ${food.id} out of the cart` }, "−");
    const more = make("button", { type: "button", "data-food": food.id, "data-count": 1,
      "aria-label": `Add a piece of food ${food.id} to the cart` }, "+");
    const count = make("output", {}, "0");
    const row = make("li", { "data-food": food.id },
      make("div", { class: "what" }, make("strong", {}, `Food ${food.id}`), stock),
      make("span", { class: "price" }, number(food.price), make("small", { class: "muted" }, "each")),
      make("div", { class: "stepper" }, less, count, more));
    return { ...food, row, stockText: stock, less, more, countText: count };
  });
  byId("foods").replaceChildren(...foods.map(({ row }) => row));
  showStock();
}

// showStock shows the stock by the stream, which is newer than the list; prices do not change.
function showStock() {
  for (const food of foods) {
    food.stock = known.left[food.id - 1] ?? food.stock;
    setText(food.stockText, food.stock > 0 ? `${number(food.stock)} left` : "sold out");
    food.row.classList.toggle("gone", food.stock <= 0);
  }
  showCart();
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

const priceOf = (food) => foods[food - 1]?.price ?? 0;
const line = (food, count, note = "") => make("li", {},
  make("span", {}, `${count} × food ${food}`, make("strong", { class: "lack" }, note)),
  make("b", {}, number(count * priceOf(food))));

// lack tells why pieces in the cart cannot be had.
function lack(food, count) {
  const stock = foods[food - 1]?.stock ?? count;
  return stock >= count ? "" : stock > 0 ? ` only ${number(stock)} left` : " sold out";
}

// turnOff has a button do nothing, or something again. It is not disabled: it would lose the keyboard's focus.
const turnOff = (button, off) => button.setAttribute("aria-disabled", off);

function showCart() {
  byId("cart-open").hidden = order !== null;
  byId("receipt").hidden = order === null;
  for (const food of foods) {
    const count = countOf(food.id);
    setText(food.countText, count);
    turnOff(food.less, order !== null || count === 0);
    turnOff(food.more, order !== null || pieces() >= piecesMax);
  }
  if (order) {
    showReceipt();
    return;
  }
  const items = cart();
  byId("cart-items").replaceChildren(...items.map(({ food, count }) => line(food, count, lack(food, count))));
  byId("cart-empty").hidden = items.length > 0;
  setText(byId("cart-total"), number(items.reduce((sum, { food, count }) => sum + count * priceOf(food), 0)));
  tick();
}

function showReceipt() {
  setText(byId("receipt-id"), order.id);
  byId("receipt-items").replaceChildren(...order.items.map(({ food_id, count }) => line(food_id, count)));
  setText(byId("receipt-total"), number(order.total));
  setText(byId("receipt-time"), order.placed_at ? `Placed ${time(order.placed_at)}` : "");
}

// tick keeps the button and its countdown.
export function tick() {
  if (!known.sale) {
    return;
  }
  const at = now();
  const state = stateOf(known.sale, at);
  const next = nextChange(known.sale, at);
  const left = next ? `${next.what.toLowerCase()} ${span(next.at - at)}` : "";
  setText(byId("buy-state"), state === "open" ? ["The sale is open", left].filter(Boolean).join(", ") :
    left ? `The sale ${left}` : `The sale is ${state}`);
  const button = byId("order");
  button.disabled = state !== "open" || pieces() === 0;
  setText(button, busy ? "One moment…" : state === "open" ? "Order" :
    state === "scheduled" && next ? `Opens in ${span(next.at - at)}` : orderTexts[state] ?? "Order");
}

// act runs one call at a time and shows what it fails with.
async function act(does) {
  if (busy) {
    return;
  }
  busy = true;
  tell(message(), "", "");
  showCart();
  try {
    await does();
  } catch (error) {
    if (error.code === "CART_NOT_FOUND" && api.session) {
      Object.assign(api.session, { cart: "", items: [] });
      api.keep();
    }
    tellError(message(), error);
  } finally {
    busy = false;
    showCart();
  }
}

const change = (food, count) => act(async () => {
  const login = api.session;
  if (!login.cart) {
    login.cart = (await api.call("POST", "/carts")).cart_id;
  }
  await api.call("PATCH", `/carts/${encodeURIComponent(login.cart)}`, { food_id: food, count });
  const item = login.items.find((i) => i.food === food) ?? { food, count: 0 };
  if (item.count === 0) {
    login.items.push(item);
  }
  item.count += count;
  login.items = login.items.filter((i) => i.count > 0);
  api.keep();
  announce(`${pieces()} of ${piecesMax} pieces in the cart`);
});

async function placeOrder() {
  await act(sendOrder);
  if (order) {
    byId("receipt-title").focus({ preventScroll: true }); // the button that had the focus is gone
  }
}

async function sendOrder() {
  try {
    await api.insist("POST", "/orders", { cart_id: api.session.cart }, (attempt) => tell(message(), "",
      `No answer yet. Asking again for the same order, attempt ${attempt + 1}: it is placed once at most.`));
  } catch (error) {
    if (error.code !== "ORDER_OUT_OF_LIMIT") {
      throw error;
    }
    tellError(message(), error); // the order of before is shown
  }
  order = (await api.call("GET", "/orders?details=1"))[0] ?? null;
  if (order && message().dataset.kind !== "bad") {
    tell(message(), "good", "Your order is placed.");
  }
}
