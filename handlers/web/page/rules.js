// The rules of a purchase: what they say on the cards of the shop, the field for a coupon, and refusals in words.

import * as api from "./api.js";
import { now } from "./clock.js";
import { byId, make, setText, tell } from "./dom.js";
import { foods } from "./foods.js";
import { moment, number } from "./format.js";
import { nameOf } from "./goods.js";
import { say } from "./words.js";

let rules = null; // what holds for who is logged in

api.onSession(() => { byId("coupon").value = ""; });

// read reads what holds, and shows it. Nobody has rules before the login.
export async function read() {
  const login = api.session;
  const found = login && await api.call("GET", "/rules");
  if (login === api.session) {
    rules = found;
    show();
  }
}

const ruleOf = (food) => rules?.foods.find(({ food_id: id }) => id === food) ?? rules?.others;

// timesOf tells when a food may be bought, "" at any time.
function timesOf({ windows, listed, coupon }, at) {
  if (!listed) {
    return coupon ? say("Only with a coupon") : say("Not for you");
  }
  if (!windows) {
    return "";
  }
  const next = windows.find(({ until }) => until === null || Date.parse(until) > at);
  if (!next) {
    return say("Your time is over");
  }
  if (next.from !== null && Date.parse(next.from) > at) {
    return say("For you from {time}", { time: moment(next.from) });
  }
  return next.until === null ? "" : say("For you until {time}", { time: moment(next.until) });
}

const limitOf = ({ limit }) => (limit === null ? "" : say("At most {n} for each buyer", { n: number(limit) }));

// show draws the rules on the cards; it may be called often.
export function show() {
  const at = now();
  for (const food of foods) {
    const rule = ruleOf(food.id);
    const text = rule ? [timesOf(rule, at), limitOf(rule)].filter(Boolean).join(" · ") : "";
    if (!food.ruleText && text !== "") {
      food.ruleText = make("p", { class: "rule" });
      food.row.append(food.ruleText);
    }
    if (food.ruleText) {
      food.ruleText.hidden = text === "";
      setText(food.ruleText, text);
    }
  }
  byId("coupon-field").hidden = !rules?.coupons;
  const { household } = rules ?? {};
  byId("household").hidden = !household;
  setText(byId("household"), household ? say("One order for the household {name}", { name: household }) : "");
}

// coupon is what an order sends beside its cart.
export function coupon() {
  const code = byId("coupon").value.trim();
  return rules?.coupons && code !== "" ? { coupon: code } : {};
}

// explain tells a refusal by a rule with its food, and has the person enter a coupon.
export function explain(element, { code, details }) {
  const rule = details?.[0];
  if (rule?.food_id) {
    const why = code === "RULE_LIMIT" ? limitOf(rule) : timesOf(rule, now());
    tell(element, "bad", `${nameOf(rule.food_id)}: ${why}`);
  }
  if (code.startsWith("COUPON_")) {
    byId("cart-toggle").setAttribute("aria-expanded", "true");
    byId("coupon").focus();
  }
}
