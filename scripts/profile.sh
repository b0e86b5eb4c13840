#!/usr/bin/env bash
# Profiles a server under the load of scripts/bench.
#
#   scripts/profile.sh [seconds]
#
# Writes cpu.pprof and allocs.pprof of worker 0 to the folder named by OUT (by default a new one) and prints
# the top of each.
# PORT (18090) is the server's port, PORT+1 that of the profiles.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-10}
port=${PORT:-18090}
out=${OUT:-$(mktemp -d)}
work=$(mktemp -d)
server= redis=
finish() {
	[[ -z $server ]] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	[[ -z $redis ]] || { kill "$redis" && wait "$redis"; } 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

go build -o "$work/flashsale" .
go build -o "$work/bench" ./scripts/bench
export ROOT_PASSWORD=profile USERS=$((seconds * 40000 + 100000)) STOCK=100000
redis-server --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save '' --appendonly no >/dev/null &
redis=$!
"$work/flashsale" -data "$work/data" -redis "$work/redis.sock" -app-port "$port" \
	-pprof "127.0.0.1:$((port + 1))" >"$work/log" &
server=$!
timeout 20 bash -c "until curl -sf http://127.0.0.1:$port/readyz >/dev/null; do sleep 0.1; done"

"$work/bench" -addr "127.0.0.1:$port" -concurrency 64 -orders $((USERS - 1000)) \
	-duration "$((seconds + 2))s" >"$work/load" &
load=$!
sleep 1
profiles=http://127.0.0.1:$((port + 1))/debug/pprof
curl -sf "$profiles/profile?seconds=$seconds" >"$work/cpu.pprof"
curl -sf "$profiles/allocs" >"$work/allocs.pprof"
wait "$load"
grep -E 'orders/s mean|orders placed' "$work/load"

cp "$work/cpu.pprof" "$work/allocs.pprof" "$out"
go tool pprof -top -nodecount 25 "$work/flashsale" "$out/cpu.pprof" 2>/dev/null
go tool pprof -sample_index=alloc_space -top -nodecount 15 "$work/flashsale" "$out/allocs.pprof" 2>/dev/null
echo "profiles: $out"
