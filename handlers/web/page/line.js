// The line to the server: pushes while there are any, else questions every ten seconds.

import { onSession, session } from "./api.js";
import { beat, readContacts } from "./people.js";
import { pushes } from "./pushes.js";
import * as shown from "./shown.js";
import { onChange as onSale } from "./store.js";
import { changed, forget, quietly, talk } from "./talk.js";
import * as threads from "./threads.js";

const pollEvery = 10_000; // ms; also between two heartbeats
const readEvery = 6; // polls; beside the pushes the threads are read, too, now and then

// start begins, once.
export function start() {
  pushes.on = {
    link: setLink,
    event: shown.takeEvent,
    message: (data) => (data.event ? shown.takeEvent(data) : shown.takeMessage(data)),
    begun: shown.begun,
    lost: shown.catchUp, // it learns why
  };
  onSession(begin);
  onSale(shown.followSale);
  setInterval(tick, pollEvery);
  document.addEventListener("visibilitychange", () => document.hidden || wake());
  for (const touch of ["pointerdown", "keydown"]) { // the server ends idle connections for good
    addEventListener(touch, () => talk.link === "poll" && pushes.wake(), { passive: true });
  }
  begin();
}

function setLink(live) {
  talk.link = live ? "live" : "poll";
  if (live) {
    threads.read();
  }
  changed();
}

// begin begins anew, for the user who is logged in now or for a visitor.
function begin() {
  pushes.stop();
  forget(session?.user ?? 0);
  shown.readRoom();
  if (talk.user) {
    readContacts();
    threads.read();
    beat();
    connect();
  }
}

function connect() {
  return quietly(async (isMine) => {
    try {
      await pushes.start(isMine);
    } catch (error) {
      if (isMine()) {
        setLink(false); // tick tries again
      }
    }
  });
}

function wake() {
  pushes.wake();
  tick();
}

let ticks = 0;

// tick does what is due every ten seconds while the page is looked at.
function tick() {
  if (document.hidden) {
    return;
  }
  const due = ++ticks % readEvery === 0 || talk.link !== "live";
  if (talk.user) {
    beat();
    if (due) {
      threads.read();
    }
    if (!pushes.client) {
      connect();
    }
  }
  if (!talk.room) {
    shown.readRoom();
  } else if (due) {
    shown.catchUp();
  }
}
