// The user's contacts, and who of them is online.

import { call } from "./api.js";
import { pushes } from "./pushes.js";
import { changed, quietly, talk } from "./talk.js";

export const readContacts = () => quietly(async (isMine) => {
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

// meet makes a user, by id or name, a contact who is none yet: then the name and the presence are known.
export async function meet(who) {
  const path = `/contacts/${encodeURIComponent(who)}`;
  let found = null;
  try {
    found = await call("GET", path);
  } catch (error) {
    if (error.code !== "CONTACT_NOT_FOUND") {
      throw error;
    }
    found = await call("PUT", path, { blocked: false, nickname: "" });
  }
  talk.contacts.set(found.user_id, found);
  changed();
  return found;
}

// change changes a contact: {blocked} or {nickname}.
export async function change(user, what) {
  talk.contacts.set(user, await call("PUT", `/contacts/${user}`, what));
  changed();
}

export async function remove(user) {
  await call("DELETE", `/contacts/${user}`);
  talk.contacts.delete(user);
  talk.online.delete(user);
  changed();
}

// beat tells the server that the user is here, and learns which contacts are.
export const beat = () => quietly(async (isMine) => {
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
