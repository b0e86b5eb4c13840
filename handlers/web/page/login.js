// The login form, and who is logged in.

import { isRoot, logIn, logOut, onSession, resume } from "./api.js";
import { announce, byId, setText, tell } from "./dom.js";
import { tellError } from "./messages.js";
import { say } from "./words.js";

export function start() {
  const dialog = byId("login");
  byId("log-in").addEventListener("click", open);
  byId("login-register").addEventListener("click", register);
  byId("login-cancel").addEventListener("click", () => dialog.close());
  byId("log-out").addEventListener("click", () => logOut());
  byId("login-form").addEventListener("submit", submit);
  dialog.addEventListener("close", () => byId("login-form").reset());
  onSession(show);
  resume();
}

// open shows the form.
export function open() {
  tell(byId("login-message"), "", "");
  byId("login").showModal();
}

async function register() {
  byId("login").close("register");
  (await import("/web/register.js")).open();
}

async function submit(event) {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  try {
    await logIn(byId("login-name").value, byId("login-password").value);
    byId("login").close();
    if (document.body.dataset.view !== "chat") {
      location.hash = isRoot() ? "#/operate" : "#/buy";
    }
  } catch (error) {
    byId("login-password").value = "";
    tellError(byId("login-message"), error);
  } finally {
    button.disabled = false;
  }
}

// ends are the reasons for which a login ends by itself. They are told in every view.
const ends = {
  expired: "Your login has expired. Log in again.",
  idle: "You are logged out: root's login ends after 30 minutes without a touch.",
};

let before = null;

function show(session, why) {
  byId("log-in").hidden = session !== null;
  byId("log-out").hidden = session === null;
  byId("account").hidden = session === null;
  setText(byId("account"), session?.name ?? "");
  for (const link of document.querySelectorAll(".for-root")) {
    link.hidden = !isRoot();
  }
  if (before && !session) {
    announce(say(ends[why] ?? "You are logged out."));
  }
  if (before || session) {
    setText(byId("ended"), why in ends ? say(ends[why]) : "");
    byId("ended").hidden = !(why in ends);
  }
  before = session;
}
