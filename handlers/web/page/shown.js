// The shown thread: it is opened, read, followed and written to.

import { call, newKey } from "./api.js";
import { Past } from "./past.js";
import { beat, meet } from "./people.js";
import { pushes } from "./pushes.js";
import { known } from "./store.js";
import { changed, isRoom, other, pathOf, quietly, talk } from "./talk.js";
import * as threads from "./threads.js";

const pageSize = 50;
const overlap = 20; // known messages that are read again: one may have been removed meanwhile
const patience = 15_000; // ms for the answer to a message

// open shows a thread, null for none.
export function open(thread) {
  talk.open = thread;
  changed();
  if (!thread) {
    pushes.follow(null);
    return;
  }
  const id = thread.thread_id;
  talk.past = talk.pasts.get(id) ?? new Past();
  talk.pasts.set(id, talk.past);
  pushes.follow({ id, epoch: talk.past.epoch, offset: talk.past.newest });
  catchUp();
  const peer = other(thread);
  if (peer && !talk.contacts.has(peer)) {
    quietly(() => meet(peer));
  }
}

// talkTo starts a thread with a user by name, or finds it.
export async function talkTo(name) {
  const contact = await meet(name);
  await start({ participants: [contact.user_id] });
  beat();
}

// start starts a thread, or finds it, and shows it.
export async function start(what) {
  const thread = await call("POST", "/threads", what);
  threads.take(thread);
  open(talk.threads.get(thread.thread_id));
}

let saleOfRoom = ""; // its id

// readRoom reads the room of the sale.
export const readRoom = () => quietly(async (isMine) => {
  saleOfRoom = known.sale?.id ?? "";
  const room = await call("GET", "/rooms/sale");
  if (!isMine()) {
    return;
  }
  const shown = talk.open !== null && isRoom(talk.open);
  const another = talk.open?.thread_id !== room.thread_id;
  talk.room = room;
  changed();
  if (shown && another) {
    open(room);
  } else if (shown) {
    talk.open = room;
  }
});

// followSale reads the room of the next sale when that begins.
export function followSale({ sale }) {
  if (sale && saleOfRoom && saleOfRoom !== sale.id) {
    readRoom();
  }
}

// begun is called when the pushes follow a thread. Where they could not tell all that was missed, it is read.
export function begun(id, recovered, epoch) {
  if (talk.open?.thread_id !== id) {
    return;
  }
  if (talk.past.epoch !== epoch && talk.past.epoch !== "") {
    talk.past.begin();
  }
  talk.past.epoch = epoch;
  if (!recovered) {
    catchUp();
  }
}

// takeEvent takes what the pushes tell of any thread.
export function takeEvent(told) {
  const { event, thread_id: id } = told;
  if (event === "message") {
    takeMessage(told.message);
  } else if (event === "erased") {
    talk.pasts.get(id)?.erase(told.message_id);
    changed();
  } else if (event === "pinned") {
    readRoom();
  } else if (event === "ended" || (event === "left" && told.user_id === talk.user)) {
    drop(id);
  } else if (event === "joined" || event === "left") {
    talk.joins++;
    threads.read();
  }
}

// takeMessage takes a message that was just stored. It may come twice: to the thread and to the user.
export function takeMessage(message) {
  threads.count(message);
  if (talk.open?.thread_id !== message.thread_id) {
    return;
  }
  if (talk.past.follows(message)) {
    talk.past.take([message]);
    changed();
  } else {
    catchUp();
  }
}

// drop forgets a thread that the user may no longer read.
export function drop(id) {
  talk.threads.delete(id);
  talk.pasts.delete(id);
  if (talk.open?.thread_id === id) {
    open(null);
  }
  changed();
}

// catchUp reads the messages of the shown thread after those that are known, or the newest ones.
export const catchUp = () => quietly(async (isMine) => {
  const { open: thread, past } = talk;
  if (!thread) {
    return;
  }
  past.due = true; // again, if it is read already
  if (past.reading) {
    return;
  }
  past.reading = true;
  try {
    while (past.due && isMine()) {
      past.due = false;
      const after = past.newest ? `&after=${Math.max(0, past.newest - overlap)}` : "";
      const { messages, last } = await call("GET", `${pathOf(thread)}/messages?limit=${pageSize}${after}`);
      past.take(messages);
      past.due ||= messages.length > 0 && past.newest < last;
      changed();
    }
  } catch (error) {
    if (["NOT_A_MEMBER", "THREAD_NOT_FOUND"].includes(error.code) && isMine()) {
      drop(thread.thread_id);
    }
  } finally {
    past.reading = false;
  }
});

// readOlder reads the messages before the oldest one that is shown.
export async function readOlder() {
  const { open: thread, past } = talk;
  const { messages } = await call("GET", `${pathOf(thread)}/messages?limit=${pageSize}&before=${past.oldest}`);
  past.takeOlder(messages);
  changed();
}

// see marks the shown thread as read up to its newest message, which is in sight.
export function see() {
  if (talk.threads.has(talk.open?.thread_id) && talk.open.unread > 0 && talk.past.newest > 0) {
    threads.markRead(talk.open, talk.past.newest);
  }
}

// write sends a message. It is shown at once, and as sent once the server has stored it.
export function write(content) {
  const sent = { key: newKey(), content, user: talk.user, after: talk.past.newest, failed: null, stored: 0 };
  talk.past.waiting.push(sent);
  send(sent);
}

let sending = Promise.resolve(); // messages go out one by one: their order stays

// send sends a message, or sends it again: the server stores a key once.
export function send(sent) {
  const { open: thread, past } = talk;
  sent.failed = null;
  changed();
  sending = sending.then(async () => {
    try {
      const message = await within(patience, call("POST", `${pathOf(thread)}/messages`,
        { content: sent.content, id: sent.key }));
      sent.stored = message.id;
      takeMessage(message);
    } catch (error) {
      sent.failed = error;
    }
    if (sent.stored) { // a push may have told so before
      past.waiting = past.waiting.filter((w) => w !== sent);
    }
    changed();
  });
}

// within gives up after a time.
const within = (ms, promise) => Promise.race([promise,
  new Promise((_, fail) => { setTimeout(() => fail(new TypeError("no answer")), ms); })]);
