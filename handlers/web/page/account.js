// What people do with their own login: another password, and the end of all sessions.

import { endSessions, session, setPassword } from "./api.js";
import { announce, ask, byId, make } from "./dom.js";
import { Panel } from "./panel.js";
import { say } from "./words.js";

const firstRegistered = 2 ** 31; // the users below are of the catalogue, and so are their passwords

let panel = null;

export function open() {
  panel ??= build();
  byId("password-form").reset();
  panel.open();
}

function draw() {
  const registered = session?.user >= firstRegistered; // operators are not
  byId("password-form").hidden = !registered;
  byId("password-fixed").hidden = registered;
}

function build() {
  const field = (id, name, autocomplete, attributes = {}) => make("label", {}, name,
    make("input", { id, type: "password", autocomplete, required: "", ...attributes }));
  const made = new Panel("own", say("Account"), draw,
    make("form", { id: "password-form" },
      make("input", { autocomplete: "username", hidden: "", id: "password-user" }),
      field("password-old", say("Password"), "current-password"),
      field("password-new", say("New password, at least 8 characters"), "new-password", { minlength: "8" }),
      make("p", { class: "muted" }, say("All your other sessions end.")),
      make("button", { type: "submit", class: "primary" }, say("Change the password"))),
    make("p", { id: "password-fixed", class: "muted" },
      say("Your password was given to you and cannot be changed here.")),
    make("button", { id: "end-sessions", type: "button", class: "danger" }, say("End all sessions")));
  byId("password-form").addEventListener("submit", change);
  byId("end-sessions").addEventListener("click", endAll);
  return made;
}

async function change(event) {
  event.preventDefault();
  byId("password-user").value = session.name;
  event.submitter.disabled = true;
  if (await panel.attempt(setPassword(byId("password-old").value, byId("password-new").value))) {
    panel.dialog.close();
    announce(say("The password is changed."));
  }
  byId("password-form").reset();
  event.submitter.disabled = false;
}

async function endAll() {
  if (await ask(say("End all sessions?"),
    say("On all devices, also on this one. Whoever uses your login has to log in again."),
    say("End all sessions"), true)) {
    await panel.attempt(endSessions());
  }
}
