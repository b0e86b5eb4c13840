// The form by which a group is made, of contacts and of others by name.

import { newKey } from "./api.js";
import { sorted } from "./contacts.js";
import { byId, drawList, make, setText } from "./dom.js";
import { nameForm, Panel } from "./panel.js";
import { meet } from "./people.js";
import { start } from "./shown.js";
import { nameOf, talk } from "./talk.js";
import { enter } from "./thread.js";
import { say, sayCount } from "./words.js";

let panel = null;
let key = ""; // the same group, however often it is sent
const chosen = new Set(); // users

export function open() {
  panel ??= build();
  chosen.clear();
  key = newKey();
  byId("group-history").checked = false;
  panel.open();
}

function build() {
  const made = new Panel("group", say("New group"), draw,
    make("ul", { id: "group-list", class: "rows", "aria-label": say("Members") }),
    nameForm("group-add", say("Add by name"), say("Add"), (name) =>
      made.attempt(meet(name).then(({ user_id: user }) => choose(user, true)))),
    make("label", { class: "check" }, make("input", { id: "group-history", type: "checkbox" }),
      say("New members see what was before")),
    make("button", { id: "group-make", type: "button", class: "primary" }));
  byId("group-list").addEventListener("change", (event) => choose(Number(event.target.value), event.target.checked));
  byId("group-history").addEventListener("change", () => { key = newKey(); });
  byId("group-make").addEventListener("click", submit);
  return made;
}

// choose has a user be a member or not: it is another group then.
function choose(user, is) {
  if (is) {
    chosen.add(user);
  } else {
    chosen.delete(user);
  }
  key = newKey();
  draw();
}

async function submit() {
  const what = { participants: [...chosen], group: true, history: byId("group-history").checked, key };
  if (await panel.attempt(start(what))) {
    panel.dialog.close();
    enter();
  }
}

const rows = new Map(); // by user

function draw() {
  const users = sorted().filter(({ blocked }) => !blocked).map(({ user_id: user }) => [user, user]);
  drawList(byId("group-list"), rows, users, (user) => make("li", {}, make("label", { class: "check" },
    make("input", { type: "checkbox", value: user }), make("span", { class: "name" }))), (row, user) => {
    const [box, name] = row.firstChild.children;
    box.checked = chosen.has(user);
    setText(name, nameOf(user));
  });
  byId("group-list").hidden = talk.contacts.size === 0;
  byId("group-make").disabled = chosen.size === 0;
  setText(byId("group-make"), chosen.size ? sayCount(chosen.size, "Start with {n} other", "Start with {n} others") :
    say("Start"));
}
