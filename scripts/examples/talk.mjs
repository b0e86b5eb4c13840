// Two users talk: node talk.mjs localhost:8080 user2 pass2 user3 pass3 Hello. The second one writes what has come.
const [server, name, password, other, othersPassword, text] = process.argv.slice(2);
if (process.argv.length !== 8) {
  console.error("usage: node talk.mjs host:port name password name password text");
  process.exit(2);
}
const tries = 20;

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// call sends a request until its outcome is known: each call here is safe to send again.
async function call(token, method, path, body) {
  const headers = token ? {"Access-Token": token} : {};
  for (let i = 0; i < tries; i++) {
    let reply, answer;
    try {
      const signal = AbortSignal.timeout(10_000);
      reply = await fetch(`http://${server}${path}`, {method, headers, body: body && JSON.stringify(body), signal});
      answer = await reply.text();
    } catch {
      await pause(1);
      continue;
    }
    if (reply.status === 429 || reply.status >= 500) {
      await pause(Number(reply.headers.get("Retry-After") ?? 1));
      continue;
    }
    if (reply.status < 400) return answer ? JSON.parse(answer) : null;
    throw `${reply.status} ${JSON.parse(answer).code}`;
  }
  throw `no answer to ${method} ${path}`;
}

// wait polls until a thread has messages that are not read, and returns it.
async function wait(token, id, changed) {
  for (;;) {
    const page = await call(token, "GET", `/threads?after=${changed}`);
    const thread = page.threads.find((t) => t.thread_id === id && t.unread > 0);
    if (thread) return thread;
    changed = page.changed;
    await pause(0.5);
  }
}

try {
  const writer = await call("", "POST", "/login", {username: name, password});
  const reader = await call("", "POST", "/login", {username: other, password: othersPassword});
  const {changed} = await call(reader.access_token, "GET", "/threads");

  const {thread_id} = await call(writer.access_token, "POST", "/threads", {participants: [reader.user_id]});
  const path = `/threads/${thread_id}`;
  // The id is made once: the same message is never stored twice.
  await call(writer.access_token, "POST", `${path}/messages`, {content: text, id: crypto.randomUUID()});

  const thread = await wait(reader.access_token, thread_id, changed);
  const page = await call(reader.access_token, "GET", `${path}/messages?after=${thread.read}`);
  for (const message of page.messages) console.log(message.content);
  await call(reader.access_token, "PATCH", path, {read: page.last});
} catch (e) {
  if (typeof e !== "string") throw e;
  console.error(e);
  process.exitCode = 1;
}
