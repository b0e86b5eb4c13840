#!/usr/bin/env bash
# Buys one piece of a food: buy.sh localhost:8080 user2 pass2 7. Writes the order's id.
set -euo pipefail
(($# == 4)) || { echo "usage: buy.sh host:port name password food" >&2; exit 2; }
server=$1 name=$2 password=$3 food=$4
key=$(cat /proc/sys/kernel/random/uuid) # made once: the same order is never placed twice
token='' tries=20
reply=$(mktemp) head=$(mktemp)
trap 'rm -f "$reply" "$head"' EXIT

# call METHOD PATH [BODY] sends one request. status is 0 where no answer came.
call() {
	status=$(curl -s -m 10 -o "$reply" -D "$head" -w '%{http_code}' -X "$1" "http://$server$2" \
		-H "Access-Token: $token" -H "Idempotency-Key: $key" -d "${3:-}") || status=0
}

# settled reports whether the outcome is known. If not, it waits as long as the server asks for.
settled() {
	((status != 0 && status != 429 && status < 500)) && return
	((--tries)) || { echo "no answer from $server" >&2; exit 1; }
	sleep "$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]*\).*/\1/p' "$head" | grep . || echo 1)"
	return 1
}

# again sends a request until its outcome is known.
again() {
	: >"$head"
	call "$@"
	until settled; do call "$@"; done
	((status < 400)) || { echo "$status $(field code)" >&2; exit 1; }
}

# field NAME is a text in the last answer.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$reply"; }

again POST /login "{\"username\":\"$name\",\"password\":\"$password\"}"
token=$(field access_token)
again GET /foods
grep -q "\"id\":$food," "$reply" || { echo "there is no food $food" >&2; exit 1; }
while
	again POST /carts
	cart=$(field cart_id)
	call PATCH "/carts/$cart" "{\"food_id\":$food,\"count\":1}"
	! settled # an add is not sent again, it would count twice: begin with a new cart
do :; done
((status < 400)) || { echo "$status $(field code)" >&2; exit 1; }
again POST /orders "{\"cart_id\":\"$cart\"}"
printf '%s\n' "$(field id)"
