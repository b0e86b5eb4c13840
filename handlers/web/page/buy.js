// The buyer's view: foods, a cart of at most three pieces, and one order.

import * as api from "./api.js";
import { withTap } from "./cart.js";
import { nextChange, now, stateOf } from "./clock.js";
import { announce, byId, make, setText, tell } from "./dom.js";
import { build, foods, priceOf, showStock, start as startFoods, stockOf } from "./foods.js";
import { count as plural, number, span, time } from "./format.js";
import { tellError } from "./messages.js";
import { known, onChange } from "./store.js";

const piecesMax = 3;
const cartAge = 20 * 60_000; // ms until a cart is made anew, before the server forgets it
const renewPause = 10_000; // ms between tries to do so
const orderTexts = { scheduled: "Not open yet", paused: "Paused", closed: "Closed" };

let order = null; // the user's own
let saleShown = ""; // id
let taps = []; // {food, count}: changes of the cart that the server has not confirmed, the oldest first
let ordering = false;
let loadFailed = false;
let renewing = false;
let calls = Promise.resolve(); // the end of the last change or order; they are sent one after the other

// cart is [{food, count}] in the order of their first pieces. A tap counts at once.
const cart = () => taps.reduce(withTap, api.session?.items ?? []);
const pieces = () => cart().reduce((sum, { count }) => sum + count, 0);
const countOf = (food) => cart().find((item) => item.food === food)?.count ?? 0;
const message = () => byId("buy-message");

export function start() {
  startFoods();
  byId("order").addEventListener("click", placeOrder);
  byId("foods").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.food) {
      tap(button, Number(button.dataset.food), Number(button.dataset.count));
    }
  });
  byId("cart-toggle").addEventListener("click", () => { // on a phone the cart is one line
    const toggle = byId("cart-toggle");
    toggle.setAttribute("aria-expanded", toggle.getAttribute("aria-expanded") === "false");
  });
  api.onSession(() => {
    taps = [];
    show();
  });
  onChange(() => {
    if (byId("view-buy").hidden) {
      return;
    }
    if (known.sale && known.sale.id !== saleShown) { // the next sale has begun, or this is the first answer
      show();
    } else {
      showStock();
      showCart();
    }
  });
}

// leaveSale drops what was of another sale: its carts cannot be ordered in this one.
function leaveSale() {
  const sale = known.sale?.id ?? "";
  if (saleShown !== "" && sale !== saleShown) {
    order = null;
    tell(message(), "", "");
  }
  saleShown = sale;
  if (sale !== "" && api.session.sale !== sale) {
    const { cart: id, items, sale: before } = api.session;
    taps = before === "" ? taps : []; // "": the cart was begun before the sale was known
    api.setCart(before === "" ? id : "", before === "" ? items : [], sale);
  }
}

// show is called whenever the view is entered, the login changes or the next sale begins.
export async function show() {
  byId("buy-welcome").hidden = api.session !== null;
  byId("buy-shop").hidden = api.session === null;
  if (!api.session || byId("view-buy").hidden) {
    order = null;
    tell(message(), "", "");
    return;
  }
  leaveSale();
  const login = api.session;
  const sale = saleShown;
  try {
    const [list, orders] = await Promise.all([api.call("GET", "/foods"), api.call("GET", "/orders?details=1")]);
    if (login === api.session && sale === saleShown) {
      order = orders.find(({ id }) => id.startsWith(sale)) ?? null; // a worker that ends may still tell the last one
      build(list);
      showCart();
      if (loadFailed) {
        tell(message(), "", "");
      }
      loadFailed = false;
    }
  } catch (error) {
    tellError(message(), error);
    loadFailed = true;
    setTimeout(() => { saleShown = saleShown === sale ? "" : saleShown; }, 1000); // what comes next reads again
  }
}

const line = (food, count, note = "") => make("li", {},
  make("span", {}, `${count} × food ${food}`, make("strong", { class: "lack" }, note)),
  make("b", {}, number(count * priceOf(food))));

// lack tells why pieces in the cart cannot be had.
function lack(food, count) {
  const stock = stockOf(food) ?? count;
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
    turnOff(food.less, order !== null || ordering || count === 0);
    turnOff(food.more, order !== null || ordering || pieces() >= piecesMax);
  }
  if (order) {
    showReceipt();
    return;
  }
  const items = cart();
  const total = number(items.reduce((sum, { food, count }) => sum + count * priceOf(food), 0));
  setText(byId("cart-toggle"), items.length === 0 ? "Cart is empty" : `${plural(pieces(), "piece")} · ${total}`);
  byId("cart-items").replaceChildren(...items.map(({ food, count }) => line(food, count, lack(food, count))));
  byId("cart-empty").hidden = items.length > 0;
  setText(byId("cart-total"), total);
  tick();
}

function showReceipt() {
  setText(byId("cart-toggle"), `Ordered · ${order.id}`);
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
  renew();
  const at = now();
  const state = stateOf(known.sale, at);
  const next = nextChange(known.sale, at);
  const left = next ? `${next.what.toLowerCase()} ${span(next.at - at)}` : "";
  setText(byId("buy-state"), state !== "scheduled" ? [`The sale is ${state}`, left].filter(Boolean).join(", ") :
    left ? `The sale ${left}` : "The sale is not open yet");
  const button = byId("order");
  button.disabled = state !== "open" || pieces() === 0;
  setText(button, ordering ? "One moment…" : state === "open" ? "Order" :
    state === "scheduled" && next ? `Opens in ${span(next.at - at)}` : orderTexts[state] ?? "Order");
}

// act has a change or an order wait for those before it, and shows what it fails with. Taps after a change that
// has failed are dropped with it: they were made for another cart.
function act(does) {
  tell(message(), "", "");
  calls = calls.then(does).catch((error) => {
    taps = [];
    if (api.session && error.code === "CART_NOT_FOUND") {
      api.setCart("", [], saleShown);
    } else if (api.session && api.isUnsure(error)) { // the cart may hold more or less than is shown
      api.setCart("", api.session.items, saleShown);
    }
    tellError(message(), error);
  }).then(showCart);
  showCart();
  return calls;
}

// tap counts at once, and is sent when the changes before it are made. What cannot be done is told.
function tap(button, food, count) {
  if (button.getAttribute("aria-disabled") !== "true") {
    taps.push({ food, count });
    announce(`${pieces()} of ${piecesMax} pieces in the cart`);
    act(sendTaps);
  } else if (order) {
    tell(message(), "", "You have ordered already: each user orders once.");
  } else if (count > 0 && !ordering) {
    tell(message(), "", "A cart holds at most three pieces.");
  }
}

const change = (cart, { food, count }) =>
  api.call("PATCH", `/carts/${encodeURIComponent(cart)}`, { food_id: food, count });

const isOld = () => Date.now() - api.session.made > cartAge;

// makeCart makes a cart with the items that are shown, where there is none or the server may soon forget it.
async function makeCart() {
  const login = api.session;
  const { cart, items, sale } = login;
  if (cart && !isOld()) {
    return;
  }
  const { cart_id: id } = await api.call("POST", "/carts");
  for (const item of items) {
    await change(id, item);
  }
  if (login === api.session && login.sale === sale) {
    api.setCart(id, items, sale);
  }
}

// renew keeps the server from forgetting a cart that waits for the opening. Where it fails, the order tries again.
function renew() {
  if (!renewing && !order && !ordering && api.session?.items.length > 0 && isOld()) {
    renewing = true;
    calls = calls.then(makeCart).catch(() => {});
    setTimeout(() => { renewing = false; }, renewPause);
  }
}

// sendTaps makes the changes that wait. Those that are dropped meanwhile are another cart's.
async function sendTaps() {
  while (taps.length > 0) {
    const [next] = taps;
    await makeCart();
    if (taps[0] !== next || !api.session.cart) {
      continue;
    }
    await change(api.session.cart, next);
    if (taps[0] === next) {
      taps.shift();
      api.setCart(api.session.cart, withTap(api.session.items, next), saleShown);
    }
  }
}

// placeOrder orders the cart that is shown, and nothing where a change of it has failed.
async function placeOrder() {
  if (ordering) {
    return;
  }
  const wanted = JSON.stringify(cart());
  ordering = true;
  await act(async () => {
    try {
      if (JSON.stringify(cart()) === wanted) {
        await sendOrder();
      }
    } finally {
      ordering = false;
    }
  });
  if (order) {
    byId("receipt-title").focus({ preventScroll: true }); // the button that had the focus is gone
  }
}

// sendOrder orders the cart. One that the server has forgotten is made again, once.
async function sendOrder(madeAgain = false) {
  await makeCart();
  try {
    await api.insist("POST", "/orders", { cart_id: api.session.cart }, (attempt) => tell(message(), "",
      `No answer yet. Asking again for the same order, attempt ${attempt + 1}: it is placed once at most.`));
  } catch (error) {
    if (error.code === "CART_EMPTY" && !madeAgain && api.session?.items.length > 0) {
      api.setCart("", api.session.items, saleShown);
      await sendOrder(true);
      return;
    }
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
