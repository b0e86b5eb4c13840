#!/usr/bin/env bash
# Three servers of one sale on 127.0.0.1, .2 and .3 with one Redis: starts, loads and audits them, then stops
# everything.
#
#   scripts/three.sh [-haproxy] [-keep] [flags of scripts/bench...]
#
# -keep leaves everything running after the audit and prints how to load it again and how to stop it.
# -haproxy puts HAProxy in front, with scripts/deploy/haproxy.cfg, and loads through it. PORT (8080) is the
# port of the servers, FRONT_PORT (8000) the port of HAProxy; the catalogue's variables (USERS, FOODS, STOCK,
# CATALOG_DIR, DB_HOST, ...) reach servers and bench alike. After Ctrl-C the audit still runs. The exit code
# comes from bench: 0 = the audit passed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stand.sh

readonly hosts=(127.0.0.1 127.0.0.2 127.0.0.3)
port=${PORT:-8080}
export FRONT_PORT=${FRONT_PORT:-8000}
with_haproxy=false
bench_flags=()
for flag in "$@"; do
	case $flag in
	-haproxy | --haproxy) with_haproxy=true ;;
	-keep | --keep) keep=true ;;
	-h | -help | --help) usage ;;
	*) bench_flags+=("$flag") ;;
	esac
done
if $with_haproxy; then require haproxy haproxy; fi
for host in "${hosts[@]}"; do vacant "$host" "$port" PORT; done

build
make_secrets
start_redis always

addresses=()
for i in "${!hosts[@]}"; do
	name=server-$((i + 1))
	# One worker each: the three share one machine's processors.
	start "$name" "$folder/flashsale" -app-host "${hosts[i]}" -app-port "$port" -workers 1 \
		-redis "$folder/redis.sock" -data "$folder/$name"
	await "$name" ready "${hosts[i]}" "$port"
	addresses+=("${hosts[i]}:$port")
	say "server $((i + 1)) of ${#hosts[@]} is ready on ${hosts[i]}:$port"
done

if $with_haproxy; then
	# Fewer connections than in a real sale: an ordinary limit of open files is enough.
	FRONT_CONNS=${FRONT_CONNS:-8000} FRONT_VIEWERS=${FRONT_VIEWERS:-3000} \
		SERVER_1=${addresses[0]} SERVER_2=${addresses[1]} SERVER_3=${addresses[2]} \
		start haproxy haproxy -db -f scripts/deploy/haproxy.cfg
	await haproxy ready 127.0.0.1 "$FRONT_PORT"
	addresses=("127.0.0.1:$FRONT_PORT")
	say "HAProxy is ready on ${addresses[0]}"
fi

load_and_audit
