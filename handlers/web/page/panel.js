// The dialogs of the account and of the chat: each has a title, a place for what went wrong, and a way out. They end
// with the login.

import { onSession, operator, session } from "./api.js";
import { attempt } from "./attempt.js";
import { make, setText } from "./dom.js";
import { onTalk } from "./talk.js";
import { say } from "./words.js";

export class Panel {
  // draw is called when the panel is opened, and after a change while it is open.
  constructor(id, title, draw, ...parts) {
    this.title = make("h2", { id: `${id}-title`, tabindex: "-1", autofocus: "" }, title);
    this.message = make("p", { class: "message", role: "alert" });
    const close = make("button", { type: "button" }, say("Close"));
    this.dialog = make("dialog", { id, class: "panel", "aria-labelledby": `${id}-title` }, this.title, ...parts,
      this.message, make("div", { class: "buttons" }, close));
    this.draw = draw;
    close.addEventListener("click", () => this.dialog.close());
    for (const on of [onTalk, onSession]) {
      on(() => this.dialog.open && this.redraw());
    }
    document.body.append(this.dialog);
  }

  open() {
    setText(this.message, "");
    this.redraw();
    if (!this.dialog.open) {
      this.dialog.showModal();
    }
  }

  redraw() {
    if (session || operator) {
      this.draw();
    } else {
      this.dialog.close();
    }
  }

  // attempt shows the error of an act, and resolves to whether it was done. The button that began it may be gone then.
  async attempt(act) {
    const done = await attempt(act, this.message);
    if (this.dialog.open && !this.dialog.contains(document.activeElement)) {
      this.title.focus();
    }
    return done;
  }
}

// nameForm is a form with a field for the name of a user. act resolves to whether it was done.
export function nameForm(id, label, button, act) {
  const field = make("input", { id: `${id}-name`, autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    required: "" });
  const form = make("form", { id, class: "line" }, make("label", {}, label, field),
    make("button", { type: "submit" }, button));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = field.value;
    if (await act(typed.trim()) && field.value === typed) { // the next name may be there already
      field.value = "";
    }
  });
  return form;
}
