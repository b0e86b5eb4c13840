// What the page knows of the sale, as told by GET /live. The views read it; only this module changes it.

import { learn, pieces } from "./clock.js";
import { logOut, may, onSession, request, tokenHeader } from "./api.js";
import { Curve } from "./curve.js";
import { Stream } from "./sse.js";

const refusedSeconds = 60;
const oldMax = 5000; // ms
const patience = 3000; // ms; workers that are replaced, or a moment without network, alarm no viewer

export const known = {
  sale: null, // the body of GET /sale
  left: [], // pieces by food
  full: [], // pieces of a full cell, by food
  curve: new Curve(), // of the sale
  peak: 0, // the most orders in a second
  marks: [], // what has happened in the sale
  pace: null, // the last second
  refused: [], // {t, refused} of the last minute
  others: null, // {refused, last_minute} of refusals that only operators are told of
  refusedAll: {}, // how many calls of the sale were refused, by code
  top: null, // most-hit keys, for operators
  link: "connecting", // or live, lost, off
  retryAt: 0, // of a link that is lost, by performance.now()
  lostAt: 0, // when it was lost, by the same
};

const watchers = [];
let due = false;

// onChange has a function called before the next paint after a change, once for many changes.
export const onChange = (watch) => watchers.push(watch);

function changed() {
  if (!due) {
    due = true;
    requestAnimationFrame(() => {
      due = false;
      watchers.forEach((watch) => watch(known));
    });
  }
}

// takeSale takes the state of the sale. A worker may tell one of before a change that another has made: what is a
// little older than what is known is not taken. What is much older was told by another clock.
export function takeSale(sale) {
  learn(sale.now);
  const age = Date.parse(known.sale?.now) - Date.parse(sale.now);
  if (known.sale?.id === sale.id && age > 0 && age < oldMax) {
    return;
  }
  if (known.sale?.id !== sale.id) {
    known.full = []; // the next sale may have other foods
  }
  known.sale = sale;
  changed();
}

// takeStock takes the pieces left of all foods, or of those that have changed, by id. Where the server does not
// tell what a full cell holds, it is the most that was seen, and at least a food's part of the whole sale.
function takeStock({ left, changed, of }) {
  known.left = left ?? known.left.map((n, i) => changed[i + 1] ?? n);
  const sale = known.sale;
  const part = sale ? Math.ceil(pieces(sale) / known.left.length) : 0;
  known.full = known.left.map((n, i) => of?.[i] ?? Math.max(known.full[i] ?? 0, n, part));
}

function takeHistory(history) {
  known.curve = new Curve(history);
  known.peak = history.peak;
  known.marks = history.marks;
  known.refusedAll = history.refused;
  known.refused = history.last_minute;
}

// takePace adds a second. One that is known already, after a reconnect, counts once.
function takePace(pace) {
  const again = known.refused.find(({ t }) => t === pace.t)?.refused ?? {};
  for (const [code, n] of Object.entries(pace.refused)) {
    known.refusedAll[code] = (known.refusedAll[code] ?? 0) + n - (again[code] ?? 0);
  }
  known.refused = known.refused.filter(({ t }) => t > pace.t - refusedSeconds && t !== pace.t);
  known.refused.push({ t: pace.t, refused: pace.refused });
  if (!pace.still) {
    known.curve.add(pace);
    known.peak = Math.max(known.peak, Math.round(known.curve.points.at(-1).rate));
  }
  const marks = known.marks.map((mark) => JSON.stringify(mark)); // the history may have them already
  known.marks = known.marks.concat((pace.marks ?? []).filter((mark) => !marks.includes(JSON.stringify(mark))));
  known.pace = pace;
}

const takers = { sale: takeSale, stock: takeStock, history: takeHistory, pace: takePace,
  top: ({ keys }) => { known.top = keys; }, refused: (others) => { known.others = others; } };

// take takes a message of the stream.
export function take({ event, data }) {
  takers[event]?.(JSON.parse(data));
  changed();
}

// readSale asks for the state alone, while there is no stream.
async function readSale() {
  try {
    takeSale(await (await request("GET", "/sale", undefined, {}, null)).json());
  } catch {
    // the page tells already that it has lost the server
  }
}

// keepTime reads the state once in a while as long as a countdown runs, and some times at the start: each answer
// brings the server's time, and the stream may tell it a second late.
export function keepTime() {
  readSale();
  const often = [1000, 2500, 4500];
  often.forEach((delay) => setTimeout(readSale, delay));
  setInterval(() => {
    if (known.sale?.state === "scheduled") {
      readSale();
    }
  }, 10_000 + Math.random() * 5_000);
}

// isAway reports whether the link is lost for a moment only, so far.
export const isAway = () => known.link === "lost" && performance.now() - known.lostAt < patience;

// linkChanged has the state read while there is no stream, but not at once: all viewers of a server that has just
// gone would come back together.
function linkChanged(link, delay = 0, status = 0) {
  if (link === "lost" && known.link !== "lost") {
    known.lostAt = performance.now();
  }
  known.link = status === 404 ? "off" : link;
  known.retryAt = performance.now() + delay;
  if (status === 401) {
    logOut("expired"); // an operator's token
  } else if (link === "lost" && !isAway()) {
    setTimeout(readSale, Math.random() * delay);
  }
  changed();
}

// refusedByCode is [code, how many in the last minute, how many in the whole sale], the most frequent first.
export function refusedByCode() {
  const { refused: rest, last_minute: restNow } = known.others ?? { refused: {}, last_minute: {} };
  const minute = { ...restNow };
  for (const { refused } of known.refused) {
    for (const [code, n] of Object.entries(refused)) {
      minute[code] = (minute[code] ?? 0) + n;
    }
  }
  return Object.entries({ ...known.refusedAll, ...rest }).filter(([, n]) => n > 0).sort(([, a], [, b]) => b - a)
    .map(([code, n]) => [code, minute[code] ?? 0, n]);
}

// follow begins to read the stream. Operators see more of it; so it begins anew when one comes or goes.
export function follow() {
  const headers = () => (may("viewer") ? tokenHeader() : {});
  const stream = new Stream("/live", headers, take, linkChanged);
  let seesAll = may("viewer");
  onSession(() => {
    if (seesAll !== may("viewer")) {
      seesAll = may("viewer");
      known.top = known.others = null;
      changed();
      stream.start();
    }
  });
  addEventListener("online", () => stream.start());
  stream.start();
  return stream;
}
