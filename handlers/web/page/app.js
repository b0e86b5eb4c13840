// The page as a whole: which view is shown, the header, and the clock that all views share.

import { isRoot, onSession } from "./api.js";
import * as buy from "./buy.js";
import { redraw } from "./charts.js";
import { announce, byId, setText, tell } from "./dom.js";
import * as live from "./live.js";
import * as login from "./login.js";
import * as operate from "./operate.js";
import * as orders from "./orders.js";
import { follow, isAway, keepTime, known, onChange } from "./store.js";
import * as traffic from "./traffic.js";

const views = { live, buy, operate, orders, traffic };
const publicViews = ["live", "buy"];
const hasChat = document.documentElement.dataset.chat === "on";
const tickEvery = 100; // ms; a countdown must not be late by more

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
  publicViews.push("chat");
}

const wanted = () => location.hash.replace(/^#\//, "");

function showView() {
  let name = wanted();
  if (!(name in views) || (!isRoot() && !publicViews.includes(name))) {
    name = "live";
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
  setText(byId("link"), linkTexts[link]);
  const wait = Math.max(0, Math.ceil((known.retryAt - performance.now()) / 1000));
  byId("lost").hidden = link !== "lost" && link !== "off";
  setText(byId("lost"), link === "off" ? "This server sends no live figures. The state is read now and then." :
    `The live connection is lost: the figures are old. Trying again ${wait > 0 ? `in ${wait} s` : "now"}.`);
  if (link !== linkBefore) {
    if (link === "lost") {
      announce("The live connection is lost.");
    } else if (link === "live" && linkBefore === "lost") {
      announce("The live connection is back.");
    }
    linkBefore = link;
  }
}

function showTheme(theme) {
  setText(byId("theme-name"), theme);
  redraw();
}

function tick() {
  live.tick(known);
  buy.tick();
  operate.tick();
  if (known.link === "lost") {
    showLink();
  }
}

live.start();
buy.start();
operate.start();
orders.start();
traffic.start();
login.start();
for (const element of document.querySelectorAll(".for-chat")) {
  element.hidden = !hasChat;
}
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
