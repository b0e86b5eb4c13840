// The calls of the API, and who is logged in.

const sessionKey = "buyer";
const idleMax = 30 * 60_000; // ms without a touch until root and operators are logged out

// operator is the login of somebody who runs the sale, {name, role, token}, or null. An operator is no user, so
// there is no session then. Its token is never stored.
export let operator = null;

// session is the login of a user: {user, name, token, cart, made, items, sale}, or null; the cart is one of that
// sale and was made at that time (Unix ms). A buyer's one outlives a reload in this tab, with the cart. Root's token
// is never stored.
export let session = null;

const watchers = [];
export const onSession = (watch) => watchers.push(watch);

// Refusal is an answer with an error: its status, its code, the message of the server, the seconds to wait where it
// names them, else 0, and its details where it has some.
export class Refusal extends Error {
  constructor(status, code, message, wait = 0, details = null) {
    super(message);
    Object.assign(this, { status, code, wait, details });
  }
}

// isUnsure reports whether a call that failed may have been carried out all the same.
export const isUnsure = (error) => !(error instanceof Refusal) || error.status >= 500;

const isRoot = () => session?.user === 1;
const rootOperates = document.documentElement.dataset.root === "on";
const roles = ["viewer", "operator", "admin"]; // each may what those before it may

const login = () => operator ?? session;

// may reports whether whoever is logged in may what operators of this role may.
export const may = (role) =>
  roles.indexOf(operator?.role ?? (isRoot() && rootOperates ? "admin" : "")) >= roles.indexOf(role);

// tokenHeader is the header with the token of who is logged in, if anybody is.
export const tokenHeader = (of = login()) => (of ? { "Access-Token": of.token } : {});

// keep stores a buyer's session as it is now.
function keep() {
  try {
    if (session && !isRoot()) {
      sessionStorage.setItem(sessionKey, JSON.stringify(session));
    } else {
      sessionStorage.removeItem(sessionKey);
    }
  } catch {
    // the browser stores nothing: a reload logs out
  }
}

// setCart has the login go on with another cart, or with other items of it. Without a cart the items are those
// to fill the next one with.
export function setCart(cart, items, sale) {
  const made = cart === session.cart ? session.made : Date.now();
  Object.assign(session, { cart, made, items, sale });
  keep();
}

let expired = null; // the session that has ended without the buyer

function become(next, why = "", nextOperator = null) {
  expired = why === "expired" ? session : null;
  session = next;
  operator = nextOperator;
  keep();
  watchers.forEach((watch) => watch(session, why));
}

// isSession reports whether a value has the form of a buyer's session. Other pages of this address store things,
// too.
const isSession = (value) => Number.isInteger(value?.user) && Number.isFinite(value.made) &&
  [value.name, value.token, value.cart, value.sale].every((text) => typeof text === "string") &&
  Array.isArray(value.items) &&
  value.items.every((item) => Number.isInteger(item?.food) && Number.isInteger(item.count));

// resume takes up the session of before a reload.
export function resume() {
  let stored = null;
  try {
    stored = JSON.parse(sessionStorage.getItem(sessionKey));
  } catch {
    // there is none
  }
  become(isSession(stored) ? stored : null);
}

export const logIn = async (name, password) =>
  enter(await call("POST", "/login", { username: name, password }, {}, null));

// logInOperator begins the login of an operator, with a password or by a provider.
export async function logInOperator(path, proof) {
  const told = await call("POST", path, proof, {}, null);
  become(null, "", { name: told.name, role: told.role, token: told.access_token });
}

// enter begins the login that the server has told. Who comes back after the end of a login finds the cart again.
export function enter(told) {
  const { cart, made, items, sale } = expired?.user === told.user_id ? expired :
    { cart: "", made: 0, items: [], sale: "" };
  become({ user: told.user_id, name: told.username, token: told.access_token, cart, made, items, sale });
}

let ending = false; // the tokens of this login: a refusal does not mean that it has expired

async function endTokens(act) {
  ending = true;
  try {
    return await act();
  } finally {
    ending = false;
  }
}

// setPassword changes the password and goes on with a new token, and with the cart.
export const setPassword = (old, fresh) => endTokens(async () => {
  await call("PUT", "/users/me/password", { old, new: fresh });
  const told = await call("POST", "/login", { username: session.name, password: fresh }, {}, null);
  become({ ...session, token: told.access_token });
});

// endSessions ends all logins of the user, on all devices.
export const endSessions = () => endTokens(async () => {
  await call("DELETE", "/users/me/tokens");
  become(null);
});

// logOut ends the login. why is "expired" or "idle" where the person did not ask for it. The page forgets it at once;
// where the server cannot be reached its token lives until it expires.
export function logOut(why) {
  const login = session;
  become(null, why);
  if (login && why !== "expired") {
    request("POST", "/logout", undefined, {}, login).catch(() => {});
  }
}

// A console that was left alone does not stay open.
let idle = 0;
for (const touch of ["pointerdown", "keydown"]) {
  addEventListener(touch, () => { idle = 0; }, { passive: true });
}
setInterval(() => {
  idle += 60_000;
  if ((isRoot() || operator) && idle >= idleMax) {
    logOut("idle");
  }
}, 60_000);

// request sends a call and returns the reply, a Refusal where it is an error, and another Error where there is
// none.
export async function request(method, path, body, headers = {}, of = login()) {
  const options = { method, headers: { ...headers, ...tokenHeader(of) }, cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const reply = await fetch(path, options);
  if (reply.ok) {
    return reply;
  }
  const told = await reply.json().catch(() => ({}));
  if (told.code === "INVALID_ACCESS_TOKEN" && of && of === login() && !ending) {
    logOut("expired");
  }
  throw new Refusal(reply.status, told.code ?? "", told.message ?? "", Number(reply.headers.get("Retry-After")),
    told.details);
}

// call is request for a reply in JSON; null where it has no body.
export async function call(method, path, body, headers, of) {
  const reply = await request(method, path, body, headers, of);
  return reply.status === 204 ? null : reply.json();
}

// newKey is an idempotency key. crypto.randomUUID is missing where the page came by plain HTTP.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// insist repeats a call whose outcome is unknown, a 503 or none at all, with the same key, so that it is carried
// out once. onWait is called before each repetition.
export async function insist(method, path, body, onWait) {
  const headers = { "Idempotency-Key": newKey() };
  const begun = login(); // a repetition for another user would be another order
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(method, path, body, headers, begun);
    } catch (error) {
      if (!isUnsure(error) || attempt >= 30 || begun !== login()) {
        throw error;
      }
      onWait(attempt);
      await new Promise((resolve) => { setTimeout(resolve, 1000 + Math.random() * 1000); });
    }
  }
}
