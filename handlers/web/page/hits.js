// What the keys of the traffic statistics mean, in words.

import { nameOf } from "./goods.js";
import { say } from "./words.js";

const calls = {
  "POST /login:2xx": "Logins",
  "POST /login:4xx": "Logins refused",
  "GET /foods:2xx": "Goods looked at",
  "POST /carts:2xx": "Carts begun",
  "POST /carts:4xx": "Carts refused",
  "PATCH /carts/:id:2xx": "Carts changed",
  "PATCH /carts/:id:4xx": "Cart changes refused",
  "POST /orders:2xx": "Orders placed",
  "POST /orders:4xx": "Orders refused",
  "POST /orders:5xx": "Orders without an answer",
  "GET /orders:2xx": "Own orders looked at",
  "GET /sale:2xx": "State of the sale read",
  "GET /live:2xx": "Live view opened",
  "GET /:2xx": "Page opened",
};
const endings = { "2xx": "{call}, done", "3xx": "{call}, unchanged", "4xx": "{call}, refused",
  "5xx": "{call}, failed" };
const foods = { added: "Put into carts: {name}", sold: "Sold: {name}" };

// wordsOf is a key in words; the key itself where another program has made it.
export function wordsOf(key) {
  const food = /^food:(\d+):(added|sold)$/.exec(key);
  if (food) {
    return say(foods[food[2]], { name: nameOf(food[1]) });
  }
  const call = /^call:(.*):([2345]xx)$/.exec(key);
  if (!call) {
    return key;
  }
  const known = calls[`${call[1]}:${call[2]}`];
  return known ? say(known) : say(endings[call[2]], { call: call[1] === "other" ? say("Unknown address") : call[1] });
}
