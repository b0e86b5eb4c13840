// The log of the sale in words: who changed what, and when.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { count, number, zoned, time } from "./format.js";
import { nameOf, readGoods } from "./goods.js";
import { say } from "./words.js";

const shownMax = 500; // rows

const people = { terminal: "from a terminal", clock: "by the clock" };
const states = {
  scheduled: "The sale is to open at its time",
  open: "The sale was opened",
  paused: "The sale was paused",
  closed: "The sale was closed",
};
const before = {
  scheduled: "it had not opened",
  open: "it was open",
  paused: "it was paused",
  closed: "it was closed",
};

const timesText = ({ opens_at, closes_at }) => [opens_at && say("opens at {time}", { time: zoned(opens_at) }),
  closes_at && say("closes at {time}", { time: zoned(closes_at) })].filter(Boolean).join(", ") || say("no times");

const itemsText = (items) => items.map((item) => `${number(item.count)} × ${nameOf(item.food_id)}`).join(", ");

// texts are what an entry tells, by what it is about: a sentence, and what was before.
const texts = {
  opened: (e) => [say("The sale was made with {pieces}", { pieces: count(e.pieces, "piece") }), timesText(e)],
  state: (e) => [say(states[e.after] ?? e.after), say(before[e.before] ?? e.before)],
  times: (e) => [say("Times: {times}", { times: timesText(e.after) }),
    say("before: {times}", { times: timesText(e.before) })],
  stock: (e) => [say(e.add > 0 ? "{name}: {n} added" : "{name}: {n} taken back",
    { name: nameOf(e.food_id), n: count(Math.abs(e.add), "piece") }),
  say("{n} left, before {before}", { n: number(e.after), before: number(e.before) })],
  order: (e) => [say(e.after.length ? "Order {id}: {items} left of it" : "Order {id} was cancelled",
    { id: e.order_id, items: itemsText(e.after) }), `${itemsText(e.before)}; ${e.reason}`],
  sold_out: () => [say("Everything was sold out"), ""],
};

// readChanges reads the log, the newest change first.
export async function readChanges() {
  await readGoods();
  return (await api.call("GET", "/admin/log")).reverse().slice(0, shownMax);
}

export function showChanges(entries) {
  byId("no-log").hidden = entries.length > 0;
  byId("log").tBodies[0].replaceChildren(...entries.map((entry) => {
    const [what, more] = texts[entry.what]?.(entry) ?? [entry.what, ""];
    return make("tr", {}, make("td", { class: "at" }, time(entry.at)),
      make("td", {}, people[entry.by] ? say(people[entry.by]) : entry.by), make("td", {}, what),
      make("td", { class: "muted" }, more));
  }));
}
