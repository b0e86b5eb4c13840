// The login form, and who is logged in.

import { logIn, logInOperator, logOut, may, onSession, operator, resume } from "./api.js";
import { announce, byId, setText, tell } from "./dom.js";
import { tellError } from "./messages.js";
import { say } from "./words.js";

// provider is the name of the place where operators can log in, too. Its protocol needs a page that came
// safely.
const provider = document.documentElement.dataset.provider;
const hasProvider = provider !== "off" && isSecureContext;

export function start() {
  const dialog = byId("login");
  byId("log-in").addEventListener("click", open);
  byId("login-register").addEventListener("click", register);
  byId("login-operator").addEventListener("click", () => become(!asOperator));
  byId("login-cancel").addEventListener("click", () => dialog.close());
  byId("log-out").addEventListener("click", () => logOut());
  byId("account").addEventListener("click", async () => (await import("/web/account.js")).open());
  byId("login-form").addEventListener("submit", submit);
  dialog.addEventListener("close", () => {
    byId("login-form").reset();
    become(false);
  });
  setText(byId("login-provider"), say("Log in with {provider}", { provider }));
  byId("login-provider").addEventListener("click", toProvider);
  onSession(show);
  resume();
  comeBack();
}

let asOperator = false; // the form is for an operator

// become has the form take a user or an operator.
function become(wanted) {
  asOperator = wanted;
  setText(byId("login-title"), say(asOperator ? "Log in as an operator" : "Log in"));
  byId("login-operator").ariaPressed = asOperator;
  byId("login-provider").hidden = !asOperator || !hasProvider;
  byId("login-register").hidden = asOperator || document.documentElement.dataset.chat === "off";
  askCode(false);
  tell(byId("login-message"), "", "");
}

// askCode shows or hides the field of the second factor, which only some operators have.
function askCode(wanted) {
  byId("login-code-field").hidden = !wanted;
  byId("login-code").required = wanted;
  byId("login-code").value = "";
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
  const [name, password] = [byId("login-name").value, byId("login-password").value];
  try {
    const code = byId("login-code").value;
    await (asOperator ? logInOperator("/admin/login", { name, password, code }) : logIn(name, password));
    enter();
  } catch (error) {
    refuse(error);
  } finally {
    button.disabled = false;
  }
}

// enter goes on to what this login is for.
function enter() {
  byId("login").close();
  if (document.body.dataset.view !== "chat") {
    location.hash = may("operator") ? "#/operate" : may("viewer") ? "#/live" : "#/buy";
  }
}

async function toProvider() {
  byId("login-provider").disabled = true;
  try {
    await (await import("/web/provider.js")).begin();
  } catch (error) {
    tellError(byId("login-message"), error);
  } finally {
    byId("login-provider").disabled = false;
  }
}

// comeBack ends a login that has led to the provider and back. What the provider tells leaves the address first.
async function comeBack() {
  const parts = [location.hash, location.search].map((part) => new URLSearchParams(part.slice(1)));
  const told = parts.find((part) => part.has("state"));
  if (!told || !hasProvider) {
    return;
  }
  history.replaceState(null, "", location.pathname);
  become(true);
  open();
  tell(byId("login-message"), "", say("Finishing the login…"));
  try {
    await (await import("/web/provider.js")).finish(told);
    enter();
  } catch (error) {
    tellError(byId("login-message"), error);
  }
}

// refuse tells why a login failed. Whoever has the right password goes on with the code.
function refuse(error) {
  const needsCode = error.code === "CODE_NEEDED" || error.code === "WRONG_CODE";
  askCode(needsCode);
  tellError(byId("login-message"), error);
  if (needsCode) {
    byId("login-message").dataset.kind = error.code === "CODE_NEEDED" ? "" : "bad";
    byId("login-code").focus();
  } else {
    byId("login-password").value = "";
  }
}

// ends are the reasons for which a login ends by itself. They are told in every view.
const ends = {
  expired: "Your login has expired. Log in again.",
  idle: "You are logged out: logins of root and of operators end after 30 minutes without a touch.",
};

let before = null;

function show(session, why) {
  const login = operator ?? session;
  byId("log-in").hidden = login !== null;
  byId("log-out").hidden = login === null;
  byId("account").hidden = login === null;
  setText(byId("account"), operator ? `${operator.name} (${say(operator.role)})` : session?.name ?? "");
  for (const link of document.querySelectorAll("[data-needs]")) {
    link.hidden = !may(link.dataset.needs);
  }
  if (before && !login) {
    announce(say(ends[why] ?? "You are logged out."));
  }
  if (before || login) {
    setText(byId("ended"), why in ends ? say(ends[why]) : "");
    byId("ended").hidden = !(why in ends);
  }
  before = login;
}
