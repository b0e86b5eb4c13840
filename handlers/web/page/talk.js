// What the page knows of the user's threads, of the shown one's messages and of who is online. The views read it; only
// people.js, threads.js, shown.js and line.js change it.

import { call, session } from "./api.js";
import { Past } from "./past.js";
import { say } from "./words.js";

// fresh is what is known at the beginning.
const fresh = (user) => ({
  user, // 0 for a visitor
  link: user ? "connecting" : "poll", // or live
  room: null, // the thread of the sale
  threads: new Map(), // by id
  changes: null, // place in the list of threads from which on it is to be read; null: it was not read yet
  before: 0, // place of the next page of threads, 0 for none
  open: null, // the shown thread
  past: new Past(), // its messages
  joins: 0, // members of any thread that are known to have come or gone
  pasts: new Map(), // of the threads that were shown, by id
  seen: new Map(), // message up to which the user has seen a thread in this page, by id
  contacts: new Map(), // by user
  online: new Map(), // contacts: {online, last_seen}; online is null where the server cannot tell
  visible: true, // whether others see that the user is online
});

export const talk = fresh(0);

// forget begins anew for another user.
export function forget(user) {
  Object.assign(talk, fresh(user));
  changed();
}

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

// quietly does what is done again later if it fails: the link is told in any case. act gets a function that reports
// whether the user is still the same.
export async function quietly(act) {
  const whose = talk.user;
  try {
    return await act(() => whose === talk.user);
  } catch {
    return null;
  }
}

const names = new Map(); // of users who are no contacts; "" for one that was asked for and is not known
let lacking = new Set(); // users whose names are asked for next

// nameOf is the name of a user. One that is not known is asked for, and drawn when it comes.
export function nameOf(user) {
  const contact = talk.contacts.get(user);
  const name = user === session?.user ? session.name : contact?.nickname || (contact?.username ?? names.get(user));
  if (name === undefined && talk.user) {
    if (!lacking.size) {
      setTimeout(askNames); // once for all that are drawn now
    }
    lacking.add(user);
  }
  return name || say("user {id}", { id: user });
}

async function askNames() {
  const ids = [...lacking];
  lacking = new Set();
  ids.forEach((id) => names.set(id, ""));
  for (let i = 0; i < ids.length; i += 100) {
    const asked = ids.slice(i, i + 100);
    await quietly(async () => {
      const { users } = await call("GET", `/users?ids=${asked.join()}`);
      users.forEach(({ user_id: id, username }) => names.set(id, username));
    });
  }
  changed();
}

// isOnline reports whether a user is online; null where that is not known.
export const isOnline = (user) => talk.online.get(user)?.online ?? null;

// isBlocked reports whether the user has blocked another one.
export const isBlocked = (user) => talk.contacts.get(user)?.blocked ?? false;

// isRoom reports whether a thread is the sale's room.
export const isRoom = (thread) => thread?.thread_id === talk.room?.thread_id;

// other is the other user of a thread of two, 0 in another one.
export function other(thread) {
  const pair = /^u(\d+)-(\d+)$/.exec(thread.thread_id)?.slice(1).map(Number) ?? [0, 0];
  return pair.find((user) => user !== talk.user) ?? 0;
}

// titleOf is how a thread is called.
export function titleOf(thread) {
  if (isRoom(thread)) {
    return say("Sale room");
  }
  const names = () => thread.participants.filter((user) => user !== talk.user).map(nameOf).join(", ");
  return thread.nickname || (other(thread) ? nameOf(other(thread)) : names()) || say("Group");
}

// pathOf is the address of a thread.
export const pathOf = (thread) => (isRoom(thread) ? "/rooms/sale" : `/threads/${thread.thread_id}`);

// listed are the threads, the newest change first.
export const listed = () => [...talk.threads.values()]
  .sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));

// unread is the number of messages that the header tells.
export const unread = () => listed().filter((t) => !t.is_muted).reduce((sum, t) => sum + t.unread, 0);
