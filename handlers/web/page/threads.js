// The list of the user's threads.

import { call } from "./api.js";
import { changed, quietly, talk } from "./talk.js";

const pageSize = 50;

// take takes a thread as the server has it. The server's list follows the messages: what pushes have told meanwhile
// stays, and so does what was seen here.
export function take(told) {
  const id = told.thread_id;
  const before = talk.threads.get(id);
  const { last, unread, updated_at: updated } = before && before.last > told.last ? before : told;
  const seen = last <= (talk.seen.get(id) ?? 0);
  put({ ...told, last, unread: seen ? 0 : unread, updated_at: updated });
}

// put keeps a thread.
function put(thread) {
  talk.threads.set(thread.thread_id, thread);
  if (talk.open?.thread_id === thread.thread_id) {
    talk.open = thread;
  }
  changed();
}

// read reads the threads that have changed; at first those of the first page.
export const read = () => quietly(async (isMine) => {
  const first = talk.changes === null;
  for (let more = true; more;) {
    const told = await call("GET", `/threads?limit=${pageSize}${first ? "" : `&after=${talk.changes}`}`);
    if (!isMine()) {
      return;
    }
    told.threads.forEach(take);
    if (first) {
      talk.before = told.next;
    }
    more = !first && told.changed !== talk.changes && told.threads.length === pageSize;
    talk.changes = told.changed;
    changed();
  }
});

// readOlder reads the next page of threads.
export async function readOlder() {
  const told = await call("GET", `/threads?limit=${pageSize}&before=${talk.before}`);
  told.threads.forEach(take);
  talk.before = told.next;
  changed();
}

// change changes the user's view of a thread: {is_muted}, {nickname} or {read}.
export async function change(thread, what) {
  take(await call("PATCH", `/threads/${thread.thread_id}`, what));
}

// count counts a message that was just stored.
export function count(message) {
  const thread = talk.threads.get(message.thread_id);
  if (thread && message.id > thread.last) {
    const unread = message.user_id === talk.user ? 0 : thread.unread + message.id - thread.last;
    put({ ...thread, last: message.id, unread, updated_at: message.created_at });
  } else if (!thread && message.thread_id !== talk.room?.thread_id) {
    read();
  }
}

// markRead marks a thread as read up to a message.
export function markRead(thread, id) {
  talk.seen.set(thread.thread_id, id);
  put({ ...thread, unread: 0 });
  change(thread, { read: id }).catch(() => {
    talk.seen.delete(thread.thread_id); // it is tried again when the page is drawn again
    put(thread);
  });
}
