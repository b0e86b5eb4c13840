// Root's view: the state of the sale, its times, its stock, the export and the log of changes.

import * as api from "./api.js";
import { nextChange, now, stateOf } from "./clock.js";
import { ask, byId, make, setText, tell } from "./dom.js";
import { count, fromLocalInput, localInput, number, size, span, time, zone } from "./format.js";
import { tellError } from "./messages.js";
import { known, onChange, takeSale } from "./store.js";

const logMax = 500; // rows shown

let saleShown = ""; // id of the sale that the form and the log are of
let changeShown = ""; // what the log tells of, as far as the state of the sale shows it
let timesShown = {}; // by the id of their fields
let ended = new AbortController(); // is aborted when the login ends

export function start() {
  setText(byId("zone"), zone);
  byId("do-open").addEventListener("click", () => changeState("open", "Open the sale now?",
    "buyers can order at once.", "Open now"));
  byId("do-pause").addEventListener("click", () => changeState("paused", "Pause the sale?",
    "orders are refused until you open it again. Carts can still be filled.", "Pause", true));
  byId("do-close").addEventListener("click", () => changeState("closed", "Close the sale?",
    "orders are refused from now on. You can open the sale again.", "Close the sale", true));
  byId("times").addEventListener("submit", setTimes);
  byId("times-now").addEventListener("click", () => showTimes(true));
  byId("restock").addEventListener("submit", restock);
  byId("log-again").addEventListener("click", readLog);
  byId("export-csv").addEventListener("click", () => download("csv"));
  byId("export-jsonl").addEventListener("click", () => download("jsonl"));
  onChange(tick);
  api.onSession((session) => session || leave());
}

// leave stops what root has begun, and empties the view.
function leave() {
  ended.abort();
  ended = new AbortController();
  byId("confirm").close("no");
  byId("times").reset();
  byId("restock").reset();
  showLog([]);
  tell(byId("operate-message"), "", "");
  tell(byId("export-state"), "", "");
}

// show is called whenever the view is entered.
export function show() {
  saleShown = "";
  tick();
}

// follow shows what has changed, here or elsewhere. Times that somebody is typing stay, but not for the next sale.
function follow(sale) {
  if (sale.id !== saleShown) {
    saleShown = sale.id;
    changeShown = "";
    showTimes(true);
    tell(byId("operate-message"), "", "");
    tell(byId("export-state"), "", "");
  }
  const { id, state, opens_at, closes_at, pieces_left, pieces_sold } = sale;
  const change = JSON.stringify([id, state, opens_at, closes_at, pieces_left + pieces_sold]);
  if (change !== changeShown) {
    changeShown = change;
    readLog();
    showTimes(false);
  }
}

export function tick() {
  if (!known.sale || byId("view-operate").hidden) {
    return;
  }
  const at = now();
  const state = stateOf(known.sale, at);
  const next = nextChange(known.sale, at);
  const wait = next ? `, ${next.what.toLowerCase()} ${span(next.at - at)}` : "";
  setText(byId("operate-now"), `The sale is ${state}${wait}.`);
  setText(byId("operate-state"), `${count(known.sale.orders, "order")}, ` +
    `${count(known.sale.pieces_left, "piece")} left`);
  byId("do-open").disabled = state === "open";
  byId("do-pause").disabled = state !== "open";
  byId("do-close").disabled = state === "closed";
  byId("restock-food").max = known.left.length || "";
  follow(known.sale);
}

// isEdited reports whether somebody has typed into the field of a time, be it a part of one.
const isEdited = (input) => input.validity.badInput ||
  fromLocalInput(input.value) !== fromLocalInput(timesShown[input.id] ?? "");

// showTimes shows the times that hold: all of them, or those that nobody is typing.
function showTimes(all) {
  for (const [id, at] of [["opens-at", known.sale?.opens_at], ["closes-at", known.sale?.closes_at]]) {
    if (all || !isEdited(byId(id))) {
      byId(id).value = localInput(at);
    }
    timesShown[id] = localInput(at);
  }
}

// perform makes a call, shows its outcome and reads the log again, unless the login has ended meanwhile.
async function perform(call, done) {
  const { signal } = ended;
  try {
    const told = await call();
    signal.throwIfAborted();
    tell(byId("operate-message"), "good", done(told));
  } catch (error) {
    if (!signal.aborted) {
      tellError(byId("operate-message"), error);
    }
  }
  readLog();
}

const put = (change) => async () => {
  const sale = await api.call("PUT", "/admin/sale", { id: saleShown, ...change });
  takeSale(sale);
  tick();
  return sale;
};

// agreed asks for an act on the sale that is shown. An answer that comes in the next sale is none.
async function agreed(title, text, act, dangerous) {
  const sale = saleShown;
  const yes = await ask(title, `Sale ${sale}: ${text}`, act, dangerous);
  if (yes && sale !== saleShown) {
    tell(byId("operate-message"), "bad", "The next sale has begun. Nothing was changed.");
    return false;
  }
  return yes;
}

async function changeState(state, title, text, act, dangerous) {
  if (await agreed(title, text, act, dangerous)) {
    perform(put({ state }), (sale) => `The sale is ${sale.state}.`);
  }
}

// stateFor is the state that comes with an opening time: the server changes none by the way.
function stateFor(opens) {
  const early = opens && Date.parse(opens) > now();
  if (early) {
    return { state: "scheduled" };
  }
  return known.sale && stateOf(known.sale, now()) === "scheduled" ? { state: "open" } : {};
}

// wantedTimes are the times that somebody has typed. The others are not sent: a field has no milliseconds, and
// may name two moments in the night in which the clocks go back.
function wantedTimes() {
  const fields = { opens_at: byId("opens-at"), closes_at: byId("closes-at") };
  return Object.fromEntries(Object.entries(fields).filter(([, input]) => isEdited(input))
    .map(([name, input]) => [name, fromLocalInput(input.value)]));
}

async function setTimes(event) {
  event.preventDefault();
  const wanted = wantedTimes();
  const { opens_at: opens, closes_at: closes } = { ...known.sale, ...wanted };
  const change = { ...wanted, ...stateFor(opens) };
  if (Object.keys(change).length === 0) {
    tell(byId("operate-message"), "", "These are the times that hold.");
    return;
  }
  const then = { scheduled: " Until then orders are refused.", open: " The sale opens at once." }[change.state] ?? "";
  const text = `opens: ${opens ? time(opens) : "no time"}. Closes: ${closes ? time(closes) : "no time"}.${then}`;
  if (await agreed("Set these times?", text, "Set the times")) {
    perform(put(change), () => {
      showTimes(true);
      return "The times are set.";
    });
  }
}

async function restock(event) {
  event.preventDefault();
  const food = byId("restock-food").valueAsNumber;
  const add = byId("restock-pieces").valueAsNumber;
  const title = add < 0 ? `Take back ${count(-add, "piece")} of food ${food}?` :
    `Add ${count(add, "piece")} to food ${food}?`;
  if (await agreed(title, "the change is written to the log.", add < 0 ? "Take back" : "Add", add < 0)) {
    perform(() => api.insist("POST", `/admin/foods/${food}/stock`, { add },
      () => tell(byId("operate-message"), "", "No answer yet. Asking again: the change is made once at most.")),
    (told) => {
      byId("restock-pieces").value = "";
      return `Food ${told.id} has ${count(told.stock, "piece")} now.`;
    });
  }
}

const timesText = ({ opens_at, closes_at }) => [opens_at && `opens ${time(opens_at)}`,
  closes_at && `closes ${time(closes_at)}`].filter(Boolean).join(", ") || "no times";

// details are what an entry of the log tells, by what it is about.
const details = {
  opened: (e) => `${count(e.pieces, "piece")}, ${timesText(e)}`,
  state: (e) => `${e.before} → ${e.after}`,
  times: (e) => `${timesText(e.before)} → ${timesText(e.after)}`,
  stock: (e) => `food ${e.food_id}, ${e.add > 0 ? "+" : ""}${number(e.add)}: ${number(e.before)} → ${number(e.after)}`,
};

async function readLog() {
  if (!api.may("operator")) {
    return;
  }
  const { signal } = ended;
  try {
    const entries = (await api.call("GET", "/admin/log")).reverse().slice(0, logMax);
    if (!signal.aborted) {
      showLog(entries);
    }
  } catch (error) {
    if (!signal.aborted) {
      tellError(byId("operate-message"), error);
    }
  }
}

function showLog(entries) {
  byId("no-log").hidden = entries.length > 0;
  byId("log").tBodies[0].replaceChildren(...entries.map((entry) => make("tr", {},
    make("td", { class: "when" }, time(entry.at)), make("td", {}, entry.by), make("td", {}, entry.what),
    make("td", {}, details[entry.what]?.(entry) ?? ""))));
}

// download reads an export as it comes and then has the browser save it. The token stays out of the URL.
async function download(format) {
  const { signal } = ended;
  const name = `orders-${known.sale?.id ?? "sale"}.${format}`; // the next sale may begin meanwhile
  const state = byId("export-state");
  const parts = [];
  let bytes = 0;
  try {
    const reply = await api.request("GET", `/admin/orders?format=${format}`);
    const reader = reply.body.getReader();
    signal.addEventListener("abort", () => reader.cancel());
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) {
        break;
      }
      parts.push(value);
      bytes += value.length;
      setText(state, `${size(bytes)}…`);
    }
    save(new Blob(parts, { type: "application/octet-stream" }), name);
    tell(state, "good", `Saved, ${size(bytes)}.`);
  } catch (error) {
    if (!signal.aborted) {
      tellError(state, error);
    }
  }
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
