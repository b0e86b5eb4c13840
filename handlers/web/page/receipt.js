// The receipt of an order: over the whole screen, with a QR code of the order's number.

import { byId, setText } from "./dom.js";
import { line } from "./foods.js";
import { time } from "./format.js";
import { amount } from "./goods.js";
import * as hold from "./hold.js";
import { say } from "./words.js";

let drawn = "";

export function start() {
  byId("receipt-open").addEventListener("click", open);
  byId("receipt-done").addEventListener("click", () => byId("receipt").close());
}

// open shows it over the whole screen. Once it is closed, the keyboard goes on at the button that opens it again.
export function open() {
  const again = byId("receipt-open");
  byId("receipt").showModal();
  byId("receipt").onclose = () => (again.checkVisibility() ? again : byId("main")).focus();
}

const noOrder = { id: "", items: [], total: 0 };

// show fills it with an order as the server tells it. Without one it closes.
export function show(order) {
  const { id, items, total, placed_at: placedAt } = order ?? noOrder;
  if (!order) {
    byId("receipt").close();
  }
  setText(byId("receipt-id"), id);
  byId("receipt-items").replaceChildren(...items.map(({ food_id: food, count }) => line(food, count)));
  setText(byId("receipt-total"), amount(total));
  setText(byId("receipt-time"), placedAt ? say("Placed {time}", { time: time(placedAt) }) : "");
  hold.show(order);
  if (id !== "" && id !== drawn) {
    drawn = id;
    draw(id);
  }
}

// draw draws the code, which is loaded for the first receipt. Without it the number is enough.
async function draw(id) {
  try {
    const { correction, generate } = await import("./lean-qr.js");
    generate(id, { minCorrectionLevel: correction.M }).toCanvas(byId("receipt-code"));
  } catch {
    drawn = ""; // it is tried again
  }
}
