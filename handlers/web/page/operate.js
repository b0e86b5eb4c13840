// The operator's view: the state of the sale, its times, its stock, the export and the log of changes.

import * as api from "./api.js";
import { readChanges, showChanges } from "./changes.js";
import { nextChange, now, pieces, saidState, stateOf } from "./clock.js";
import { ask, byId, setText, tell } from "./dom.js";
import { download } from "./download.js";
import { count, fromLocalInput, localInput, number, span, time, zone, zoned } from "./format.js";
import { readGoods } from "./goods.js";
import { tellError } from "./messages.js";
import * as nextSale from "./nextsale.js";
import * as restock from "./restock.js";
import { known, onChange, takeSale } from "./store.js";
import * as webhooks from "./webhooks.js";
import { language, say } from "./words.js";

// ruleset is the module of the rules of a purchase, null where the server has none.
const ruleset = document.documentElement.dataset.rules === "on" ? await import("./ruleset.js") : null;

let saleShown = ""; // id of the sale that the form and the log are of
let changeShown = ""; // what the log tells of, as far as the state of the sale shows it
let timesShown = {}; // by the id of their fields
let ended = new AbortController(); // is aborted when the login ends

const files = {
  csv: ["orders", "csv", "format=csv&bom=1"],
  items: ["items", "csv", `format=csv&rows=items&bom=1&language=${language}`],
  jsonl: ["orders", "jsonl", "format=jsonl"],
};

export function start() {
  setText(byId("zone"), zone);
  byId("do-open").addEventListener("click", () => changeState("open", "Open the sale now?", openText, "Open now"));
  byId("do-pause").addEventListener("click", () =>
    changeState("paused", "Pause the sale?", pauseText, "Pause the sale", true));
  byId("do-close").addEventListener("click", () =>
    changeState("closed", "Close the sale?", closeText, "Close the sale", true));
  byId("times").addEventListener("submit", setTimes);
  byId("times").addEventListener("input", () => setText(byId("times-fault"), fault(wantedTimes(), now())));
  byId("times-now").addEventListener("click", () => showTimes(true));
  restock.start(agreed, perform);
  nextSale.start(agreed, perform);
  ruleset?.start();
  webhooks.start(perform);
  byId("log-again").addEventListener("click", readLog);
  for (const [kind, [name, ending, query]] of Object.entries(files)) {
    byId(`export-${kind}`).addEventListener("click", () => download(`/admin/orders?${query}`,
      `${name}-${known.sale?.id ?? "sale"}.${ending}`, byId("export-state"), ended.signal));
  }
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
  byId("next-sale").reset();
  webhooks.clear();
  setText(byId("next-fault"), "");
  setText(byId("next-shown"), "");
  setText(byId("restock-shown"), "");
  setText(byId("times-fault"), "");
  showChanges([]);
  tell(byId("operate-message"), "", "");
  tell(byId("export-state"), "", "");
}

// show is called whenever the view is entered.
export function show() {
  saleShown = "";
  ruleset?.read();
  readGoods().catch(() => {}); // the foods have numbers then
  webhooks.show();
  tick();
}

// follow shows what has changed, here or elsewhere. Times that somebody is typing stay, but not for the next sale.
function follow(sale) {
  if (sale.id !== saleShown) {
    saleShown = sale.id;
    changeShown = "";
    showTimes(true);
    if (sale.id !== nextSale.opened) {
      tell(byId("operate-message"), "", "");
    }
    tell(byId("export-state"), "", "");
  }
  const { id, state, opens_at, closes_at } = sale;
  const change = JSON.stringify([id, state, opens_at, closes_at, pieces(sale)]);
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
  const wait = next ? ` · ${next.what} ${span(next.at - at)}` : "";
  setText(byId("operate-now"), `${saidState(known.sale, at)}${wait}`);
  setText(byId("operate-state"), [count(known.sale.orders, "order"),
    say("{n} pieces left", { n: number(known.sale.pieces_left) })].join(" · "));
  byId("do-open").disabled = state === "open";
  byId("do-pause").disabled = state !== "open";
  byId("do-close").disabled = state === "closed";
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
  setText(byId("times-fault"), "");
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
  const yes = await ask(title, say("Sale {id}: {text}", { id: sale, text }), act, dangerous);
  if (yes && sale !== saleShown) {
    tell(byId("operate-message"), "bad", say("The next sale has begun. Nothing was changed."));
    return false;
  }
  return yes;
}

async function changeState(state, title, textOf, act, dangerous) {
  if (await agreed(say(title), sentences(textOf(known.sale, now())), say(act), dangerous)) {
    perform(put({ state }), (sale) => `${saidState(sale, now())}.`);
  }
}

const sentences = (list) => list.filter(Boolean).join(" ");
const isOver = (text, at) => Boolean(text) && Date.parse(text) <= at;

// openText tells what opening the sale will do; so do the others for their acts.
const openText = (sale, at) => [
  stateOf(sale, at) === "closed" && say("This reopens the sale."),
  stateOf(sale, at) === "scheduled" && sale.opens_at && say("It opens now and not at {time}.",
    { time: zoned(sale.opens_at) }),
  say("Buyers can order at once."),
  sale.pieces_left === 0 && say("But no piece is left: restock first."),
  isOver(sale.closes_at, at) ? say("Its closing time, {time}, is over and is taken away.",
    { time: zoned(sale.closes_at) }) : closing(sale)];
const pauseText = (sale) => [say("Orders are refused until you open it again. Carts can still be filled."),
  closing(sale)];
const closeText = (sale) => [say("Orders are refused from now on."),
  say("{n} pieces are unsold.", { n: number(sale.pieces_left) }), say("You can open the sale again.")];
const closing = (sale) => sale.closes_at && say("It closes at {time}.", { time: zoned(sale.closes_at) });

// stateFor is the state that comes with an opening time: the server changes none by the way.
function stateFor(opens, at) {
  if (opens && !isOver(opens, at)) {
    return { state: "scheduled" };
  }
  return stateOf(known.sale, at) === "scheduled" ? { state: "open" } : {};
}

// wantedTimes are the times that somebody has typed. The others are not sent: a field has no milliseconds, and
// may name two moments in the night in which the clocks go back.
function wantedTimes() {
  const fields = { opens_at: byId("opens-at"), closes_at: byId("closes-at") };
  return Object.fromEntries(Object.entries(fields).filter(([, input]) => isEdited(input))
    .map(([name, input]) => [name, fromLocalInput(input.value)]));
}

// timesWith are the times of the sale with those that somebody wants. To schedule a sale takes a closing time away
// that is over.
function timesWith(wanted, at) {
  const { opens_at: opens, closes_at: closes } = { ...known.sale, ...wanted };
  return { opens, closes: opens && !isOver(opens, at) && isOver(closes, at) ? null : closes };
}

// fault names what is wrong with the times that somebody wants; "" for nothing.
function fault(wanted, at) {
  const { opens, closes } = timesWith(wanted, at);
  const here = { time: zoned(new Date(at).toISOString()) };
  if (isOver(wanted.closes_at, at)) {
    return say("The closing time is over: it is {time} now. To close the sale at once, press Close the sale.", here);
  }
  if (isOver(wanted.opens_at, at) && known.sale && stateOf(known.sale, at) === "scheduled") {
    return say("The opening time is over: it is {time} now. To open the sale at once, press Open now.", here);
  }
  if (opens && closes && Date.parse(opens) >= Date.parse(closes)) {
    return say("The sale cannot have these times: it must open before it closes.");
  }
  return "";
}

// timesText tells what the times will do to the sale.
function timesText(change, opens, closes, at) {
  const state = stateOf(known.sale, at);
  const scheduled = {
    open: "Orders are refused from now on, until it opens.",
    closed: "This reopens the sale at {time}.",
    paused: "This ends the pause: the sale opens at {time}.",
    scheduled: "Until then orders are refused.",
  };
  return sentences([
    opens ? say("Opens: {time}.", { time: zoned(opens) }) : say("No opening time."),
    closes ? say("Closes: {time}.", { time: zoned(closes) }) : say("No closing time."),
    change.state === "scheduled" && say(scheduled[state], { time: time(opens) }),
    change.state === "open" && say("The sale opens at once."),
    !change.state && state === "closed" && say("The sale stays closed until you open it."),
    !change.state && state !== "closed" && change.opens_at && say("The sale has begun: only the shown time changes."),
  ]);
}

async function setTimes(event) {
  event.preventDefault();
  const wanted = wantedTimes();
  const at = now();
  const wrong = fault(wanted, at);
  setText(byId("times-fault"), wrong);
  if (wrong || !known.sale) {
    return;
  }
  const { opens, closes } = timesWith(wanted, at);
  const change = { ...wanted, ...stateFor(opens, at) };
  if (Object.keys(change).length === 0) {
    tell(byId("operate-message"), "", say("These are the times that hold."));
    return;
  }
  if (await agreed(say("Set these times?"), timesText(change, opens, closes, at), say("Set the times"))) {
    perform(put(change), () => {
      showTimes(true);
      return say("The times are set.");
    });
  }
}

async function readLog() {
  if (!api.may("viewer")) {
    return;
  }
  const { signal } = ended;
  try {
    const entries = await readChanges();
    if (!signal.aborted) {
      showChanges(entries);
    }
  } catch (error) { // that an act was done is more than that its line cannot be read yet
    if (!signal.aborted && byId("operate-message").dataset.kind !== "good") {
      tellError(byId("operate-message"), error);
    }
  }
}
