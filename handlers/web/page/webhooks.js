// The webhooks: how each one does, its dead letters sent again, and one that has answered 410 switched on.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { count, number, wait } from "./format.js";
import { say } from "./words.js";

const path = "/admin/webhooks";
let shown = ""; // what the table tells: it is drawn anew only where that differs, so that a button keeps the focus

// start has the buttons perform their acts, which shows the outcome.
export function start(perform) {
  byId("webhooks-again").addEventListener("click", show);
  byId("webhooks-table").addEventListener("click", ({ target }) => {
    const { name, act } = target.dataset;
    if (act) {
      perform(() => acts[act](name), (told) => told).then(show);
    }
  });
}

// show reads how they do. A server without webhooks has none to show.
export async function show() {
  let list = [];
  try {
    list = await api.call("GET", path);
  } catch (error) {
    if (error.status !== 404) {
      return; // what is shown stays
    }
  }
  draw(list);
}

export const clear = () => draw([]);

function draw(list) {
  const text = JSON.stringify(list);
  if (text !== shown) {
    shown = text;
    byId("webhooks").hidden = list.length === 0;
    byId("webhooks-table").tBodies[0].replaceChildren(...list.map(row));
  }
}

const acts = { resend, on };

function row(hook) {
  const behind = hook.behind === 0 ? say("up to date") :
    say("{events}, {time}", { events: count(hook.behind, "event"), time: wait(Math.ceil(hook.behind_seconds)) });
  return make("tr", {}, make("th", { scope: "row" }, hook.name),
    make("td", {}, say(hook.off ? "wants no events" : "gets events")), make("td", {}, behind),
    make("td", { class: "num" }, number(hook.dead)),
    make("td", {}, ...[hook.dead > 0 && button(hook.name, "resend", say("Send again")),
      hook.off && button(hook.name, "on", say("Switch on"))].filter((act) => act && api.may("operator"))));
}

const button = (name, act, text) => make("button",
  { type: "button", "data-name": name, "data-act": act, "aria-label": `${text}: ${name}` }, text);

// resend sends the dead letters one by one, until one is refused.
async function resend(name) {
  const letters = await api.call("GET", `${path}/${name}/dead`);
  for (const { event } of letters) {
    await api.call("POST", `${path}/${name}/dead/${event.id}`);
  }
  return say("{events} sent again.", { events: count(letters.length, "event") });
}

async function on(name) {
  await api.call("POST", `${path}/${name}/on`);
  return say("{name} gets its events again.", { name });
}
