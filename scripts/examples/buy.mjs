// Buys one piece of a food: node buy.mjs localhost:8080 user2 pass2 7. Writes the order's id.
const [server, name, password, food] = process.argv.slice(2);
if (process.argv.length !== 6) {
  console.error("usage: node buy.mjs host:port name password food");
  process.exit(2);
}
const tries = 20;
// The key is made once: the same order is never placed twice.
const headers = {"Idempotency-Key": crypto.randomUUID()};

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// An answer that trying again does not change, as "403 CART_EMPTY".
class Refused extends Error {}

// call sends one request. It returns null, after a pause, where its outcome is not known.
async function call(method, path, body) {
  let reply, text;
  try {
    const signal = AbortSignal.timeout(10_000);
    reply = await fetch(`http://${server}${path}`, {method, headers, body: body && JSON.stringify(body), signal});
    text = await reply.text();
  } catch {
    await pause(1);
    return null;
  }
  if (reply.status === 429 || reply.status >= 500) {
    await pause(Number(reply.headers.get("Retry-After") ?? 1));
    return null;
  }
  if (reply.status >= 400) throw new Refused(`${reply.status} ${JSON.parse(text).code}`);
  return text ? JSON.parse(text) : {};
}

// again sends a request until its outcome is known.
async function again(method, path, body) {
  for (let i = 0; i < tries; i++) {
    const answer = await call(method, path, body);
    if (answer) return answer;
  }
  throw new Refused(`no answer to ${method} ${path}`);
}

// fill returns the ID of a cart with one piece. An add is not sent again, it would count twice.
async function fill() {
  for (let i = 0; i < tries; i++) {
    const {cart_id} = await again("POST", "/carts");
    if (await call("PATCH", `/carts/${cart_id}`, {food_id: Number(food), count: 1})) return cart_id;
  }
  throw new Refused("no answer to PATCH /carts");
}

try {
  const session = await again("POST", "/login", {username: name, password});
  headers["Access-Token"] = session.access_token;
  const foods = await again("GET", "/foods");
  if (!foods.some((f) => f.id === Number(food))) throw new Refused(`there is no food ${food}`);
  const cart_id = await fill();
  console.log((await again("POST", "/orders", {cart_id})).id);
} catch (e) {
  if (!(e instanceof Refused)) throw e;
  console.error(e.message);
  process.exitCode = 1;
}
