// The server's time. The clock of this machine may be wrong, and may be set while the page is open; so the
// page counts from its own start and learns the difference from the times that the server tells.

import { say } from "./words.js";

const samplesMax = 10;
const samples = []; // server's time less the time since the page's start, in ms

// learn takes a time that the server has told. It was true some time ago, by the way that the answer took; so
// of the last ones the largest difference is the nearest.
export function learn(text) {
  const told = Date.parse(text);
  if (Number.isFinite(told)) {
    samples.push(told - performance.now());
    samples.splice(0, samples.length - samplesMax);
  }
}

// now is the server's time in ms; this machine's while no time is known.
export const now = () => (samples.length > 0 ? Math.max(...samples) + performance.now() : Date.now());

// stateOf is the state of a sale at a time: by the clock it changes at its times, before the server tells.
export function stateOf(sale, at) {
  if (sale.state === "closed" || (sale.closes_at && at >= Date.parse(sale.closes_at))) {
    return "closed";
  }
  if (sale.state === "scheduled" && sale.opens_at && at >= Date.parse(sale.opens_at)) {
    return "open";
  }
  return sale.state;
}

// pieces are all pieces of a sale: left, held and sold.
export const pieces = (sale) => sale.pieces_left + sale.pieces_sold + (sale.pieces_held ?? 0);

// shownState is the state that people see: an open sale without pieces is sold out.
export function shownState(sale, at) {
  const state = stateOf(sale, at);
  return state === "open" && sale.pieces_left === 0 && pieces(sale) > 0 ? "sold-out" : state;
}

const sentences = {
  scheduled: "The sale has not opened yet",
  open: "The sale is open",
  paused: "The sale is paused",
  closed: "The sale is closed",
  "sold-out": "Everything is sold out",
};

// saidState is that state as a sentence.
export function saidState(sale, at) {
  const state = shownState(sale, at);
  return say(sentences[state] ?? state);
}

const soon = 10_000; // ms

// isSoon reports whether so little time is left that a countdown stands out.
export const isSoon = (next, at) => next.at - at <= soon;

// nextChange is the time of the next change by the clock, and what it is; null for none.
export function nextChange(sale, at) {
  const state = stateOf(sale, at);
  if (state === "scheduled" && sale.opens_at) {
    return { what: say("Opens in"), at: Date.parse(sale.opens_at) };
  }
  if ((state === "open" || state === "paused") && sale.closes_at) {
    return { what: say("Closes in"), at: Date.parse(sale.closes_at) };
  }
  return null;
}
