// The cart on the server: when it is made, and how it changes.

import * as api from "./api.js";

const cartAge = 20 * 60_000; // ms until a cart is made anew, before the server forgets it

// withTap is a cart, a list of {food, count}, after a change of it, as the server makes it. Foods stay in the order
// of their first pieces.
export function withTap(items, { food, count }) {
  const known = items.some((item) => item.food === food);
  return (known ? items : [...items, { food, count: 0 }])
    .map((item) => (item.food === food ? { food, count: item.count + count } : item))
    .filter((item) => item.count > 0);
}

// change adds pieces to a cart on the server, or takes them away.
export const change = (cart, { food, count }) =>
  api.call("PATCH", `/carts/${encodeURIComponent(cart)}`, { food_id: food, count });

// isOld reports whether the server may soon forget the cart.
export const isOld = () => Date.now() - api.session.made > cartAge;

// makeCart makes a cart with the items that are shown, where there is none or the server may soon forget it.
export async function makeCart() {
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
