// What the refusals of the server mean.
// texts tell the person who was refused, figures those who see how often that happens.

import { Refusal } from "./api.js";
import { tell } from "./dom.js";
import { wait } from "./format.js";
import { say } from "./words.js";

const texts = {
  ADDRESS_NOT_ALLOWED: "Operators may not do that from your address.",
  ACCOUNTS_FULL: "No more people can register.",
  ACCOUNT_CLOSED: "This account is closed.",
  BAD_REQUEST: "The server cannot read this request.",
  BODY_TOO_LARGE: "This is too long for the server.",
  CART_EMPTY: "The cart is empty.",
  CART_NOT_FOUND: "The cart has expired. Fill a new one.",
  CATALOGUE_USER: "This password cannot be changed here.",
  CLOSES_IN_PAST: "The sale cannot close at a time that is over.",
  CODE_NEEDED: "Now enter the code of your authenticator, or a recovery code.",
  CONTACTS_OUT_OF_LIMIT: "You have as many contacts as there may be.",
  CONTACT_NOT_FOUND: "This person is none of your contacts.",
  COST_OUT_OF_LIMIT: "This is more than the limit ever allows.",
  COUPON_NEEDED: "A food in the cart needs a coupon. Enter it.",
  COUPON_UNKNOWN: "There is no such coupon.",
  COUPON_USED: "This coupon was used for another order.",
  DOCUMENT_INVALID: "Your passport is on the list of invalid ones.",
  EMPTY_REQUEST: "The server does not accept an empty request.",
  EVENTS_GONE: "These events are no longer kept.",
  FOOD_NOT_FOUND: "There is no such food.",
  FOOD_OUT_OF_LIMIT: "A cart holds at most three pieces.",
  FOOD_OUT_OF_STOCK: "There are not enough pieces left.",
  GROUP_FULL: "The group has as many members as there may be.",
  HEADER_TOO_LARGE: "This is too long for the server.",
  HISTORY_UNAVAILABLE: "Older messages cannot be read now. Try again later.",
  IDEMPOTENCY_KEY_REUSED: "This change was sent before with other numbers.",
  INTERNAL_ERROR: "The server has failed. Try again later.",
  INVALID_ACCESS_TOKEN: "Your login has expired. Log in again.",
  INVALID_ADD: "A restock adds or takes back 1 to 1,000,000,000 pieces.",
  INVALID_CONTACT: "This person cannot be a contact of yours.",
  INVALID_EMAIL: "This is no e-mail address.",
  INVALID_FORMAT: "There is no such format.",
  INVALID_IDEMPOTENCY_KEY: "The server does not accept this request.",
  INVALID_ITEMS: "Leave at least one piece, and take at least one out.",
  INVALID_KEY: "There is no such key.",
  INVALID_MESSAGE: "This message cannot be sent.",
  INVALID_NAME: "A name has 3 to 32 characters, and not only digits.",
  INVALID_PAGE: "There is no such page.",
  INVALID_PASSWORD: "A password has at least 8 characters.",
  INVALID_RANGE: "There are no figures for this range.",
  INVALID_REASON: "A reason has 1 to 200 visible characters; expired, for one, is taken.",
  INVALID_ROWS: "There is no such list.",
  INVALID_SALE_STATE: "There is no such state of a sale.",
  INVALID_SALE_TIMES: "The sale cannot have these times: it must open before it closes.",
  INVALID_SECRET: "The secret is wrong.",
  INVALID_SIZE: "There is no picture of this size.",
  INVALID_STATE: "There is no such state here.",
  INVALID_THREAD: "A conversation like this cannot be started.",
  KEY_NOT_FOUND: "This key was never hit.",
  LAST_OWNER: "A group needs an owner. Make somebody else an owner first.",
  LEDGER_BEHIND: "Orders are not in the ledger yet. Try again in a moment.",
  LETTER_NOT_FOUND: "This event was sent meanwhile.",
  LIMIT_NOT_FOUND: "There is no such limit.",
  MALFORMED_JSON: "The server does not accept these values.",
  MESSAGE_NOT_FOUND: "There is no such message.",
  MESSAGE_REPEATED: "You have sent this text too often.",
  MESSAGE_TOO_LONG: "A message has at most 4096 bytes.",
  METHOD_NOT_ALLOWED: "The server does not accept this request.",
  MIXED_NAME: "A name may not mix letters of several scripts.",
  NAME_TAKEN: "Another user has this name.",
  NOT_ALLOWED: "You may not do that.",
  NOT_AN_OPERATOR: "Your account there is not one of an operator.",
  NOT_AN_OWNER: "Only an owner of the group may do that.",
  NOT_AUTHORIZED_TO_ACCESS_CART: "This cart belongs to another user. Fill a new one.",
  NOT_A_MEMBER: "You are not a member of this group.",
  NOT_FOR_OPERATORS: "An operator cannot do that. Log in as a buyer.",
  NOT_FOUND: "This server does not offer that.",
  OIDC_REFUSED: "This login was not finished, or took too long. Try again.",
  OIDC_UNAVAILABLE: "The place to log in cannot be reached. Log in with your password, or try again later.",
  OPENS_IN_PAST: "The sale cannot open by itself at a time that is over.",
  ORDER_CHANGED: "The order has changed: look at it again.",
  ORDER_NOT_FOUND: "There is no such order.",
  ORDER_OUT_OF_LIMIT: "You have ordered already: each user orders once.",
  ORDER_PAID: "The order is paid.",
  PROVIDER_UNAVAILABLE: "The payment service does not answer. Try again in a moment.",
  REFUND_NOT_FOUND: "This money is not due to be given back.",
  REGISTERED_NOT_ALLOWED: "Only users of the catalogue can buy in this sale.",
  RULE_HOUSEHOLD: "Somebody of your household has ordered already.",
  RULE_LIMIT: "The cart has more pieces of a food than you may buy.",
  RULE_NOT_LISTED: "A food in the cart is for other buyers.",
  RULE_TOO_EARLY: "You cannot buy a food in the cart yet.",
  RULE_TOO_LATE: "You cannot buy a food in the cart any longer.",
  SALE_CLOCKS_DIFFER: "The clocks of the Redis servers differ too much to schedule the sale.",
  SALE_CLOSED: "The sale is closed.",
  SALE_ENDED: "That sale has ended: its orders can only be cancelled.",
  SALE_NOT_CLOSED: "This sale is not closed: close it first.",
  SALE_NOT_FOUND: "There is no such sale.",
  SALE_NOT_OPEN: "The sale is not open yet.",
  SALE_PAUSED: "The sale is paused.",
  SALE_STATE_CONFLICT: "The sale cannot change to that state now.",
  SERVICE_UNAVAILABLE: "The server is busy. Try again in a moment.",
  SIGNATURE_INVALID: "The signature is not valid.",
  SLOW_MODE: "Here you can write once in some seconds. Wait a moment.",
  THREAD_NOT_FOUND: "There is no such conversation.",
  THREAD_OUT_OF_LIMIT: "You have started as many conversations as you may.",
  TOO_FEW_LEFT: "Fewer pieces are left than are to be taken back.",
  TOO_MANY_DOCUMENTS: "These are too many documents at once.",
  TOO_MANY_LOGOUTS: "The server cannot do that now. Try again later.",
  TOO_MANY_ORDERS: "Too many orders to sort. Use flashsale sale export.",
  TOO_MANY_PAYMENTS: "Too many payments were opened for this order.",
  TOO_MANY_RELEASED: "Too many of your orders were released: you cannot order again.",
  TOO_MANY_REQUESTS: "Too many requests. Try again in a moment.",
  UNKNOWN_FIELD: "The server does not know a field of this request. Load the page again.",
  URL_TOO_LONG: "This is too long for the server.",
  USER_AUTH_FAIL: "Name or password is wrong.",
  USER_BLOCKED: "One of you has blocked the other.",
  USER_MUTED: "You may not write in this room now.",
  USER_NOT_FOUND: "Nobody has this name.",
  WRONG_CODE: "The code is wrong or was used already.",
  WRONG_KIND_OF_THREAD: "This conversation does not allow that.",
  WEBHOOK_NOT_FOUND: "There is no such receiver.",
  WEBHOOK_REFUSED: "The receiver has not taken the event.",
};

// reason is the text for a code; the code itself where it has none here.
export const reason = (code) => say(texts[code] ?? code);

// figures are the refusals that the sale is about; the server tells anybody how many there are.
const figures = {
  CART_EMPTY: "Empty cart",
  CART_NOT_FOUND: "Unknown or old cart",
  COUPON_NEEDED: "Coupon needed",
  COUPON_UNKNOWN: "Unknown coupon",
  COUPON_USED: "Used coupon",
  DOCUMENT_INVALID: "Invalid document",
  FOOD_NOT_FOUND: "Unknown food",
  FOOD_OUT_OF_LIMIT: "More than three pieces",
  FOOD_OUT_OF_STOCK: "Sold out",
  NOT_AUTHORIZED_TO_ACCESS_CART: "Cart of another user",
  ORDER_OUT_OF_LIMIT: "Had ordered already",
  RULE_HOUSEHOLD: "Household had ordered",
  RULE_LIMIT: "More than the limit",
  RULE_NOT_LISTED: "Not among those who may buy",
  RULE_TOO_EARLY: "Before their time",
  RULE_TOO_LATE: "After their time",
  SALE_CLOSED: "Sale closed",
  SALE_NOT_OPEN: "Sale not open yet",
  SALE_PAUSED: "Sale paused",
  SERVICE_UNAVAILABLE: "Server busy",
  TOO_MANY_REQUESTS: "Too many requests",
};

// more are the other ones that happen in daily use; operators are told of them, and of those without a text here
// by their reason.
const more = {
  INVALID_ACCESS_TOKEN: "Not logged in",
  MALFORMED_JSON: "Request not understood",
  NOT_FOUND: "Unknown address",
  USER_AUTH_FAIL: "Wrong name or password",
};

// refusals gives [code, n] the texts that a viewer reads.
export const refusals = (byCode) => byCode.map(([code, n]) =>
  [say(figures[code] ?? more[code] ?? texts[code] ?? code), n]);

// reasonOf is what went wrong, in words.
export function reasonOf(error) {
  if (!(error instanceof Refusal)) {
    return say("The server cannot be reached. Check your connection and try again.");
  }
  if (error.code === "TOO_MANY_REQUESTS" && error.wait > 0) {
    return say("Too many requests. Try again in {time}.", { time: wait(error.wait) });
  }
  return reason(error.code) || say("The server answers {status}.", { status: error.status });
}

// tellError shows what went wrong.
export function tellError(element, error) {
  tell(element, "bad", reasonOf(error));
  if (!(error instanceof Refusal)) {
    element.dataset.unreached = performance.now();
  }
}

const readingTime = 5000; // ms

// reached takes away that the server cannot be reached, once it was and people had time to read that.
export function reached() {
  for (const element of document.querySelectorAll("[data-unreached]")) {
    if (performance.now() - element.dataset.unreached > readingTime) {
      tell(element, "", "");
    }
  }
}
