// The page as a whole: which view is shown, the header, and the clock that all views share.

import { may, onSession } from "./api.js";
import * as buy from "./buy.js";
import { isSoon, nextChange, now, saidState, shownState } from "./clock.js";
import { announce, byId, make, setText, tell } from "./dom.js";
import { span } from "./format.js";
import * as login from "./login.js";
import { reached } from "./messages.js";
import { follow, isAway, keepTime, known, onChange } from "./store.js";
import * as wall from "./wall.js";
import { choose, language, languages, say, translate } from "./words.js";

const needs = { operate: "viewer", orders: "viewer", traffic: "viewer" }; // the role for a view that not all see
const hasChat = document.documentElement.dataset.chat === "on";
const shop = document.title; // its name
const tickEvery = 100; // ms; a countdown must not be late by more
const loadPause = 3000; // ms until a view that could not be loaded is asked for again

// later is a view that is loaded when it is shown first: the shop comes before all others.
function later(name, ...styles) {
  const load = async () => {
    const [module] = await Promise.all([import(`/web/${name}.js`), ...styles.map(addStyle)]);
    module.start?.();
    return module;
  };
  return {
    async show() {
      const isShown = () => document.body.dataset.view === name;
      const section = byId(`view-${name}`);
      section.hidden = !this.module;
      try {
        this.loading ??= load();
        this.module = await this.loading;
      } catch {
        this.loading = null;
        if (isShown()) {
          tell(byId("not-loaded"), "bad", say("This view cannot be loaded. Check your connection and try again."));
          setTimeout(() => isShown() && this.show(), loadPause);
        }
        return;
      }
      if (isShown()) {
        tell(byId("not-loaded"), "", "");
        section.hidden = false;
        this.module.show(known);
      }
    },
    tick() {
      this.module?.tick?.(known);
    },
  };
}

function addStyle(name) {
  const href = `/web/${name}.css`;
  if (document.querySelector(`link[href="${href}"]`)) {
    return null;
  }
  const link = make("link", { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((done, fail) => Object.assign(link, { onload: done, onerror: () => fail(link.remove()) }));
}

const views = { buy, live: later("live", "uplot", "views"), operate: later("operate", "views", "operate"),
  orders: later("orders", "views", "operate"), traffic: later("traffic", "uplot", "views") };

if (hasChat) {
  views.chat = later("chat", "chat");
}

// #/orders/<id> is the view orders.
const wanted = () => (wall.isOn() ? "live" : location.hash.split("/")[1] ?? "");

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
  tell(byId("not-loaded"), "", "");
  views[name].show();
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
}

// showNext keeps the countdown in the header.
function showNext() {
  const at = now();
  const next = known.sale && nextChange(known.sale, at);
  const when = byId("when");
  when.hidden = !next;
  if (next) {
    setText(when, `${next.what} ${span(next.at - at)}`);
    when.dataset.soon = isSoon(next, at);
  }
  const state = known.sale ? shownState(known.sale, at) : "";
  const before = document.body.dataset.sale ?? "";
  if (state !== before) {
    document.body.dataset.sale = state;
    document.title = `${saidState(known.sale, at)} · ${shop}`;
    if (before !== "") {
      announce(saidState(known.sale, at));
    }
  }
}

function tick() {
  showNext();
  Object.values(views).forEach((view) => view.tick());
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
buy.start();
wall.start();
login.start();
for (const element of document.querySelectorAll(".for-chat")) {
  element.hidden = !hasChat;
}
byId("login-operator").hidden = document.documentElement.dataset.operators === "off";
showTheme(window.themeOfChoice());
byId("theme").addEventListener("click", () => showTheme(window.nextTheme()));
onChange(showLink);
onChange(() => known.link === "lost" || reached());
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
