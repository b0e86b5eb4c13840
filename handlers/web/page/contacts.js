// The contacts: who they are, and what the user has decided about each.

import { ask, byId, drawList, make, setText } from "./dom.js";
import { moment } from "./format.js";
import { nameForm, Panel } from "./panel.js";
import { change, meet, remove } from "./people.js";
import { talkTo } from "./shown.js";
import { isOnline, nameOf, talk } from "./talk.js";
import { enter } from "./thread.js";
import { say } from "./words.js";

let list = null; // the panel of all contacts
let one = null; // of one
let shown = 0; // that one

export function open() {
  list ??= buildList();
  list.open();
}

function buildList() {
  const panel = new Panel("contacts", say("Contacts"), drawContacts,
    make("p", { id: "no-contacts", class: "muted" }, say("Nobody yet. Add somebody by name.")),
    make("ul", { id: "contact-list", class: "rows", "aria-labelledby": "contacts-title" }),
    nameForm("contact-add", say("Add by name"), say("Add"), (name) => panel.attempt(meet(name))));
  byId("contact-list").addEventListener("click", (event) => {
    const user = event.target.closest("button")?.dataset.user;
    if (user) {
      openOne(Number(user));
    }
  });
  return panel;
}

// sorted are the contacts by name.
export const sorted = () => [...talk.contacts.values()]
  .sort((a, b) => nameOf(a.user_id).localeCompare(nameOf(b.user_id)));

const rows = new Map(); // by user

function drawContacts() {
  byId("no-contacts").hidden = talk.contacts.size > 0;
  drawList(byId("contact-list"), rows, sorted().map((contact) => [contact.user_id, contact]), (user) =>
    make("li", {}, make("button", { type: "button", class: "plain", "data-user": user },
      make("span", { class: "dot", "aria-hidden": "true" }), make("span", { class: "name" }),
      make("span", { class: "muted" }))), drawContact);
}

function drawContact(row, contact) {
  const [dot, name, status] = row.firstChild.children;
  const online = isOnline(contact.user_id);
  dot.dataset.online = contact.blocked ? "none" : online ?? "none";
  setText(name, nameOf(contact.user_id));
  setText(status, contact.blocked ? say("blocked") : online ? say("online") : "");
}

// openOne shows one contact; a user who is none yet becomes one.
export async function openOne(user) {
  one ??= buildOne();
  shown = user;
  one.open();
  byId("contact-nickname").value = talk.contacts.get(user)?.nickname ?? "";
  if (!talk.contacts.has(user)) {
    await one.attempt(meet(user));
  }
}

function buildOne() {
  const panel = new Panel("contact", "", drawOne,
    make("p", { id: "contact-about", class: "muted" }),
    make("form", { id: "contact-rename", class: "line" },
      make("label", {}, say("Name for me"),
        make("input", { id: "contact-nickname", maxlength: "64", autocomplete: "off" })),
      make("button", { type: "submit" }, say("Save"))),
    make("label", { class: "check" }, make("input", { id: "contact-blocked", type: "checkbox" }),
      say("Blocked: neither of us writes to the other")),
    make("div", { class: "buttons" },
      make("button", { id: "contact-write", type: "button", class: "primary" }, say("Write")),
      make("button", { id: "contact-remove", type: "button", class: "danger" }, say("Remove"))));
  byId("contact-rename").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await panel.attempt(change(shown, { nickname: byId("contact-nickname").value.trim() }))) {
      panel.dialog.close();
    }
  });
  byId("contact-blocked").addEventListener("change", (event) =>
    panel.attempt(change(shown, { blocked: event.target.checked })));
  byId("contact-write").addEventListener("click", async () => {
    if (await panel.attempt(talkTo(shown))) {
      panel.dialog.close();
      list?.dialog.close();
      enter();
    }
  });
  byId("contact-remove").addEventListener("click", async () => {
    const text = say("Your name for this person is forgotten, and a block ends. The conversation stays.");
    const title = say("Remove {name}?", { name: nameOf(shown) });
    if (await ask(title, text, say("Remove")) && await panel.attempt(remove(shown))) {
      panel.dialog.close();
    }
  });
  return panel;
}

function drawOne() {
  const contact = talk.contacts.get(shown);
  const { last_seen: seen } = talk.online.get(shown) ?? {};
  setText(one.title, nameOf(shown));
  const registered = contact?.nickname ? say("Registered as {name}.", { name: contact.username }) : "";
  const presence = isOnline(shown) === null ? "" : isOnline(shown) ? say("Online now.") :
    seen ? say("Last seen {time}.", { time: moment(seen) }) : say("Offline.");
  setText(byId("contact-about"), `${registered} ${presence}`.trim());
  byId("contact-blocked").checked = contact?.blocked ?? false;
  byId("contact-remove").disabled = !contact;
}
