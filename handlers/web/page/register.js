// The form by which people register.

import { call, enter } from "./api.js";
import { byId, make, tell } from "./dom.js";
import { tellError } from "./messages.js";
import { say } from "./words.js";

let dialog = null;

export function open() {
  dialog ??= build();
  tell(byId("register-message"), "", "");
  dialog.showModal();
}

function build() {
  const field = (id, name, attributes) => make("label", {}, say(name), make("input", { id, ...attributes }));
  const cancel = make("button", { type: "button" }, say("Cancel"));
  const form = make("form", { id: "register-form", method: "dialog" },
    make("h2", { id: "register-title" }, say("Register")),
    field("register-name", "Name", { autocomplete: "username", autocapitalize: "none", spellcheck: "false",
      minlength: "3", maxlength: "32", required: "" }),
    field("register-password", "Password, at least 8 characters", { type: "password", autocomplete: "new-password",
      minlength: "8", required: "" }),
    field("register-email", "E-mail, if you like", { type: "email", autocomplete: "email" }),
    make("p", { id: "register-message", class: "message", role: "alert" }),
    make("div", { class: "buttons" }, cancel, make("button", { type: "submit", class: "primary" }, say("Register"))));
  const made = make("dialog", { id: "register", "aria-labelledby": "register-title" }, form);
  cancel.addEventListener("click", () => made.close());
  form.addEventListener("submit", submit);
  made.addEventListener("close", () => form.reset());
  document.body.append(made);
  return made;
}

async function submit(event) {
  event.preventDefault();
  const button = event.submitter;
  const email = byId("register-email").value;
  button.disabled = true;
  try {
    enter(await call("POST", "/users", { name: byId("register-name").value,
      password: byId("register-password").value, ...(email && { email }) }, {}, null));
    dialog.close();
  } catch (error) {
    byId("register-password").value = "";
    tellError(byId("register-message"), error);
  } finally {
    button.disabled = false;
  }
}
