// What the shop sells: names, pictures and prices of the foods, which do not change during a sale.

import { language, say } from "./words.js";

export let goods = []; // {id, price, name, description, image, unit}, by id
let money = new Intl.NumberFormat(language);
let minor = 1; // units in an amount of money

let reading = null;

// readGoods reads them once.
export const readGoods = () => reading ??= read().catch((error) => {
  reading = null;
  throw error;
});

async function read() {
  const told = await (await fetch("/web/catalogue.json")).json(); // index.html has asked for it already
  const { currency, decimals } = told[0] ?? {};
  if (currency) {
    money = new Intl.NumberFormat(language, { style: "currency", currency, minimumFractionDigits: decimals });
    minor = 10 ** decimals;
  }
  goods = told.map((food) => ({
    id: food.id,
    price: food.price,
    image: food.image,
    name: food.names?.[language] ?? food.name ?? say("food {id}", food),
    description: food.descriptions?.[language] ?? food.description ?? "",
    unit: food.units?.[language] ?? food.unit ?? "",
  }));
}

export const nameOf = (food) => goods[food - 1]?.name ?? say("food {id}", { id: food });
export const priceOf = (food) => goods[food - 1]?.price ?? 0;
export const totalOf = (items) => items.reduce((sum, { food, count }) => sum + count * priceOf(food), 0);

// amount is an amount of money as people write it.
export const amount = (units) => money.format(units / minor);
