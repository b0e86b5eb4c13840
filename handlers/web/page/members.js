// The members of a group: who they are, and what its owners may change.

import { call } from "./api.js";
import { ask, byId, drawList, make, setText } from "./dom.js";
import { nameForm, Panel } from "./panel.js";
import { drop } from "./shown.js";
import { nameOf, talk, titleOf } from "./talk.js";
import { read as readThreads } from "./threads.js";
import { say } from "./words.js";

let panel = null;
let group = null; // its thread
let members = new Map(); // roles by user
let next = ""; // cursor of the next page, "" for none
let joins = -1; // of talk, when the members were read; -1 before

export function open(thread) {
  panel ??= build();
  group = thread;
  members = new Map();
  next = "";
  joins = -1;
  panel.open();
}

const pathTo = (user) => `/threads/${group.thread_id}/members/${user}`;

function build() {
  const made = new Panel("members", "", draw,
    make("ul", { id: "member-list", class: "rows", "aria-label": say("Members") }),
    make("button", { id: "members-more", type: "button" }, say("More members")),
    nameForm("member-add", say("Add by name"), say("Add"),
      (name) => act(call("PUT", pathTo(encodeURIComponent(name))))),
    make("button", { id: "member-leave", type: "button", class: "danger" }, say("Leave the group")));
  byId("members-more").addEventListener("click", () => made.attempt(readPage()));
  byId("member-leave").addEventListener("click", leave);
  byId("member-list").addEventListener("click", ({ target }) => {
    if (target.dataset.promote) {
      act(call("PUT", pathTo(target.dataset.promote), { role: "owner" }));
    } else if (target.dataset.remove) {
      removeMember(target.dataset.remove);
    }
  });
  return made;
}

// act waits for a change and reads the members again.
async function act(change) {
  const done = await panel.attempt(change);
  if (done) {
    readThreads();
    await read();
  }
  return done;
}

async function removeMember(user) {
  if (await ask(say("Remove {name}?", { name: nameOf(Number(user)) }),
    say("This member can no longer read or write in the group."), say("Remove"), true)) {
    act(call("DELETE", pathTo(user)));
  }
}

async function leave() {
  const then = say(group.members === 1 ? "You are the last member: the group ends." :
    "You can no longer read it.");
  if (await ask(say("Leave the group?"), then, say("Leave"), true) &&
    await panel.attempt(call("DELETE", pathTo("me")))) {
    panel.dialog.close();
    drop(group.thread_id);
    document.querySelector("#threads button")?.focus();
  }
}

// read reads the members anew.
function read() {
  joins = talk.joins;
  return panel.attempt(readPage(true));
}

async function readPage(anew = false) {
  const { thread_id: id } = group;
  const told = await call("GET", `/threads/${id}/members?cursor=${anew ? 0 : next}`);
  if (group.thread_id === id) {
    members = new Map([...(anew ? [] : members), ...told.members.map(({ user_id: user, role }) => [user, role])]);
    next = told.next;
    draw();
  }
}

const rows = new Map(); // by user

function draw() {
  const thread = talk.threads.get(group.thread_id);
  if (!thread) { // the user was removed
    panel.dialog.close();
    return;
  }
  group = thread;
  setText(panel.title, titleOf(group));
  if (joins !== talk.joins) {
    read();
  }
  const isOwner = members.get(talk.user) === "owner";
  const wanted = [...members].map(([user, role]) => ({ user, role, name: nameOf(user) }))
    .sort((a, b) => b.role.localeCompare(a.role) || a.name.localeCompare(b.name)); // owners first
  drawList(byId("member-list"), rows, wanted.map((m) => [m.user, m]), newRow, (row, { user, role, name: called }) => {
    const [name, label, buttons] = row.children;
    setText(name, user === talk.user ? say("{name} (you)", { name: called }) : called);
    setText(label, role === "owner" ? say("owner") : "");
    buttons.hidden = !isOwner || user === talk.user;
    buttons.firstChild.hidden = role === "owner";
  });
  byId("members-more").hidden = next === "";
  byId("member-add").hidden = !isOwner;
}

const newRow = (user) => make("li", { class: "member" }, make("span", { class: "name" }),
  make("span", { class: "muted" }), make("span", { class: "buttons" },
    make("button", { type: "button", "data-promote": user }, say("Make owner")),
    make("button", { type: "button", class: "danger", "data-remove": user }, say("Remove"))));
