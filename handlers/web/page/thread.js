// The shown thread: its messages, the form to write, and the user's settings of it.

import { session } from "./api.js";
import { attempt } from "./attempt.js";
import { announce, byId, drawList, make, setText } from "./dom.js";
import { moment } from "./format.js";
import { reasonOf } from "./messages.js";
import { mayModerate, moderate } from "./moderate.js";
import { open, readOlder, see, send, write } from "./shown.js";
import { isBlocked, isOnline, isRoom, nameOf, other, talk, titleOf } from "./talk.js";
import { change } from "./threads.js";
import { say, sayCount } from "./words.js";

const contentMax = 4096; // bytes
const nearEnd = 40; // pixels

export function build() {
  const box = (id, attributes, ...children) => make("div", { id, ...attributes }, ...children);
  return make("div", { id: "thread", class: "card thread" },
    make("p", { id: "thread-none", class: "muted" }, say("Choose a conversation.")),
    box("thread-head", { class: "row" },
      make("button", { id: "thread-back", type: "button", class: "plain" }, say("All conversations")),
      make("h2", { id: "thread-name", tabindex: "-1" }), make("p", { id: "thread-status", class: "muted" }),
      make("details", { id: "thread-settings" }, make("summary", {}, say("Settings")),
        make("label", { class: "check" }, make("input", { id: "thread-muted", type: "checkbox" }),
          say("Mute: do not count its messages")),
        make("form", { id: "rename" },
          make("label", {}, say("Name for me"),
            make("input", { id: "nickname", maxlength: "64", autocomplete: "off" })),
          make("button", { type: "submit" }, say("Save"))),
        make("button", { id: "thread-people", type: "button" }))),
    make("p", { id: "pinned", class: "message" }),
    box("past", { class: "past", tabindex: "0", role: "log", "aria-label": say("Messages") },
      make("button", { id: "older", type: "button", class: "plain" }, say("Older messages")),
      make("ol", { id: "messages", class: "messages" })),
    make("button", { id: "to-end", type: "button", class: "plain" }, say("Newest messages")),
    make("form", { id: "compose" },
      make("label", { class: "unseen", for: "content" }, say("Message")),
      make("textarea", { id: "content", rows: "2", maxlength: contentMax, required: "",
        placeholder: say("Write a message") }),
      make("button", { type: "submit", class: "primary" }, say("Send"))));
}

export function start() {
  byId("thread-back").addEventListener("click", back);
  byId("thread-muted").addEventListener("change", (event) =>
    attempt(change(talk.open, { is_muted: event.target.checked })));
  byId("rename").addEventListener("submit", rename);
  byId("older").addEventListener("click", older);
  byId("to-end").addEventListener("click", () => {
    toEnd();
    byId("past").focus();
  });
  byId("past").addEventListener("scroll", scrolled, { passive: true });
  byId("compose").addEventListener("submit", submit);
  byId("content").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      byId("compose").requestSubmit();
    }
  });
  byId("messages").addEventListener("click", (event) => {
    const { again, moderate: id } = event.target.dataset;
    const sent = talk.past.waiting.find(({ key }) => key === again);
    const message = talk.past.messages.find((m) => String(m.id) === id);
    if (sent) {
      send(sent);
    } else if (message) {
      moderate(message);
    }
  });
}

const isShown = () => document.body.dataset.view === "chat" && !document.hidden;

function isAtEnd() {
  const past = byId("past");
  return past.scrollHeight - past.scrollTop - past.clientHeight < nearEnd;
}

const toEnd = () => byId("past").scrollTo(0, byId("past").scrollHeight);

function scrolled() {
  if (byId("past").scrollTop === 0 && talk.past.hasOlder) {
    older();
  }
  drawEnd();
}

let reading = false;

async function older() {
  if (!reading) {
    reading = true;
    await attempt(readOlder());
    reading = false;
  }
}

function back() {
  const id = talk.open.thread_id;
  open(null);
  byId("view-chat").dataset.shows = "list";
  document.querySelector(`[data-thread="${CSS.escape(id)}"]`)?.focus();
}

// enter moves the focus to a thread that was chosen.
export function enter() {
  draw();
  byId("view-chat").dataset.shows = "thread";
  (session && matchMedia("(min-width: 720px)").matches ? byId("content") : byId("thread-name")).focus();
}

async function rename(event) {
  event.preventDefault();
  if (await attempt(change(talk.open, { nickname: byId("nickname").value.trim() }))) {
    byId("thread-settings").open = false;
    byId("thread-name").focus();
  }
}

function submit(event) {
  event.preventDefault();
  const field = byId("content");
  const content = field.value.trim();
  field.setCustomValidity("");
  if (new TextEncoder().encode(content).length > contentMax) {
    field.setCustomValidity(say("This message is too long: at most 4096 bytes."));
    field.reportValidity();
  } else if (content !== "") {
    field.value = "";
    write(content);
    toEnd();
  }
  field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
}

let shown = null; // the thread that is drawn

export function draw() {
  const { open: thread, past } = talk;
  for (const part of ["thread-head", "past", "compose"]) {
    byId(part).hidden = !thread;
  }
  byId("thread-none").hidden = thread !== null;
  if (!thread) {
    shown = null;
    setText(byId("pinned"), "");
    byId("to-end").hidden = true;
    return;
  }
  const another = shown !== thread.thread_id;
  const end = another || isAtEnd();
  if (another) {
    shown = thread.thread_id;
    items.clear();
    byId("messages").replaceChildren();
    byId("nickname").value = thread.nickname ?? "";
    byId("thread-settings").open = false;
    byId("content").value = "";
  }
  drawHead(thread);
  if (end) {
    past.forget();
  }
  const fromEnd = byId("past").scrollHeight - byId("past").scrollTop;
  const oldest = byId("messages").firstElementChild;
  drawMessages(past);
  byId("older").hidden = !past.hasOlder;
  if (end) {
    toEnd();
  } else if (oldest !== byId("messages").firstElementChild) { // older ones came: what was read stays in place
    byId("past").scrollTop = byId("past").scrollHeight - fromEnd;
  }
  drawEnd();
}

// drawEnd shows whether there is more below. What was in sight is read.
function drawEnd() {
  const end = isAtEnd();
  byId("to-end").hidden = end;
  if (end && isShown()) {
    see();
  }
}

function drawHead(thread) {
  const room = isRoom(thread);
  const peer = room ? 0 : other(thread);
  setText(byId("thread-name"), titleOf(thread));
  setText(byId("thread-status"), room ? say("Everybody reads here") :
    peer ? statusOf(peer) : sayCount(thread.members, "{n} member", "{n} members"));
  setText(byId("thread-people"), peer ? say("About {name}", { name: nameOf(peer) }) : say("Members"));
  byId("thread-settings").hidden = room;
  byId("thread-muted").checked = thread.is_muted ?? false;
  byId("compose").hidden = !session;
  setText(byId("pinned"), thread.pinned ? say("Pinned: {text}", { text: thread.pinned.content }) : "");
}

// statusOf tells whether the other one is here; "" where that is not known.
function statusOf(user) {
  const { last_seen: seen } = talk.online.get(user) ?? {};
  if (isBlocked(user)) {
    return say("blocked by you");
  }
  if (isOnline(user) === null) {
    return "";
  }
  return isOnline(user) ? say("online") : seen ? say("last seen {time}", { time: moment(seen) }) : say("offline");
}

const items = new Map(); // the drawn messages, by id or key

function drawMessages(past) {
  drawList(byId("messages"), items,
    [...past.messages.map((m) => [m.id, m]), ...past.shown.map((w) => [w.key, w])], newItem,
    (item, message) => (message.key ? drawWaiting(item, message) : drawStored(item, message)));
}

const newItem = () => make("li", {}, make("span", { class: "by" }), make("p", { dir: "auto" }),
  make("span", { class: "when" }));

function drawStored(item, message) {
  const [by, text, when] = item.children;
  const own = session !== null && message.user_id === session.user;
  const gone = message.removed;
  item.dataset.id = message.id;
  item.dataset.own = own;
  setText(by, gone ? "" : own ? say("You") : nameOf(message.user_id));
  setText(text, gone ? say("This message was removed.") : message.content);
  text.className = gone ? "muted" : "";
  setText(when, gone ? "" : moment(message.created_at));
  const button = item.querySelector("[data-moderate]");
  if (!button && !gone && mayModerate()) {
    item.append(make("button", { type: "button", class: "plain", "data-moderate": message.id },
      say("Moderate")));
  } else if (button && gone) {
    button.remove();
  }
}

function drawWaiting(item, sent) {
  const [by, text, when] = item.children;
  item.dataset.own = true;
  item.dataset.waiting = sent.failed ? "failed" : "sending";
  setText(by, say("You"));
  setText(text, sent.content);
  if (!sent.failed) {
    setText(when, say("Sending…"));
  } else if (!when.querySelector("button")) {
    const again = make("button", { type: "button", "data-again": sent.key }, say("Send again"));
    when.replaceChildren(`${say("Not sent.")} ${reasonOf(sent.failed)} `, again);
    announce(say("A message was not sent."));
  }
}
