package handlers

import (
	"strconv"
	"strings"
)

// english are the messages of errors for clients that prefer English to Chinese, by code. All others get the
// Chinese ones, as in the contest.
var english = map[string]string{
	"INVALID_ACCESS_TOKEN":          "The access token is missing, expired or invalid.",
	"EMPTY_REQUEST":                 "The request has no body.",
	"MALFORMED_JSON":                "The body is not JSON as this call takes it.",
	"USER_AUTH_FAIL":                "The name or the password is wrong.",
	"CART_NOT_FOUND":                "There is no such cart.",
	"NOT_AUTHORIZED_TO_ACCESS_CART": "The cart belongs to another user.",
	"FOOD_NOT_FOUND":                "There is no such food.",
	"FOOD_OUT_OF_LIMIT":             "A cart holds at most three pieces.",
	"CART_EMPTY":                    "The cart is empty.",
	"FOOD_OUT_OF_STOCK":             "There are not enough pieces left.",
	"ORDER_OUT_OF_LIMIT":            "Each user may place one order.",
	"RULE_LIMIT":                    "That is more pieces of a food than you may buy.",
	"RULE_TOO_EARLY":                "You may not buy a food yet.",
	"RULE_TOO_LATE":                 "You may not buy a food any longer.",
	"RULE_NOT_LISTED":               "You are not among those who may buy a food.",
	"RULE_HOUSEHOLD":                "Someone of your household has ordered.",
	"COUPON_NEEDED":                 "A food needs a coupon.",
	"COUPON_UNKNOWN":                "There is no such coupon.",
	"COUPON_USED":                   "The coupon is used.",
	"SALE_NOT_OPEN":                 "The sale is not open yet.",
	"SALE_PAUSED":                   "The sale is paused.",
	"SALE_CLOSED":                   "The sale is closed.",
	"SERVICE_UNAVAILABLE":           "The server is busy.",
	"NOT_FOUND":                     "There is no such path.",
	"METHOD_NOT_ALLOWED":            "This path does not take this method.",
	"BAD_REQUEST":                   "The request cannot be read.",
	"BODY_TOO_LARGE":                "The body is too large.",
	"URL_TOO_LONG":                  "The URL is too long.",
	"HEADER_TOO_LARGE":              "The headers are too large.",
	"INVALID_IDEMPOTENCY_KEY":       "An Idempotency-Key has 1 to 255 characters.",
	"IDEMPOTENCY_KEY_REUSED":        "The Idempotency-Key was used for another request.",
	"INVALID_SECRET":                "The secret is wrong.",
	"TOO_MANY_REQUESTS":             "There are too many requests.",
	"LIMIT_NOT_FOUND":               "No rate limit has this name.",
	"COST_OUT_OF_LIMIT":             "The cost is greater than the limit allows at any time.",
	"NOT_ALLOWED":                   "You may not do this.",
	"NOT_FOR_OPERATORS":             "An operator is no user: this call is for users.",
	"ADDRESS_NOT_ALLOWED":           "You may not do this from your address.",
	"CODE_NEEDED":                   "The code of the second factor is missing.",
	"WRONG_CODE":                    "The code is wrong or was used.",
	"OIDC_REFUSED":                  "The login at the provider was not finished, is too old, or is not valid.",
	"NOT_AN_OPERATOR":               "Your account at the provider is not one of an operator.",
	"OIDC_UNAVAILABLE":              "The login provider cannot be reached.",
	"DOCUMENT_INVALID":              "The identity document is invalid.",
	"TOO_MANY_DOCUMENTS":            "A request may ask for at most 500 documents.",
	"INVALID_KEY":                   "The key is invalid.",
	"INVALID_RANGE":                 "The time range, the step or the number is invalid.",
	"KEY_NOT_FOUND":                 "There are no statistics of this key.",
	"SALE_STATE_CONFLICT":           "The sale cannot change from its state to this one.",
	"SALE_CLOCKS_DIFFER":            "The clocks of the Redis servers differ too much to schedule the sale.",
	"INVALID_SALE_STATE":            "There is no such state of a sale.",
	"INVALID_SALE_TIMES":            "The opening or closing time is invalid.",
	"INVALID_FORMAT":                "The format must be csv or jsonl.",
	"INVALID_NAME":                  "A name has 3 to 32 visible characters and is not all digits.",
	"INVALID_PASSWORD":              "A password has 8 characters to 256 bytes.",
	"INVALID_EMAIL":                 "The e-mail address is invalid.",
	"NAME_TAKEN":                    "Another user has this name.",
	"ACCOUNTS_FULL":                 "No more users can register.",
	"CATALOGUE_USER":                "The catalogue looks after its users.",
	"TOO_MANY_LOGOUTS":              "Too many users have logged out lately.",
	"REGISTERED_NOT_ALLOWED":        "Registered users cannot buy in this sale.",
	"USER_NOT_FOUND":                "There is no such user.",
	"CONTACT_NOT_FOUND":             "There is no such contact.",
	"INVALID_CONTACT":               "A contact is another user; a nickname has at most 64 characters.",
	"CONTACTS_OUT_OF_LIMIT":         "A user has at most 1000 contacts.",
	"INVALID_PAGE":                  "The parameters of the page are invalid.",
	"THREAD_NOT_FOUND":              "There is no such thread.",
	"NOT_A_MEMBER":                  "You are not a member of this thread.",
	"NOT_AN_OWNER":                  "Only an owner of the group may do this.",
	"LAST_OWNER":                    "A group keeps at least one owner.",
	"WRONG_KIND_OF_THREAD":          "This kind of thread does not allow this.",
	"USER_BLOCKED":                  "One of you has blocked the other.",
	"THREAD_OUT_OF_LIMIT":           "You have started too many threads.",
	"GROUP_FULL":                    "The group is full.",
	"INVALID_THREAD":                "The values for the thread are invalid.",
	"INVALID_MESSAGE":               "The message is empty or its id is too long.",
	"MESSAGE_TOO_LONG":              "A message has at most 4096 bytes.",
	"USER_MUTED":                    "You may not write here now.",
	"SLOW_MODE":                     "You are writing too fast for this room.",
	"MESSAGE_REPEATED":              "This text was sent too often.",
	"MESSAGE_NOT_FOUND":             "There is no such message.",
	"HISTORY_UNAVAILABLE":           "Older messages cannot be read at the moment.",
	"MIXED_NAME":                    "A name must not mix letters of several scripts.",
	"CLOSES_IN_PAST":                "The closing time is over; to close at once, send the state closed.",
	"OPENS_IN_PAST":                 "The opening time is over; to open at once, send the state open.",
	"SALE_NOT_CLOSED":               "The sale is not closed: close it first.",
	"LEDGER_BEHIND":                 "Orders are not in the ledger yet. Try again in a moment.",
	"INVALID_ROWS":                  "The rows must be orders or items.",
	"TOO_MANY_ORDERS":               "Too many orders to sort: search for fewer, or use flashsale sale export.",
	"SALE_NOT_FOUND":                "There is no such sale.",
	"SALE_ENDED":                    "That sale has ended: its orders can only be cancelled.",
	"ORDER_NOT_FOUND":               "There is no such order.",
	"ORDER_PAID":                    "The order is paid.",
	"ORDER_CHANGED":                 "The order has changed: look at it again.",
	"TOO_MANY_PAYMENTS":             "Too many payments were opened for this order.",
	"PROVIDER_UNAVAILABLE":          "The payment service does not answer. Try again in a moment.",
	"SIGNATURE_INVALID":             "The signature is not valid.",
	"REFUND_NOT_FOUND":              "There is no such refund.",
	"INVALID_REASON":                "A reason has 1 to 200 visible characters; expired, for one, is taken.",
	"INVALID_ITEMS":                 "The items must be a part of the order.",
	"INVALID_STATE":                 "There is no such state here.",
	"TOO_MANY_RELEASED":             "Too many of your orders were released: you cannot order again.",
	"INVALID_ADD":                   "A restock adds or takes back 1 to 1000000000 pieces.",
	"ACCOUNT_CLOSED":                "The account is closed.",
	"EVENTS_GONE":                   "The events behind this cursor are no longer kept.",
	"WEBHOOK_NOT_FOUND":             "There is no such webhook.",
	"LETTER_NOT_FOUND":              "There is no such dead letter.",
	"WEBHOOK_REFUSED":               "The webhook has not taken the event.",
	"INVALID_SIZE":                  "A size is a whole number from 1 to 65536.",
	"INTERNAL_ERROR":                "The server has failed.",
}

// prefersEnglish reports whether the value of an Accept-Language has English before Chinese. "*" is no wish.
func prefersEnglish(value string) bool {
	return weightOf(value, "en") > weightOf(value, "zh")
}

// weightOf returns the largest weight of a language in the value of an Accept-Language (RFC 9110, 12.5.4).
// Of several languages with the same weight the first is preferred, which is worth a little here.
func weightOf(value, language string) (weight float64) {
	rest := 1e-6
	for part := range strings.SplitSeq(value, ",") {
		tag, parameter, _ := strings.Cut(part, ";")
		tag, _, _ = strings.Cut(strings.TrimSpace(tag), "-")
		wanted := 1.0
		if text, weighted := strings.CutPrefix(strings.TrimSpace(parameter), "q="); weighted {
			wanted, _ = strconv.ParseFloat(text, 64) // without a number: 0
		}
		if strings.EqualFold(tag, language) && wanted > 0 {
			weight = max(weight, wanted+rest)
		}
		rest /= 2
	}
	return weight
}
