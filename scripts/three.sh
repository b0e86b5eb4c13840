#!/usr/bin/env bash
# Three servers of one sale on 127.0.0.1, .2 and .3 with one Redis: starts them, loads them, audits, stops everything.
#
#   scripts/three.sh [-haproxy] [-keep] [flags of scripts/bench...]
#
# -keep leaves everything running after the audit and prints how to load it again and how to stop it.
# -haproxy puts HAProxy in front, as scripts/deploy/haproxy.cfg says, and loads through it.
# PORT (8080) is the servers' port, FRONT_PORT (8000) that of HAProxy; the catalogue's variables (USERS, FOODS, STOCK,
# CATALOG_DIR, DB_HOST, ...) reach servers and bench alike. Ctrl-C ends the load early and still audits.
# The exit code is that of bench: 0 = the audit passed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly hosts=(127.0.0.1 127.0.0.2 127.0.0.3)
readonly start_seconds=15 stop_seconds=15
port=${PORT:-8080}
export FRONT_PORT=${FRONT_PORT:-8000}
with_haproxy=false keep=false
bench_flags=()
for flag in "$@"; do
	case $flag in
	-haproxy | --haproxy) with_haproxy=true ;;
	-keep | --keep) keep=true ;;
	-h | -help | --help)
		sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
		exit 0
		;;
	*) bench_flags+=("$flag") ;;
	esac
done

say() { echo "three.sh: $*" >&2; }

fail() {
	say "$*"
	exit 3
}

require() {
	command -v "$1" >/dev/null || fail "$1 is missing; apt-get install $2"
}
require redis-server redis-server
if $with_haproxy; then require haproxy haproxy; fi

folder=$(mktemp -d)
pids=()

# start NAME COMMAND...: runs it in the background, its output in NAME.log. Its own session keeps Ctrl-C from it, and without
# -keep the kernel kills it with this script, whatever ends that.
start() {
	local tie=(setpriv --pdeathsig KILL)
	if $keep; then tie=(); fi
	setsid "${tie[@]}" "${@:2}" </dev/null >"$folder/$1.log" 2>&1 &
	pids+=($!)
}

# stop ends what was started, the last one first, so that no server loses its Redis before it is gone.
stop() {
	trap '' INT TERM
	local i pid deadline
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		pid=${pids[i]} deadline=$((SECONDS + stop_seconds))
		kill -TERM "$pid" 2>/dev/null || true
		while kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)); do sleep 0.05; done
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$folder"
}
trap stop EXIT

# leave goes without stopping anything. The file that it leaves for that purpose stops Redis last.
leave() {
	local i order=()
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do order+=("${pids[i]}"); done
	cat >"$folder/stop" <<-EOF
		#!/bin/sh
		for pid in ${order[*]}; do
			kill "\$pid" 2>/dev/null
			while grep -qs '^State:.[^ZX]' "/proc/\$pid/status"; do sleep 0.05; done
		done
		rm -rf '$folder'
	EOF
	chmod +x "$folder/stop"
	trap - EXIT
	say "left running on ${addresses[*]}, logs in $folder"
	say "audit again: go run ./scripts/bench -audit-only -addr $(IFS=,; echo "${addresses[*]}") -data $folder"
	say "stop:        $folder/stop"
}
trap 'exit 143' TERM

# answers HOST PORT: whether GET /readyz is answered 200 there.
answers() {
	(
		exec 3<>"/dev/tcp/$1/$2"
		printf 'GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" >&3
		read -r -t 2 _ status _ <&3
		[[ $status == 200 ]]
	) 2>/dev/null
}

# await NAME HOST PORT: waits until the process started last is ready there.
await() {
	local deadline=$((SECONDS + start_seconds)) pid=${pids[-1]}
	until answers "$2" "$3"; do
		if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then
			cat "$folder/$1.log" >&2
			fail "$1 is not ready on $2:$3"
		fi
		sleep 0.05
	done
}

say "building"
go build -o "$folder/flashsale" .
go build -o "$folder/bench" ./scripts/bench

TOKEN_SECRET=$(head -c 32 /dev/urandom | base64 -w 0)
ROOT_PASSWORD=${ROOT_PASSWORD:-$(head -c 12 /dev/urandom | base64 -w 0)}
export TOKEN_SECRET ROOT_PASSWORD
if $keep; then printf '%s\n' "$ROOT_PASSWORD" >"$folder/root-password"; fi

start redis redis-server --port 0 --unixsocket "$folder/redis.sock" --dir "$folder" \
	--save '' --appendonly yes --appendfsync always
until [[ -S $folder/redis.sock ]]; do
	kill -0 "${pids[0]}" 2>/dev/null || { cat "$folder/redis.log" >&2; fail "redis-server did not start"; }
	sleep 0.05
done
say "redis-server is ready"

addresses=()
for i in "${!hosts[@]}"; do
	# One worker each: the three share one machine's processors.
	start "server-$((i + 1))" "$folder/flashsale" -app-host "${hosts[i]}" -app-port "$port" -workers 1 \
		-redis "$folder/redis.sock" -data "$folder/server-$((i + 1))"
	await "server-$((i + 1))" "${hosts[i]}" "$port"
	addresses+=("${hosts[i]}:$port")
	say "server $((i + 1)) of ${#hosts[@]} is ready on ${hosts[i]}:$port"
done

if $with_haproxy; then
	SERVER_1=${addresses[0]} SERVER_2=${addresses[1]} SERVER_3=${addresses[2]} \
		start haproxy haproxy -db -f scripts/deploy/haproxy.cfg
	await haproxy 127.0.0.1 "$FRONT_PORT"
	addresses=("127.0.0.1:$FRONT_PORT")
	say "HAProxy is ready on ${addresses[0]}"
fi

say "load and audit"
# In the background, so that a SIGTERM to this script is not held up; Ctrl-C reaches bench by itself.
trap : INT
setpriv --pdeathsig TERM "$folder/bench" -addr "$(IFS=,; echo "${addresses[*]}")" "${bench_flags[@]}" &
bench=$!
pids+=("$bench")
while :; do
	code=0
	wait "$bench" || code=$?
	kill -0 "$bench" 2>/dev/null || break
done
unset 'pids[-1]' # its number is free for other processes now
if $keep; then leave; fi
exit "$code"
