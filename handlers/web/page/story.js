// The time line of the sale: what has happened, and for root who did it.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { moment, number } from "./format.js";
import { nameOf } from "./goods.js";
import { say } from "./words.js";

const texts = {
  opened: "Opened",
  again: "Opened again",
  paused: "Paused",
  resumed: "Goes on",
  closed: "Closed",
  restocked: "{n} of {name} added",
  taken: "{n} of {name} taken back",
  sold_out: "Sold out",
};
const names = { clock: "by the clock", terminal: "from a terminal" };

let authors = new Map(); // who did it, by the time
let asked = ""; // what the authors were asked for last
let shown = "";

// marksOf gives marks their texts.
export function marksOf(marks) {
  let opened = false;
  return marks.map((mark) => {
    let what = mark.what;
    if (what === "opened") {
      what = opened ? "again" : "opened";
      opened = true;
    } else if (what === "restocked" && mark.add < 0) {
      what = "taken";
    }
    return { at: Date.parse(mark.at) / 1000, time: mark.at, what: mark.what,
      text: say(texts[what] ?? what, { n: number(Math.abs(mark.add)), name: nameOf(mark.food_id) }) };
  });
}

// show draws the marks, the last one first.
export function show(marks, sale) {
  const list = marksOf(marks);
  askAuthors(`${sale} ${list.length}`);
  const lines = list.map(({ at, time, text, what }) => ({ time, what,
    text: `${text} ${authors.get(at) ?? ""}`.trim() })).reverse();
  const all = JSON.stringify(lines);
  if (all === shown) {
    return;
  }
  shown = all;
  byId("timeline").replaceChildren(...lines.map(({ time, text, what }) => make("li", { "data-what": what },
    make("time", { datetime: time }, moment(time)), make("span", {}, text))));
  byId("no-timeline").hidden = lines.length > 0;
}

// askAuthors reads the log of the sale, which only root may read, after each change.
async function askAuthors(question) {
  const wanted = api.may("viewer") ? question : "";
  if (wanted === asked) {
    return;
  }
  asked = wanted;
  let log = [];
  try {
    log = wanted === "" ? [] : await api.call("GET", "/admin/log");
  } catch {
    asked = ""; // the time line does without names until the next second
    return;
  }
  if (wanted === asked) {
    const author = (by) => (by in names ? say(names[by]) : say("by {name}", { name: by }));
    authors = new Map(log.map(({ at, by }) => [Date.parse(at) / 1000, author(by)]));
  }
}
