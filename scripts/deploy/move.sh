#!/bin/sh
# Moves a sale with slices from one Redis to a cluster while it sells: that Redis becomes the first master,
# the machines named here the others. Orders get 503 while it starts again. Each master ends with an equal
# part of the slots, and so of the slices.
#
#   sh move.sh ADDRESS...
if [ $# -lt 1 ]; then
	echo "usage: sh move.sh ADDRESS..." >&2
	exit 2
fi
set -e
cd "$(dirname "$0")"
. ./operator.env
sh redis.sh "$redis" redis-cluster.conf
redis-cli -h "$redis" EVAL "for s = 0, 16383 do redis.pcall('CLUSTER', 'ADDSLOTS', s) end" 0
all=$redis:6379
for node; do
	sh redis.sh "$node" redis-cluster.conf
	redis-cli --cluster add-node "$node:6379" "$redis:6379"
	all=$all,$node:6379
	sleep 5 # until all nodes know it
done
echo "nodes='$redis $*'" >> operator.env
sed -i "s/^REDIS_HOST=.*/REDIS_CLUSTER=$all/" flashsale.env
for server in $servers; do
	sh install.sh "$server"
	sleep 2 # the front sees it
done
redis-cli --cluster rebalance "$redis:6379" --cluster-use-empty-masters --cluster-pipeline 100
