// What a change makes of a cart, as the server does it.

// withTap is a cart, a list of {food, count}, after a change of it. Foods stay in the order of their first pieces.
export function withTap(items, { food, count }) {
  const known = items.some((item) => item.food === food);
  return (known ? items : [...items, { food, count: 0 }])
    .map((item) => (item.food === food ? { food, count: item.count + count } : item))
    .filter((item) => item.count > 0);
}
