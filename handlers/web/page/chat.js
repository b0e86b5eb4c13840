// The chat view: the list of threads beside the shown one. It is loaded when the view is opened first.

import { operator, session } from "./api.js";
import { attempt } from "./attempt.js";
import * as contacts from "./contacts.js";
import { byId, drawList, make, setText } from "./dom.js";
import * as group from "./group.js";
import * as line from "./line.js";
import * as members from "./members.js";
import { nameForm } from "./panel.js";
import { setVisible } from "./people.js";
import * as register from "./register.js";
import { open, talkTo } from "./shown.js";
import { isOnline, isRoom, listed, onTalk, other, talk, titleOf, unread } from "./talk.js";
import * as thread from "./thread.js";
import { readOlder } from "./threads.js";
import { say, sayCount } from "./words.js";

const links = {
  connecting: "Connecting",
  live: "Live: messages arrive at once",
  poll: "Not live: looks for messages every 10 seconds",
};

// show is called whenever the view is entered or the login changes.
export const show = () => draw();

export function start() {
  build();
  onTalk(draw);
  thread.start();
  line.start();
}

function build() {
  const button = (id, text) => make("button", { id, type: "button" }, say(text));
  byId("view-chat").append(make("div", { id: "chat", class: "talk" },
    make("div", { class: "card threads" },
      make("h2", {}, say("Conversations")),
      make("ul", { id: "threads", "aria-label": say("Conversations") }),
      button("threads-older", "Older conversations"),
      make("div", { id: "chat-own" }, nameForm("talk-form", say("Write to"), say("Start"), write),
        make("div", { class: "buttons" }, button("new-group", "New group"), button("open-contacts", "Contacts")),
        make("label", { class: "check" },
          make("input", { id: "visible", type: "checkbox" }), say("Others see when I am online"))),
      make("div", { id: "chat-welcome", class: "welcome-chat" },
        make("p", { id: "chat-why" }),
        make("div", { id: "chat-enter", class: "buttons" },
          make("button", { id: "chat-log-in", type: "button", class: "primary" }, say("Log in")),
          button("chat-register", "Register")))),
    thread.build()));
  byId("new-group").addEventListener("click", group.open);
  byId("open-contacts").addEventListener("click", contacts.open);
  byId("thread-people").addEventListener("click", showPeople);
  byId("threads-older").addEventListener("click", () => attempt(readOlder()));
  byId("visible").addEventListener("change", (event) => attempt(setVisible(event.target.checked)));
  byId("chat-log-in").addEventListener("click", () => byId("log-in").click());
  byId("chat-register").addEventListener("click", register.open);
  byId("threads").addEventListener("click", choose);
}

// write opens the thread with a user.
async function write(name) {
  const found = await attempt(talkTo(name));
  if (found) {
    thread.enter();
  }
  return found;
}

// showPeople shows whom the shown thread is with.
function showPeople() {
  const peer = other(talk.open);
  if (peer) {
    contacts.openOne(peer);
  } else {
    members.open(talk.open);
  }
}

function choose(event) {
  const id = event.target.closest("button")?.dataset.thread;
  const chosen = talk.threads.get(id) ?? (id === talk.room?.thread_id ? talk.room : null);
  if (chosen) {
    open(chosen);
    thread.enter();
  }
}

function draw() {
  const loggedIn = session !== null;
  setText(byId("chat-state"), say(links[talk.link]));
  byId("chat-state").dataset.link = talk.link;
  byId("view-chat").dataset.shows = talk.open ? "thread" : "list";
  byId("chat-welcome").hidden = loggedIn;
  byId("chat-enter").hidden = operator !== null;
  setText(byId("chat-why"), say(operator ? "Operators do not write here." :
    "Log in to write. Who has no account can register."));
  byId("chat-own").hidden = !loggedIn;
  byId("threads-older").hidden = talk.before === 0;
  byId("visible").checked = talk.visible;
  const rooms = talk.room ? [talk.room] : [];
  drawList(byId("threads"), rows, [...rooms, ...listed()].map((t) => [t.thread_id, t]), newRow, drawRow);
  const n = unread();
  const link = document.querySelector('nav a[href="#/chat"]');
  setText(link, n > 0 ? `${say("Chat")} (${n})` : say("Chat"));
  thread.draw();
}

const rows = new Map(); // of the list, by thread

const newRow = (id) => make("li", {}, make("button", { type: "button", "data-thread": id, class: "plain" },
  make("span", { class: "dot", "aria-hidden": "true" }), make("span", { class: "name" }),
  make("span", { class: "unseen status" }), make("span", { class: "count" })));

function drawRow(row, t) {
  const button = row.firstChild;
  const [dot, name, status, badge] = button.children;
  const peer = isRoom(t) ? 0 : other(t);
  const online = isOnline(peer);
  dot.dataset.online = online ?? "none";
  setText(name, titleOf(t));
  const told = [online === null ? "" : say(online ? "online" : "offline"), t.is_muted ? say("muted") : ""];
  setText(status, told.map((each) => each && `, ${each}`).join(""));
  const n = isRoom(t) ? 0 : t.unread;
  setText(badge, n > 0 ? (n > 99 ? "99+" : String(n)) : "");
  badge.title = n > 0 ? sayCount(n, "{n} unread message", "{n} unread messages") : "";
  row.dataset.muted = t.is_muted ?? false;
  if (talk.open?.thread_id === t.thread_id) {
    button.setAttribute("aria-current", "true");
  } else {
    button.removeAttribute("aria-current");
  }
}
