// The traffic explorer, for root: hits of a key over time.

import * as api from "./api.js";
import { byKeys, chart } from "./charts.js";
import { bars, byId, make, setText, tell } from "./dom.js";
import { number, upToMinute, zone } from "./format.js";
import { wordsOf } from "./hits.js";
import { tellError } from "./messages.js";
import { known } from "./store.js";
import { say } from "./words.js";

const usualKey = "call:POST /orders:2xx";

let plot = null;
let keys = new Map(); // by their words
let points = []; // [seconds, hits, approximate] of the curve shown
let asked = 0; // counts questions; the answer to an older one is not shown

export function start() {
  byId("traffic-key").value = wordsOf(usualKey);
  byId("traffic-key").addEventListener("change", show);
  byId("traffic-again").addEventListener("click", show);
  for (const range of document.querySelectorAll("input[name=range]")) {
    range.addEventListener("change", show);
  }
  byId("traffic-top").addEventListener("click", (event) => {
    const name = event.target.closest("li")?.firstElementChild.textContent;
    if (name) {
      byId("traffic-key").value = name;
      show();
    }
  });
  api.onSession((session) => session || leave());
}

// leave empties the view.
function leave() {
  asked++;
  byId("traffic-key").value = wordsOf(usualKey);
  tell(byId("traffic-state"), "", "");
  setText(byId("traffic-total"), "");
  showTop([]);
  if (plot) {
    draw([]);
    showPoint(null);
  }
}

const range = () => document.querySelector("input[name=range]:checked").value;

// show is called whenever the view is entered or another curve is wanted.
export async function show() {
  const question = ++asked;
  const words = byId("traffic-key").value.trim() || wordsOf(usualKey);
  const key = words === wordsOf(usualKey) ? usualKey : keys.get(words) ?? words;
  if (key === usualKey && known.sale?.orders === 0) { // nobody has counted it yet
    draw([]);
    setText(byId("traffic-total"), "");
    tell(byId("traffic-state"), "", say("No orders yet"));
    return;
  }
  tell(byId("traffic-state"), "", say("Reading…"));
  try {
    const [curve, top] = await Promise.allSettled([
      api.call("GET", `/traffic?${new URLSearchParams({ key, last: range(), tz: zone })}`),
      api.call("GET", "/traffic/top?last=24h&n=20")]);
    if (question !== asked) {
      return;
    }
    showTop(top.value?.keys ?? []);
    if (curve.status === "rejected") {
      draw([]);
      throw curve.reason;
    }
    tell(byId("traffic-state"), "", say("{what}, in steps of {step}", { what: wordsOf(key), step: curve.value.step }));
    setText(byId("traffic-total"), say("{n} times", { n: number(curve.value.total) }));
    draw(curve.value.points.map(({ at, hits, approximate }) => [Date.parse(at) / 1000, hits, approximate]));
  } catch (error) {
    setText(byId("traffic-total"), "");
    tellError(byId("traffic-state"), error);
  }
}

function draw(curve) {
  points = curve;
  if (!plot) {
    plot = chart(byId("traffic-chart"), { bars: true, onPoint: showPoint });
    byKeys(byId("traffic-chart"), () => plot, pointText);
  }
  plot.setData([points.map(([at]) => at), points.map(([, hits]) => hits)]);
  byId("traffic-table").tBodies[0].replaceChildren(...points.map(([at, hits, approximate]) =>
    make("tr", {}, make("td", {}, upToMinute(at)), make("td", { class: "num" },
      hits === null ? say("no data") : (approximate ? "≈ " : "") + number(hits)))));
}

const pointText = (i) => (points[i] ? `${upToMinute(points[i][0])}: ${number(points[i][1])}` : "");
const showPoint = (i) => setText(byId("traffic-point"), i === null ? "" : pointText(i));

function showTop(top) {
  const list = top.map(({ key, hits }) => [wordsOf(key), hits, key]);
  keys = new Map(list.map(([words, , key]) => [words, key]));
  byId("traffic-keys").replaceChildren(...list.map(([words]) => make("option", { value: words })));
  bars(byId("traffic-top"), list, number);
  for (const line of byId("traffic-top").children) { // the name becomes a button
    line.firstElementChild.replaceWith(make("button", { type: "button", class: "plain" },
      line.firstElementChild.textContent));
  }
}
