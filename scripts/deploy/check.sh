#!/bin/sh
# Checks before the sale opens that all servers, the front and Redis are ready. The last line then begins
# with "ready to sell"; without it something is wrong, and the files "ready" and "foods" show how far the
# check came.
set -e
cd "$(dirname "$0")"
. ./flashsale.env
. ./operator.env
call() { curl -sS --fail-with-body -w '\n' "$@"; }
for server in $servers; do call "http://$server:8080/readyz"; done > ready
test "$(sort -u ready | wc -l)" = 1 # the same sale, the same numbers of users and foods
grep -q "\"sale\":\"$SALE\"" ready
reply=$(call "$front/login" -d "{\"username\":\"root\",\"password\":\"$ROOT_PASSWORD\"}") || {
	echo "$reply"
	exit 1
}
token=$(echo "$reply" | sed -E 's/.*"access_token":"([^"]*)".*/\1/')
for server in $servers; do # each accepts the token of one server: the secrets are the same
	call "http://$server:8080/foods" -H "Access-Token: $token"
done > foods
test "$(sort -u foods | wc -l)" = 1
test "$(call "$front/admin/orders" -H "Access-Token: $token")" = '[]'
redis-cli -h "$redis" INFO persistence | grep -q aof_last_write_status:ok
echo "ready to sell: $(head -c 100 foods)..."
