// The cart of at most three pieces: taps on it count at once, and are sent to the server one by one.

import * as api from "./api.js";

export const piecesMax = 3;
const cartAge = 20 * 60_000; // ms until a cart is made anew, before the server forgets it

let taps = []; // {food, count}: changes of the cart that the server has not confirmed, the oldest first

// items is [{food, count}] in the order of their first pieces, with the taps.
export const items = () => taps.reduce(withTap, api.session?.items ?? []);
export const pieces = () => items().reduce((sum, { count }) => sum + count, 0);
export const countOf = (food) => items().find((item) => item.food === food)?.count ?? 0;

// withTap is a list of {food, count} after a change of it, as the server makes it. Foods stay in the order of their
// first pieces.
export function withTap(list, { food, count }) {
  const known = list.some((item) => item.food === food);
  return (known ? list : [...list, { food, count: 0 }])
    .map((item) => (item.food === food ? { food, count: item.count + count } : item))
    .filter((item) => item.count > 0);
}

export function tap(food, count) {
  taps.push({ food, count });
}

export function dropTaps() {
  taps = [];
}

// fillAnew has the next cart be filled with these items. The one on the server is another one, or is forgotten.
export function fillAnew(list) {
  api.setCart("", list, api.session.sale);
}

// toSale has the cart be one of this sale. One of another sale cannot be ordered; "": it was begun before the sale
// was known.
export function toSale(sale) {
  const { cart: id, items: list, sale: before } = api.session;
  if (before === "") {
    api.setCart(id, list, sale);
  } else if (before !== sale) {
    taps = [];
    api.setCart("", [], sale);
  }
}

const change = (cart, tapped) =>
  api.call("PATCH", `/carts/${encodeURIComponent(cart)}`, { food_id: tapped.food, count: tapped.count });

// isOld reports whether the server may soon forget the cart.
export const isOld = () => Date.now() - api.session.made > cartAge;

// makeCart makes a cart with the items that are shown, where there is none or the server may soon forget it.
export async function makeCart() {
  const login = api.session;
  const { cart, items: list, sale } = login;
  if (cart && !isOld()) {
    return;
  }
  const { cart_id: id } = await api.call("POST", "/carts");
  for (const item of list) {
    await change(id, item);
  }
  if (login === api.session && login.sale === sale) {
    api.setCart(id, list, sale);
  }
}

// sendTaps makes the changes that wait. Those that are dropped meanwhile are another cart's.
export async function sendTaps() {
  while (taps.length > 0) {
    const [next] = taps;
    await makeCart();
    if (taps[0] !== next || !api.session.cart) {
      continue;
    }
    await change(api.session.cart, next);
    if (taps[0] === next) {
      taps.shift();
      api.setCart(api.session.cart, withTap(api.session.items, next), api.session.sale);
    }
  }
}
