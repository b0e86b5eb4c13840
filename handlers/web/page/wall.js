// The live view for a screen on a wall: no header, large digits, and a screen that does not go dark.

import { byId } from "./dom.js";

const hash = "#wall";
let lock = null;

export const isOn = () => location.hash === hash;

export function start() {
  addEventListener("hashchange", follow);
  document.addEventListener("visibilitychange", follow);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isOn()) {
      location.hash = "#/live";
    }
  });
  byId("to-wall").addEventListener("click", () => {
    location.hash = hash;
    document.documentElement.requestFullscreen?.().catch(() => {}); // it is a wish
  });
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement && isOn()) {
      location.hash = "#/live"; // Esc has ended both
    }
  });
  follow();
}

// follow has the page look as its address says. A browser lets go of the lock when the page is hidden.
async function follow() {
  document.documentElement.classList.toggle("wall", isOn());
  if (!isOn() && document.fullscreenElement) {
    document.exitFullscreen().catch(() => {});
  }
  if (isOn() && !document.hidden && (lock?.released ?? true)) {
    lock = await navigator.wakeLock?.request("screen").catch(() => null) ?? null;
  } else if (!isOn() && lock) {
    lock.release().catch(() => {});
    lock = null;
  }
}
