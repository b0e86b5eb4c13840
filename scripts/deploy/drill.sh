#!/bin/sh
# Shows what the newest backup of the sale holds, in a redis-server of this machine. A copy ends where Redis
# was writing: redis-check-aof cuts it behind the last whole transaction.
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
