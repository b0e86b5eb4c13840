#!/bin/sh
# Makes an empty machine a replica of a cluster, in the place of a node that was lost with its disk. Another
# node has to answer. The node joins the master that has the fewest replicas.
#
#   sh replace.sh ADDRESS OTHER
if [ $# -lt 2 ]; then
	echo "usage: sh replace.sh ADDRESS OTHER" >&2
	exit 2
fi
set -e
cd "$(dirname "$0")"
. ./operator.env
redis-cli -h "$2" CLUSTER NODES | grep -F " $1:" | cut -d ' ' -f 1 | while read -r lost; do
	for node in $nodes; do
		test "$node" = "$1" || redis-cli -h "$node" CLUSTER FORGET "$lost" </dev/null
	done
done
sh redis.sh "$1" redis-replicas.conf redis-cluster.conf
redis-cli --cluster add-node "$1:6379" "$2:6379" --cluster-slave
timeout 600 sh -c "until redis-cli -h $1 INFO replication | grep -q master_link_status:up; do
	sleep 0.2
done"
