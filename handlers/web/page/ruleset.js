// What operators see of the rules of a purchase: how much is read, and how much is used.

import * as api from "./api.js";
import { byId, make, setText, tell } from "./dom.js";
import { number } from "./format.js";
import { tellError } from "./messages.js";
import { say } from "./words.js";

export function start() {
  byId("ruleset").hidden = false;
  byId("ruleset-again").addEventListener("click", read);
}

// read shows what the servers have read and what orders have used.
export async function read() {
  const message = byId("ruleset-message");
  try {
    const found = await api.call("GET", "/admin/rules");
    tell(message, "", "");
    const lines = [
      say("{n} limits and windows, {users} users",
        { n: number(found.limits_and_windows), users: number(found.users) }),
      ...found.groups.map(({ name, members, coupons }) =>
        say("Group {name}: {members} members, {coupons} coupons", { name, members: number(members),
          coupons: number(coupons) })),
      say("Households: {n}, with an order {used}", { n: number(found.households),
        used: number(found.households_used) }),
      say("Coupons: {n}, used {used}", { n: number(found.coupons), used: number(found.coupons_used) }),
    ];
    byId("ruleset-lines").replaceChildren(...lines.map((text) => make("li", {}, text)));
    setText(byId("ruleset-version"), found.version);
  } catch (error) {
    tellError(message, error);
  }
}
