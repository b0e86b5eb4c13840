// The traffic explorer, for root: hits of a key over time.

import * as api from "./api.js";
import { chart } from "./charts.js";
import { bars, byId, make, setText, tell } from "./dom.js";
import { count, number, upToMinute, zone } from "./format.js";
import { tellError } from "./messages.js";

const usualKey = "call:POST /orders:2xx";

let plot = null;
let points = []; // [seconds, hits, approximate] of the curve shown
let asked = 0; // counts questions; the answer to an older one is not shown

export function start() {
  byId("traffic-key").value = usualKey;
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
  byId("traffic-key").value = usualKey;
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
  const key = byId("traffic-key").value.trim() || usualKey;
  tell(byId("traffic-state"), "", "Reading…");
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
    tell(byId("traffic-state"), "", `${key}, in steps of ${curve.value.step}`);
    setText(byId("traffic-total"), count(curve.value.total, "hit"));
    draw(curve.value.points.map(({ at, hits, approximate }) => [Date.parse(at) / 1000, hits, approximate]));
  } catch (error) {
    setText(byId("traffic-total"), "");
    tellError(byId("traffic-state"), error);
  }
}

function draw(curve) {
  points = curve;
  plot ??= chart(byId("traffic-chart"), { bars: true, onPoint: showPoint });
  plot.setData([points.map(([at]) => at), points.map(([, hits]) => hits)]);
  const most = Math.max(0, ...points.map(([, hits]) => hits ?? 0));
  byId("traffic-chart").setAttribute("aria-label", `Hits over time: ${points.length} steps, at most ${most}`);
  byId("traffic-table").tBodies[0].replaceChildren(...points.map(([at, hits, approximate]) =>
    make("tr", {}, make("td", {}, upToMinute(at)),
      make("td", { class: "num" }, hits === null ? "no data" : (approximate ? "≈ " : "") + number(hits)))));
}

function showPoint(i) {
  const point = i === null ? undefined : points[i];
  setText(byId("traffic-point"), point ? `${upToMinute(point[0])}: ${number(point[1])}` : "");
}

function showTop(keys) {
  byId("traffic-keys").replaceChildren(...keys.map(({ key }) => make("option", { value: key })));
  bars(byId("traffic-top"), keys.map(({ key, hits }) => [key, hits]), number);
  for (const line of byId("traffic-top").children) { // the name becomes a button
    line.firstElementChild.replaceWith(make("button", { type: "button", class: "plain" },
      line.firstElementChild.textContent));
  }
}
