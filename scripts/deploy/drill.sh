#!/bin/sh
# Counts the orders in the newest backup of the sale, with a redis-server on this machine. A copy may end
# inside a transaction: redis-check-aof cuts it behind the last whole one.
set -e
cd "$(dirname "$0")"
. ./flashsale.env
unset REDISCLI_AUTH
drill=$(mktemp -d)
trap 'redis-cli -s "$drill/socket" SHUTDOWN NOSAVE; rm -r "$drill"' EXIT
cp -r "$(ls -d "backup/${SALE:?}"/* | tail -n 1)" "$drill/appendonlydir"
yes | redis-check-aof --fix "$drill/appendonlydir/appendonly.aof.manifest"
redis-server --port 0 --unixsocket "$drill/socket" --dir "$drill" --save '' --appendonly yes \
	--aof-load-truncated no --daemonize yes
timeout 600 sh -c "until redis-cli -s '$drill/socket' PING | grep -q PONG; do sleep 0.2; done"
orders=$(redis-cli -s "$drill/socket" --scan --pattern 'o_*' | wc -l)
echo "sale $(redis-cli -s "$drill/socket" HGET sale id), orders: $orders"
