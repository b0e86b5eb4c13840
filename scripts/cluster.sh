#!/usr/bin/env bash
# Three servers of one sale with a Redis Cluster of three masters and their replicas, all on 127.0.0.1:
# starts, loads and audits them, then stops everything.
#
#   scripts/cluster.sh [-valkey] [-replicas N] [-keep] [flags of scripts/bench...]
#
# -valkey takes valkey-server, or the program in VALKEY, instead of redis-server. -replicas (1) is the number
# for each master. -keep leaves everything running after the audit and prints how to load it again and how to
# stop it. PORT (8080) is the first port of the servers, NODE_PORT (7000) of the nodes; the catalogue's
# variables (USERS, FOODS, STOCK, CATALOG_DIR, DB_HOST, ...) reach servers and bench alike, ACK the servers.
# After Ctrl-C the audit still runs. The exit code comes from bench: 0 = the audit passed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stand.sh

readonly masters=3 servers=3 workers=2
port=${PORT:-8080} node_port=${NODE_PORT:-7000} replicas=1
program=redis-server package=redis-server
bench_flags=()
while (($#)); do
	case $1 in
	-valkey | --valkey) program=${VALKEY:-valkey-server} package=valkey-server ;;
	-replicas | --replicas)
		replicas=$2
		shift
		;;
	-keep | --keep) keep=true ;;
	-h | -help | --help) usage ;;
	*) bench_flags+=("$1") ;;
	esac
	shift
done
require "$program" "$package"
require redis-cli redis-tools

answers() { [[ $(redis-cli -p "$1" ping 2>&1) == PONG ]]; }
whole() {
	for node in "${nodes[@]}"; do
		[[ $(redis-cli -p "${node#*:}" cluster info) == *cluster_state:ok* ]] || return
	done
	for ((i = 0; replicas > 0 && i < masters; i++)); do
		[[ $(redis-cli -p "${nodes[i]#*:}" info replication) == *state=online* ]] || return
	done
}

build
make_secrets
nodes=()
for ((i = 0; i < masters * (1 + replicas); i++)); do
	at=$((node_port + i))
	vacant 127.0.0.1 "$at" NODE_PORT
	mkdir "$folder/node-$i"
	start "node-$i" "$program" --bind 127.0.0.1 --port "$at" --dir "$folder/node-$i" --save '' \
		--appendonly yes --appendfsync everysec --cluster-enabled yes --cluster-node-timeout 5000 \
		--cluster-require-full-coverage no --cluster-allow-replica-migration no \
		--min-replicas-to-write $((replicas > 0)) --min-replicas-max-lag 10
	await "node-$i" answers "$at"
	nodes+=("127.0.0.1:$at")
done
redis-cli --cluster create "${nodes[@]}" --cluster-replicas "$replicas" --cluster-yes \
	>"$folder/create.log" ||
	fail "cannot make the cluster: $(tail -n 3 "$folder/create.log")"
await "node-$((i - 1))" whole
say "${#nodes[@]} nodes are ready on ${nodes[0]} and the next ports"

addresses=()
for ((i = 0; i < servers; i++)); do
	name=server-$((i + 1)) at=$((port + i))
	vacant 127.0.0.1 "$at" PORT
	start "$name" "$folder/flashsale" -app-host 127.0.0.1 -app-port "$at" -workers "$workers" \
		-redis-cluster "$(IFS=,; echo "${nodes[*]}")" -data "$folder/$name"
	await "$name" ready 127.0.0.1 "$at"
	addresses+=("127.0.0.1:$at")
	say "server $((i + 1)) of $servers is ready on 127.0.0.1:$at"
done
load_and_audit
