# Shell scripts source this file to start programs, wait until each is ready, and stop all of them. It is the
# shell's internal/testkit/launch.
#
# It makes $folder for logs and data and removes it at the end of the script, after the programs have ended.

readonly start_seconds=15 stop_seconds=15
folder=$(mktemp -d)
pids=() # of the started programs, in order
keep=false # true: the programs may outlive this script

say() { echo "${0##*/}: $*" >&2; }

fail() {
	say "$*"
	exit 3
}

require() {
	command -v "$1" >/dev/null || fail "$1 is missing; apt-get install $2"
}

# build: the server and bench, into $folder.
build() {
	say "building"
	go build -o "$folder/flashsale" .
	go build -o "$folder/bench" ./scripts/bench
}

# start NAME COMMAND...: runs the command in the background, its output in NAME.log, in a session without
# Ctrl-C. Unless $keep is true, the kernel kills the command with this script, whatever ends the script.
start() {
	local tie=(setpriv --pdeathsig KILL)
	if $keep; then tie=(); fi
	setsid "${tie[@]}" "${@:2}" </dev/null >"$folder/$1.log" 2>&1 &
	pids+=($!)
}

# start_redis FSYNC: redis-server on $folder/redis.sock. FSYNC is its appendfsync; with "" it keeps nothing
# on disk.
start_redis() {
	local log=(--appendonly no)
	if [[ $1 ]]; then log=(--appendonly yes --appendfsync "$1"); fi
	require redis-server redis-server
	start redis redis-server --port 0 --unixsocket "$folder/redis.sock" --dir "$folder" --save '' "${log[@]}"
	await redis test -S "$folder/redis.sock"
	say "redis-server is ready"
}

# await NAME CONDITION...: waits until the condition holds for NAME, the program started last.
await() {
	local deadline=$((SECONDS + start_seconds)) pid=${pids[-1]}
	until "${@:2}"; do
		if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then
			cat "$folder/$1.log" >&2
			fail "$1 is not ready"
		fi
		sleep 0.05
	done
}

# ready HOST PORT: reports whether GET /readyz is answered 200 there.
ready() {
	(
		exec 3<>"/dev/tcp/$1/$2"
		printf 'GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" >&3
		read -r -t 2 _ status _ <&3
		[[ $status == 200 ]]
	) 2>/dev/null
}

# stop ends the programs, the last one first, so that no server loses its Redis before its own end.
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
trap 'exit 143' TERM
