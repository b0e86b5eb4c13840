// What operators may do with a message in the sale room.

import { call, may } from "./api.js";
import { byId, make, setText } from "./dom.js";
import { attempt } from "./attempt.js";
import { nameOf, talk } from "./talk.js";
import { say } from "./words.js";

const muteSeconds = 3600;

let dialog = null;

// mayModerate reports whether the user may do something with the messages of the shown thread.
export const mayModerate = () => may("operator") && talk.open?.thread_id === talk.room?.thread_id;

// moderate asks what to do with a message, and does it.
export function moderate(message) {
  dialog ??= build();
  const isPinned = talk.room.pinned?.id === message.id;
  setText(byId("moderate-title"), say("Message of {name}", { name: nameOf(message.user_id) }));
  setText(byId("moderate-text"), message.content);
  setText(byId("moderate-pin"), say(isPinned ? "Unpin" : "Pin"));
  dialog.returnValue = "";
  dialog.onclose = () => {
    const act = acts[dialog.returnValue];
    if (act) {
      attempt(act(message, isPinned));
    }
  };
  dialog.showModal();
}

const acts = {
  remove: ({ id }) => call("DELETE", `/rooms/sale/messages/${id}`),
  pin: ({ id }, isPinned) => (isPinned ? call("DELETE", "/rooms/sale/pin") : call("PUT", "/rooms/sale/pin", { id })),
  mute: ({ user_id: user }) => call("PUT", `/rooms/sale/muted/${user}`, { seconds: muteSeconds }),
};

function build() {
  const button = (value, text, attributes = {}) => make("button", { value, ...attributes }, say(text));
  const made = make("dialog", { id: "moderate", "aria-labelledby": "moderate-title",
    "aria-describedby": "moderate-text" }, make("form", { method: "dialog" },
    make("h2", { id: "moderate-title" }), make("p", { id: "moderate-text", class: "quote" }),
    make("div", { class: "buttons" }, button("", "Cancel", { autofocus: "" }),
      button("pin", "Pin", { id: "moderate-pin" }), button("mute", "Mute for an hour", { class: "danger" }),
      button("remove", "Remove", { class: "primary danger" }))));
  document.body.append(made);
  return made;
}
