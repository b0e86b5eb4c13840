// The shop: foods, a cart of at most three pieces, and one order.

import * as api from "./api.js";
import * as cart from "./cart.js";
import { isSoon, nextChange, now, pieces as piecesOf, saidState, stateOf } from "./clock.js";
import { announce, byId, make, setText, tell, turnOff } from "./dom.js";
import { build, foods, lack, line, showStock, start as startFoods, stockOf } from "./foods.js";
import { number, span } from "./format.js";
import { amount, nameOf, readGoods, totalOf } from "./goods.js";
import * as hold from "./hold.js";
import { open as openLogin } from "./login.js";
import { tellError } from "./messages.js";
import * as receipt from "./receipt.js";
import { backOff } from "./sse.js";
import { known, onChange } from "./store.js";
import { say } from "./words.js";

// rules is the module of the rules of a purchase, null where the server has none.
const rules = document.documentElement.dataset.rules === "on" ? await import("./rules.js") : null;

const renewPause = 10_000; // ms between tries to do so
const orderTexts = { scheduled: "Not open yet", paused: "Paused", closed: "Closed" };

let order = null; // the user's own
let saleShown = ""; // id
let wish = null; // the tap of a visitor, who logs in first
let ordering = false;
let linesShown = ""; // of the cart, as JSON
let loadFailed = false;
let loadAgain = false; // what comes next reads again
let renewing = false;
let readings = 0; // counts attempts to read the order; the last one goes on
let calls = Promise.resolve(); // the end of the last change or order; they are sent one after the other

const message = () => byId("buy-message");

export function start() {
  readGoods().catch(() => {}); // show tells why
  startFoods();
  receipt.start();
  hold.start((found, id) => {
    order = order?.id === id ? found : order;
    if (!found && api.session) { // its cart cannot be ordered again
      cart.dropTaps();
      cart.fillAnew([]);
    }
    showCart();
  });
  byId("order").addEventListener("click", placeOrder);
  byId("foods").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.food) {
      tapOn(button);
    }
  });
  byId("cart-toggle").addEventListener("click", () => { // on a phone the cart is one line
    const toggle = byId("cart-toggle");
    toggle.setAttribute("aria-expanded", toggle.getAttribute("aria-expanded") === "false");
  });
  document.addEventListener("close", ({ target }) => { // of a dialog; to register goes on with the tap
    if (!api.session && target.returnValue !== "register") {
      wish = null;
    }
  }, true);
  api.onSession((session) => {
    cart.dropTaps();
    order = null;
    loadFailed = false;
    tell(message(), "", "");
    showCart();
    if (session && wish) {
      tap(wish.food, wish.count);
      wish = null;
    }
  });
  onChange(() => {
    if (byId("view-buy").hidden) {
      return;
    }
    if (loadAgain || known.sale && known.sale.id !== saleShown) { // the next sale, or the first answer
      show();
    } else {
      showStock();
      showCart();
    }
  });
}

// leaveSale drops what was of another sale.
function leaveSale() {
  const sale = known.sale?.id ?? "";
  if (sale !== saleShown) {
    order = order?.id.startsWith(sale) ? order : null;
    if (saleShown !== "") {
      tell(message(), "", "");
    }
  }
  saleShown = sale;
  if (sale !== "" && api.session) {
    cart.toSale(sale);
  }
}

// stillHere returns a function that reports whether the login and the sale are those of now. An answer that comes
// later is another one's.
function stillHere() {
  const login = api.session;
  const sale = saleShown;
  return () => login !== null && login === api.session && sale === saleShown;
}

// ownOrder is the user's order in a list, null for none. A worker that ends may still tell that of the last sale.
const ownOrder = (orders) => orders.find(({ id }) => id.startsWith(saleShown)) ?? null;

// show is called whenever the view is entered, the login changes while it is shown, or the next sale begins.
export async function show() {
  byId("cart").hidden = api.session === null;
  loadAgain = false;
  leaveSale();
  const here = stillHere();
  const login = api.session;
  try {
    const [orders] = await Promise.all([login ? api.call("GET", "/orders?details=1") : [], readGoods()]);
    build();
    linesShown = ""; // the names are there now
    await rules?.read();
    if (here()) {
      takeList(orders);
      if (loadFailed) {
        tell(message(), "", "");
      }
      loadFailed = false;
    }
    showCart();
  } catch (error) {
    if (login === api.session) {
      tellError(message(), error);
      loadFailed = true;
      setTimeout(() => { loadAgain = true; }, 1000);
    }
  }
}

// takeList takes the user's orders. The list may be older than the order; a held one may have ended.
function takeList(orders) {
  order = ownOrder(orders) ?? order;
  const last = hold.kept();
  if (last.startsWith(`${saleShown}-${api.session?.user}`) && orders.length === 0) {
    hold.look(last);
  }
}

function showCart() {
  byId("cart-open").hidden = order !== null;
  byId("ordered").hidden = order === null;
  for (const food of foods) {
    const count = cart.countOf(food.id);
    setText(food.countText, count);
    food.row.classList.toggle("chosen", count > 0);
    turnOff(food.less, order !== null || ordering || count === 0);
    turnOff(food.more, order !== null || ordering || cart.pieces() >= cart.piecesMax);
  }
  receipt.show(order);
  if (order) {
    setText(byId("cart-toggle"), `${say("Ordered")} · ${order.id}`);
    return;
  }
  const items = cart.items();
  const total = amount(totalOf(items));
  setText(byId("cart-toggle"), items.length === 0 ? say("Cart is empty") :
    `${say("{n} of {max} pieces", { n: cart.pieces(), max: cart.piecesMax })} · ${total}`);
  const lines = items.map(({ food, count }) => [food, count, lack(food, count)]);
  if (JSON.stringify(lines) !== linesShown) {
    linesShown = JSON.stringify(lines);
    byId("cart-items").replaceChildren(...lines.map((each) => line(...each)));
  }
  byId("cart-empty").hidden = items.length > 0;
  setText(byId("cart-total"), total);
  tick();
}

// tick keeps the button and its countdown.
export function tick() {
  if (!known.sale) {
    return;
  }
  renew();
  rules?.show();
  hold.tick();
  const at = now();
  const state = stateOf(known.sale, at);
  const next = nextChange(known.sale, at);
  setText(byId("buy-state"), saidState(known.sale, at));
  showClock(next, at);
  const button = byId("order");
  button.disabled = state !== "open" || cart.pieces() === 0;
  setText(button, ordering ? say("One moment…") : state === "open" ? say("Order") :
    state === "scheduled" && next ? `${say("Opens in")} ${span(next.at - at)}` : say(orderTexts[state] ?? "Order"));
}

// showClock shows the time to the opening or the end, and how much is left of the whole sale.
function showClock(next, at) {
  const clock = byId("buy-clock");
  clock.hidden = !next;
  if (next) {
    setText(clock.firstElementChild, next.what);
    setText(clock.lastElementChild, span(next.at - at));
    clock.dataset.soon = isSoon(next, at);
  }
  const { pieces_left: left } = known.sale;
  const all = piecesOf(known.sale);
  setText(byId("buy-left"), say("{n} of {all} pieces left", { n: number(left), all: number(all) }));
  byId("buy-left").previousElementSibling.style.setProperty("--part", left / Math.max(1, all));
}

// act has a change or an order wait for those before it, and shows what it fails with. Taps after a change that
// has failed are dropped with it: they were made for another cart. What a login began ends with it.
function act(does) {
  const login = api.session;
  tell(message(), "", "");
  calls = calls.then(() => login === api.session && does()).catch((error) => {
    if (login !== api.session) {
      return;
    }
    cart.dropTaps();
    if (error.code === "CART_NOT_FOUND") {
      cart.fillAnew([]);
    } else if (api.isUnsure(error)) { // the cart may hold more or less than is shown
      cart.fillAnew(login.items);
    }
    tellError(message(), error);
    if (error.code === "FOOD_OUT_OF_STOCK") {
      offerRest(error);
    }
    rules?.explain(message(), error);
  }).then(showCart);
  showCart();
  return calls;
}

// tapOn takes a tap on + or −. A visitor logs in first. What cannot be done is told.
function tapOn(button) {
  const food = Number(button.dataset.food);
  const count = Number(button.dataset.count);
  if (!api.session) {
    wish = count > 0 ? { food, count } : null;
    byId("login").returnValue = "";
    openLogin();
  } else if (button.getAttribute("aria-disabled") !== "true") {
    tap(food, count);
  } else if (order) {
    tell(message(), "", say("You have ordered already: each user orders once."));
  } else if (count > 0 && !ordering) {
    tell(message(), "", say("A cart holds at most three pieces."));
  }
}

// tap counts at once, and is sent when the changes before it are made.
function tap(food, count) {
  cart.tap(food, count);
  announce(say("{n} of {max} pieces in the cart", { n: cart.pieces(), max: cart.piecesMax }));
  act(cart.sendTaps);
}

// renew keeps the server from forgetting a cart that waits for the opening. Where it fails, the order tries again.
function renew() {
  if (!renewing && !order && !ordering && api.session?.items.length > 0 && cart.isOld()) {
    renewing = true;
    calls = calls.then(cart.makeCart).catch(() => {});
    setTimeout(() => { renewing = false; }, renewPause);
  }
}

// offerRest names the foods of a refused order that lack pieces, and offers to order the others.
function offerRest({ details }) {
  const left = (food) => details?.find(({ food_id: id }) => id === food)?.stock ?? stockOf(food);
  const lacking = cart.items().filter(({ food, count }) => left(food) < count);
  if (lacking.length === 0) {
    return;
  }
  const less = lacking.map(({ food, count }) => ({ food, count: left(food) - count }));
  const names = lacking.map(({ food }) => nameOf(food)).join(", ");
  tell(message(), "bad", say("Not enough left: {names}.", { names }));
  if (less.reduce((sum, { count }) => sum + count, cart.pieces()) === 0) {
    return;
  }
  const rest = make("button", { type: "button" }, say("Order the rest"));
  rest.addEventListener("click", () => {
    less.forEach(({ food, count }) => tap(food, count));
    placeOrder();
    byId("order").focus();
  });
  message().append(" ", rest);
}

// placeOrder orders the cart that is shown, and nothing where a change of it has failed.
async function placeOrder() {
  if (ordering) {
    return;
  }
  const wanted = JSON.stringify(cart.items());
  ordering = true;
  await act(async () => {
    if (JSON.stringify(cart.items()) === wanted) {
      await sendOrder();
    }
  });
  ordering = false;
  showCart();
}

// sendOrder orders the cart. One that the server has forgotten is made again, once.
async function sendOrder(madeAgain = false) {
  const here = stillHere();
  await cart.makeCart();
  if (!here()) {
    return; // a cart of now is another one's
  }
  const { cart: id, items } = api.session;
  try {
    const placed = await api.insist("POST", "/orders?details=1", { cart_id: id, ...rules?.coupon() }, (attempt) => {
      if (here()) {
        const text = say("No answer yet. Asking again for the same order, attempt {n}: it is placed once at most.",
          { n: attempt + 1 });
        tell(message(), "", text);
      }
    });
    if (here()) {
      tell(message(), "good", say("Your order is placed. Its number is {id}.", { id: placed.id }));
      receive({ id: placed.id, items: items.map(({ food, count }) => ({ food_id: food, count })),
        total: totalOf(items) });
    }
  } catch (error) {
    if (error.code === "CART_EMPTY" && !madeAgain && here() && items.length > 0) {
      cart.fillAnew(items);
      await sendOrder(true);
      return;
    }
    if (error.code !== "ORDER_OUT_OF_LIMIT" || !here()) {
      throw error;
    }
    tellError(message(), error); // the order of before is shown
  }
  readOrder();
}

// receive takes the order and shows its receipt.
function receive(placed) {
  const first = order === null;
  order = placed;
  showCart();
  if (first) {
    receipt.open();
  }
}

// readOrder reads the order as the server has it, with its time. In a rush that may take several questions.
async function readOrder() {
  const here = stillHere();
  const mine = ++readings;
  for (let attempt = 0; here() && mine === readings; attempt++) {
    try {
      const found = ownOrder(await api.call("GET", "/orders?details=1"));
      if (found && here()) {
        receive(found);
      }
      return;
    } catch {
      await new Promise((resolve) => { setTimeout(resolve, backOff(attempt, 1000)); });
    }
  }
}
