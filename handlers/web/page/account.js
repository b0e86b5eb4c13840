// What users do with their own account: another password, and the end of all logins.

import { logOutEverywhere, session, setPassword } from "./api.js";
import { announce, ask, byId, make } from "./dom.js";
import { Panel } from "./panel.js";

const firstRegistered = 2 ** 31; // the users below are of the catalogue, and so are their passwords

let panel = null;

export function open() {
  panel ??= build();
  byId("password-form").reset();
  panel.open();
}

function draw() {
  const registered = session.user >= firstRegistered;
  byId("password-form").hidden = !registered;
  byId("password-fixed").hidden = registered;
}

function build() {
  const field = (id, name, autocomplete, attributes = {}) => make("label", {}, name,
    make("input", { id, type: "password", autocomplete, required: "", ...attributes }));
  const made = new Panel("own", "Account", draw,
    make("form", { id: "password-form" },
      make("input", { autocomplete: "username", hidden: "", id: "password-user" }),
      field("password-old", "Password", "current-password"),
      field("password-new", "New password, at least 8 characters", "new-password", { minlength: "8" }),
      make("p", { class: "muted" }, "All your other devices are logged out."),
      make("button", { type: "submit", class: "primary" }, "Change the password")),
    make("p", { id: "password-fixed", class: "muted" }, "Your password was given to you and cannot be changed here."),
    make("button", { id: "log-out-everywhere", type: "button", class: "danger" }, "Log out on all devices"));
  byId("password-form").addEventListener("submit", change);
  byId("log-out-everywhere").addEventListener("click", endAll);
  return made;
}

async function change(event) {
  event.preventDefault();
  byId("password-user").value = session.name;
  event.submitter.disabled = true;
  if (await panel.attempt(setPassword(byId("password-old").value, byId("password-new").value))) {
    panel.dialog.close();
    announce("The password is changed.");
  }
  byId("password-form").reset();
  event.submitter.disabled = false;
}

async function endAll() {
  if (await ask("Log out on all devices?", "Here, too. Whoever uses your login elsewhere has to log in again.",
    "Log out", true)) {
    await panel.attempt(logOutEverywhere());
  }
}
