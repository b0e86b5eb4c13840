// The page as a whole: which view is shown, the header, and the clock that all views share.

import { may, onSession } from "./api.js";
import * as buy from "./buy.js";
import { redraw } from "./charts.js";
import { nextChange, now, shownState } from "./clock.js";
import { announce, byId, setText, tell } from "./dom.js";
import { span } from "./format.js";
import * as live from "./live.js";
import * as login from "./login.js";
import * as operate from "./operate.js";
import * as orders from "./orders.js";
import { follow, isAway, keepTime, known, onChange } from "./store.js";
import * as traffic from "./traffic.js";
import { choose, language, languages, say, translate } from "./words.js";

const views = { live, buy, operate, orders, traffic };
const needs = { operate: "operator", orders: "viewer", traffic: "viewer" }; // the role for a view that not all see
const hasChat = document.documentElement.dataset.chat === "on";
const tickEvery = 100; // ms; a countdown must not be late by more
const soon = 10_000; // ms to the opening or the end from which on the countdown stands out

// The chat is loaded when it is opened: the sale comes first.
const chat = {
  show() {
    this.loading ??= import("/web/chat.js");
    this.loading.then((module) => module.show(), () => {
      tell(byId("chat-message"), "bad", "The chat cannot be loaded. Check your connection and load the page again.");
    });
  },
};

if (hasChat) {
  views.chat = chat;
}

const wanted = () => location.hash.split("/")[1] ?? ""; // #/orders/<id> is the view orders

function showView() {
  let name = wanted();
  if (!(name in views) || (name in needs && !may(needs[name]))) {
    name = "buy";
  }
  for (const other of Object.keys(views)) {
    byId(`view-${other}`).hidden = other !== name;
  }
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${name}`) {
      link.setAttribute("aria-current", "page");
    } else {
      link.removeAttribute("aria-current");
    }
  }
  document.body.dataset.view = name;
  views[name].show(known);
}

function toContent() {
  byId("main").focus({ preventScroll: true });
  scrollTo(0, 0);
}

const linkTexts = { connecting: "Connecting", live: "Connected", away: "Reconnecting", lost: "Offline",
  off: "No live figures" };
let linkBefore = "connecting";

function showLink() {
  const link = isAway() ? "away" : known.link;
  byId("link").dataset.link = link;
  setText(byId("link"), say(linkTexts[link]));
  const wait = Math.max(0, Math.ceil((known.retryAt - performance.now()) / 1000));
  byId("lost").hidden = link !== "lost" && link !== "off";
  setText(byId("lost"), link === "off" ? say("This server sends no live figures. The state is read now and then.") :
    wait > 0 ? say("The live connection is lost: the figures are old. Trying again in {wait} s.", { wait }) :
      say("The live connection is lost: the figures are old. Trying again now."));
  if (link !== linkBefore) {
    if (link === "lost") {
      announce(say("The live connection is lost."));
    } else if (link === "live" && linkBefore === "lost") {
      announce(say("The live connection is back."));
    }
    linkBefore = link;
  }
}

function showTheme(theme) {
  setText(byId("theme-name"), say(theme));
  redraw();
}

// showNext keeps the countdown in the header.
function showNext() {
  const at = now();
  const next = known.sale && nextChange(known.sale, at);
  const when = byId("when");
  when.hidden = !next;
  if (next) {
    setText(when, `${next.what} ${span(next.at - at)}`);
    when.dataset.soon = next.at - at <= soon;
  }
  document.body.dataset.sale = known.sale ? shownState(known.sale, at) : "";
}

function tick() {
  showNext();
  live.tick(known);
  buy.tick();
  operate.tick();
  if (known.link === "lost") {
    showLink();
  }
}

document.documentElement.lang = language;
translate(document.body);
const other = Object.keys(languages).find((name) => name !== language);
setText(byId("language"), languages[other]);
byId("language").lang = other;
byId("language").addEventListener("click", () => choose(other));
live.start();
buy.start();
operate.start();
orders.start();
traffic.start();
login.start();
for (const element of document.querySelectorAll(".for-chat")) {
  element.hidden = !hasChat;
}
byId("login-operator").hidden = document.documentElement.dataset.operators === "off";
showTheme(window.themeOfChoice());
byId("theme").addEventListener("click", () => showTheme(window.nextTheme()));
onChange(showLink);
onSession(showView);
addEventListener("hashchange", () => {
  showView();
  toContent();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash names the view
  toContent();
});
showView();
follow();
keepTime();
setInterval(tick, tickEvery);
