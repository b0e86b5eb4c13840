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
  const after = talk.changes === null ? "" : `&after=${talk.changes}`;
  const path = `/threads?limit=${pageSize}${after}`;
  const first = await call("GET", path);
  for (let told = first; isMine(); told = await call("GET", `${path}&before=${told.next}`)) {
    told.threads.forEach(take);
    changed();
    if (!after) {
      talk.before = told.next;
    }
    if (!after || !told.next) {
      talk.changes = first.changed;
      return;
    }
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
