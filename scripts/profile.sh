#!/usr/bin/env bash
# Profiles a server under the load of scripts/bench.
#
#   scripts/profile.sh [seconds]
#
# Writes cpu.pprof and allocs.pprof of worker 0 to the folder named by OUT (by default a new one) and prints
# the top of each. PORT (18090) is the server's port, PORT+1 that of the profiles.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stand.sh

seconds=${1:-10}
port=${PORT:-18090}
out=${OUT:-$(mktemp -d)}
require curl curl
build
export ROOT_PASSWORD=profile USERS=$((seconds * 40000 + 100000)) STOCK=100000
start_redis ""
start server "$folder/flashsale" -data "$folder/data" -redis "$folder/redis.sock" -app-port "$port" \
	-pprof "127.0.0.1:$((port + 1))"
await server ready 127.0.0.1 "$port"

start load "$folder/bench" -addr "127.0.0.1:$port" -concurrency 64 -orders $((USERS - 1000)) \
	-duration "$((seconds + 2))s"
sleep 1
profiles=http://127.0.0.1:$((port + 1))/debug/pprof
curl -sf "$profiles/profile?seconds=$seconds" >"$out/cpu.pprof"
curl -sf "$profiles/allocs" >"$out/allocs.pprof"
wait "${pids[-1]}"
unset 'pids[-1]'
grep -E 'orders/s mean|orders placed' "$folder/load.log"
top() { go tool pprof -top "$@" 2>/dev/null; }
top -nodecount 25 "$folder/flashsale" "$out/cpu.pprof"
top -nodecount 15 -sample_index=alloc_space "$folder/flashsale" "$out/allocs.pprof"
echo "profiles: $out"
