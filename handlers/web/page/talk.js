// What the page knows of the user's threads, of the shown one's messages and of who is online. The views read it; only
// this module changes it.

import { call, newKey, onSession, session } from "./api.js";
import { Past } from "./past.js";
import { Pushes } from "./pushes.js";
import { known, onChange as onSale } from "./store.js";

const pageSize = 50;
const pollEvery = 10_000; // ms; also between two heartbeats
const listEvery = 60_000; // ms; the threads are read now and then beside the pushes, too
const patience = 15_000; // ms for the answer to a message

export const talk = {
  link: "connecting", // or live, poll
  room: null, // the thread of the sale
  threads: new Map(), // by id
  before: 0, // place of the next page of threads, 0 for none
  open: null, // the shown thread
  past: new Past(), // its messages
  begun: false, // whether they were read
  names: new Map(), // by user
  contacts: new Map(), // by user
  online: new Map(), // contacts: {online, last_seen}
  visible: true, // whether others see that the user is online
};

const watchers = [];
let due = false;

// onTalk has a function called before the next paint after a change, once for many changes.
export const onTalk = (watch) => watchers.push(watch);

// changed has the views drawn again.
export function changed() {
  if (!due) {
    due = true;
    requestAnimationFrame(() => {
      due = false;
      watchers.forEach((watch) => watch());
    });
  }
}

const pasts = new Map(); // of the threads that were shown, by id
let user = 0; // whose all this is
let changes = null; // place in the list of threads from which on it is to be read; null: all of it
let listedAt = 0; // by performance.now()

const pushes = new Pushes({
  link(live) {
    talk.link = live ? "live" : "poll";
    if (live) {
      readThreads();
    }
    changed();
  },
  event: takeEvent,
  message(data) {
    if (data.event) {
      takeEvent(data);
    } else {
      takeMessage(data);
    }
  },
  begun(id, recovered, epoch) {
    if (talk.open?.thread_id !== id) {
      return;
    }
    if (talk.past.epoch !== epoch && talk.past.epoch !== "") {
      talk.past.begin(epoch);
    }
    talk.past.epoch = epoch;
    if (!recovered) {
      catchUp();
    }
  },
  lost(id) {
    if (talk.open?.thread_id === id && talk.link === "live") {
      readThreads();
      catchUp();
    }
  },
});

export const nameOf = (id) => (id === session?.user ? session.name : talk.contacts.get(id)?.username ??
  talk.names.get(id) ?? `user ${id}`);

// isRoom reports whether a thread is the sale's room.
export const isRoom = (thread) => thread?.thread_id === talk.room?.thread_id;

// other is the other user of a thread of two, 0 in another one.
export function other(thread) {
  const pair = /^u(\d+)-(\d+)$/.exec(thread.thread_id)?.slice(1).map(Number) ?? [0, 0];
  return pair.find((id) => id !== session?.user) ?? 0;
}

// titleOf is how a thread is called.
export function titleOf(thread) {
  if (isRoom(thread)) {
    return "Sale room";
  }
  const names = () => (thread.participants ?? []).filter((id) => id !== session?.user).map(nameOf).join(", ");
  return thread.nickname || (other(thread) ? nameOf(other(thread)) : names()) || "Group";
}

// listed are the threads, the newest change first.
export const listed = () => [...talk.threads.values()]
  .sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));

export const unread = () => listed().filter((t) => !t.is_muted).reduce((sum, t) => sum + t.unread, 0);

const path = (thread) => (isRoom(thread) ? "/rooms/sale" : `/threads/${thread.thread_id}`);

// start begins, once.
export function start() {
  onSession(begin);
  onSale(({ sale }) => {
    if (sale && saleOfRoom && saleOfRoom !== sale.id) {
      readRoom(); // the next sale has a room of its own
    }
  });
  setInterval(tick, pollEvery);
  document.addEventListener("visibilitychange", () => document.hidden || wake());
  for (const touch of ["pointerdown", "keydown"]) {
    addEventListener(touch, () => talk.link === "poll" && user && pushes.wake(), { passive: true });
  }
  begin();
}

// begin begins anew, for the user who is logged in now or for a visitor.
function begin() {
  const next = session?.user ?? 0;
  if (next === user && talk.room) {
    return;
  }
  user = next;
  pushes.stop();
  pasts.clear();
  changes = null;
  const none = { link: user ? "connecting" : "poll", threads: new Map(), before: 0, open: null, past: new Past(),
    begun: false, names: new Map(), contacts: new Map(), online: new Map(), visible: true };
  Object.assign(talk, none);
  changed();
  readRoom();
  if (user) {
    readContacts();
    readThreads();
    beat();
    connect();
  }
}

function wake() {
  pushes.wake();
  tick();
}

function connect() {
  return quietly(async () => {
    try {
      await pushes.start();
    } catch (error) {
      talk.link = "poll"; // tick tries again
      changed();
      throw error;
    }
  });
}

// tick does what is due every ten seconds while the page is looked at.
function tick() {
  if (document.hidden) {
    return;
  }
  if (user) {
    beat();
    if (talk.link !== "live" || performance.now() - listedAt > listEvery) {
      readThreads();
    }
    if (!pushes.client) {
      connect();
    }
  }
  if (!talk.room) {
    readRoom();
  } else if (talk.link !== "live") {
    catchUp();
  }
}

// quietly does what is done again later if it fails: the link is told in any case.
async function quietly(act) {
  const whose = user;
  try {
    return await act(() => whose === user);
  } catch {
    return null;
  }
}

let saleOfRoom = ""; // its id

const readRoom = () => quietly(async (isMine) => {
  saleOfRoom = known.sale?.id ?? "";
  const room = await call("GET", "/rooms/sale");
  if (!isMine()) {
    return;
  }
  const shown = isRoom(talk.open);
  talk.room = room;
  changed();
  if (shown && talk.open.thread_id !== room.thread_id) {
    open(room);
  }
});

const readContacts = () => quietly(async (isMine) => {
  for (let after = 0; ;) {
    const { contacts, next } = await call("GET", `/contacts?after=${after}`);
    if (!isMine()) {
      return;
    }
    contacts.forEach((contact) => talk.contacts.set(contact.user_id, contact));
    changed();
    if (!next) {
      return;
    }
    after = next;
  }
});

// beat tells the server that the user is here, and learns which contacts are.
const beat = () => quietly(async (isMine) => {
  const told = (talk.link === "live" && await pushes.ask("presence").catch(() => null)) ||
    await call("POST", "/presence");
  if (isMine()) {
    talk.visible = told.visible;
    talk.online = new Map(told.contacts.map((contact) => [contact.user_id, contact]));
    changed();
  }
});

// setVisible shows or hides that the user is online.
export async function setVisible(visible) {
  await call("PUT", "/presence", { visible });
  talk.visible = visible;
  changed();
}

// takeThread takes a thread as the server has it. The list of threads follows the messages: what pushes have told
// meanwhile stays.
function takeThread(told) {
  const before = talk.threads.get(told.thread_id);
  const late = before && before.last > told.last;
  const { last, unread: count, updated_at: updated } = late ? before : told;
  const thread = { ...told, last, unread: count, updated_at: updated };
  talk.threads.set(told.thread_id, thread);
  if (talk.open?.thread_id === told.thread_id) {
    talk.open = thread;
    see();
  }
}

// readThreads reads the threads that have changed, all of the first page at first.
const readThreads = () => quietly(async (isMine) => {
  listedAt = performance.now();
  const first = changes === null;
  for (let more = true; more;) {
    const told = await call("GET", `/threads?limit=${pageSize}${first ? "" : `&after=${changes}`}`);
    if (!isMine()) {
      return;
    }
    told.threads.forEach(takeThread);
    if (first) {
      talk.before = told.next;
    }
    more = !first && told.changed !== changes && told.threads.length === pageSize;
    changes = told.changed;
    changed();
  }
});

// readOlderThreads reads the next page of threads.
export async function readOlderThreads() {
  const told = await call("GET", `/threads?limit=${pageSize}&before=${talk.before}`);
  told.threads.forEach(takeThread);
  talk.before = told.next;
  changed();
}

// takeEvent takes what the pushes tell of any thread.
function takeEvent(event) {
  const { event: what, thread_id: id } = event;
  if (what === "message") {
    takeMessage(event.message);
  } else if (what === "erased" && id === talk.open?.thread_id) {
    talk.past.erase(event.message_id);
    changed();
  } else if (what === "pinned") {
    readRoom();
  } else if (what === "ended" || (what === "left" && event.user_id === user)) {
    drop(id);
  } else if (what === "joined" || what === "left") {
    readThreads();
  }
}

// drop forgets a thread that the user may no longer read.
function drop(id) {
  talk.threads.delete(id);
  pasts.delete(id);
  if (talk.open?.thread_id === id) {
    open(null);
  }
  changed();
}

// takeMessage takes a message that has just been stored. It may come twice: to the thread and to the user.
function takeMessage(message) {
  const thread = talk.threads.get(message.thread_id);
  if (thread && message.id > thread.last) {
    const count = message.user_id === user ? 0 : thread.unread + message.id - thread.last;
    talk.threads.set(message.thread_id,
      { ...thread, last: message.id, unread: count, updated_at: message.created_at });
  } else if (!thread && message.thread_id !== talk.room?.thread_id) {
    readThreads();
  }
  if (talk.open?.thread_id === message.thread_id) {
    talk.open = talk.threads.get(message.thread_id) ?? talk.open;
    if (talk.past.follows(message)) {
      talk.past.take([message]);
      see();
    } else {
      catchUp();
    }
  }
  changed();
}

// open shows a thread, null for none.
export function open(thread) {
  talk.open = thread;
  talk.begun = false;
  if (!thread) {
    pushes.follow(null);
    changed();
    return;
  }
  const id = thread.thread_id;
  talk.past = pasts.get(id) ?? new Past();
  talk.past.forget();
  pasts.set(id, talk.past);
  pushes.follow({ id, epoch: talk.past.epoch, offset: talk.past.newest });
  catchUp();
  const peer = other(thread);
  if (peer && !talk.contacts.has(peer)) {
    quietly(() => meet(peer));
  }
  changed();
}

// meet makes a user, by id or name, a contact who is none yet: then the name and the presence are known.
async function meet(who) {
  const contact = `/contacts/${encodeURIComponent(who)}`;
  let found = null;
  try {
    found = await call("GET", contact);
  } catch (error) {
    if (error.code !== "CONTACT_NOT_FOUND") {
      throw error;
    }
    found = await call("PUT", contact, { blocked: false, nickname: "" });
  }
  talk.contacts.set(found.user_id, found);
  changed();
  return found;
}

let catching = null; // the thread that is being read

// catchUp reads the messages of the shown thread after those that are known, or the newest ones.
const catchUp = () => quietly(async (isMine) => {
  const { open: thread, past } = talk;
  if (!thread || catching === past) {
    return;
  }
  catching = past;
  try {
    for (let more = true; more;) {
      const after = past.newest ? `&after=${past.newest}` : "";
      const { messages, last } = await call("GET", `${path(thread)}/messages?limit=${pageSize}${after}`);
      if (!isMine()) {
        return;
      }
      past.take(messages);
      more = messages.length > 0 && past.newest < last;
    }
  } catch (error) {
    if (["NOT_A_MEMBER", "THREAD_NOT_FOUND"].includes(error.code) && isMine()) {
      drop(thread.thread_id);
    }
    throw error;
  } finally {
    catching = null;
  }
  if (talk.past === past) {
    talk.begun = true;
    see();
    changed();
  }
});

// readOlder reads the messages before the oldest one that is shown.
export async function readOlder() {
  const { open: thread, past } = talk;
  const { messages } = await call("GET", `${path(thread)}/messages?limit=${pageSize}&before=${past.oldest}`);
  past.takeOlder(messages);
  changed();
}

// see marks the shown thread as read up to its newest message. The view calls it when that comes into sight.
export function see() {
  const thread = talk.open;
  if (!thread || document.hidden || !talk.seen?.() || !(thread.unread > 0) || !talk.threads.has(thread.thread_id)) {
    return;
  }
  const seen = { ...thread, unread: 0 };
  talk.threads.set(thread.thread_id, seen);
  talk.open = seen;
  change(thread, { read: talk.past.newest }).catch(() => {
    talk.threads.set(thread.thread_id, thread); // the next message or tick tries again
  });
  changed();
}

// change changes the user's view of a thread: {is_muted}, {nickname} or {read}.
export async function change(thread, what) {
  const told = await call("PATCH", `/threads/${thread.thread_id}`, what);
  takeThread(told);
  changed();
}

// write sends a message. It is shown at once, and as sent once the server has stored it.
export function write(content) {
  const { past } = talk;
  const sent = { key: newKey(), content, user, after: past.newest, failed: null, stored: 0 };
  past.waiting.push(sent);
  changed();
  return send(sent);
}

let sending = Promise.resolve(); // messages go out one by one: their order stays

// send sends a message, or sends it again: the server stores a key once.
export function send(sent) {
  const { open: thread, past } = talk;
  const drop = () => { past.waiting = past.waiting.filter((w) => w !== sent); };
  sent.failed = null;
  changed();
  sending = sending.then(async () => {
    try {
      const message = await within(patience, call("POST", `${path(thread)}/messages`,
        { content: sent.content, id: sent.key }));
      sent.stored = message.id;
      drop();
      takeMessage(message);
    } catch (error) {
      if (sent.stored) {
        drop(); // a push has told that it is stored
      } else {
        sent.failed = error;
      }
    }
    changed();
  });
  return sending;
}

// within gives up after a time.
const within = (ms, promise) => Promise.race([promise,
  new Promise((_, fail) => { setTimeout(() => fail(new TypeError("no answer")), ms); })]);

// talkTo starts a thread with a user by name, or finds it.
export async function talkTo(name) {
  const contact = await meet(name);
  const thread = await call("POST", "/threads", { participants: [contact.user_id] });
  takeThread(thread);
  open(talk.threads.get(thread.thread_id));
  beat();
}
