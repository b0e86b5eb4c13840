# Shell scripts source this file to start programs, wait until each is ready, and stop all of them. It is the
# shell's internal/testkit/launch.
#
# It makes $folder for logs and data and removes it at the end of the script, after the programs have ended.

readonly start_seconds=60 stop_seconds=60 # a busy machine is slow
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

# usage shows the comment at the beginning of the script.
usage() {
	sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
	exit 0
}

# vacant HOST PORT VARIABLE: demands that no program listens there. VARIABLE sets another port.
vacant() {
	if (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; then
		fail "another program listens on $1:$2; end it, or set $3"
	fi
}

# make_secrets: what all servers of a sale share, in the environment.
make_secrets() {
	TOKEN_SECRET=$(head -c 32 /dev/urandom | base64 -w 0)
	ROOT_PASSWORD=${ROOT_PASSWORD:-$(head -c 12 /dev/urandom | base64 -w 0)}
	export TOKEN_SECRET ROOT_PASSWORD
	if $keep; then printf '%s\n' "$ROOT_PASSWORD" >"$folder/root-password"; fi
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

# leave ends the script and leaves the programs running, with a file to stop them, Redis last.
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
	local all
	all=$(IFS=,; echo "${addresses[*]}")
	say "left running on ${addresses[*]}, logs in $folder"
	say "audit again: go run ./scripts/bench audit -addr $all -data $folder"
	say "stop:        $folder/stop"
}

# load_and_audit: bench with ${bench_flags[@]} on the servers at ${addresses[@]}, and the end of the script.
load_and_audit() {
	say "load and audit"
	# In the background, so that SIGTERM ends this script at once; Ctrl-C reaches bench by itself.
	trap : INT
	setpriv --pdeathsig TERM "$folder/bench" -addr "$(IFS=,; echo "${addresses[*]}")" "${bench_flags[@]}" &
	local bench=$! code
	pids+=("$bench")
	while :; do
		code=0
		wait "$bench" || code=$?
		kill -0 "$bench" 2>/dev/null || break
	done
	unset 'pids[-1]' # other processes may get its number now
	if $keep; then leave; fi
	exit "$code"
}

trap stop EXIT
trap 'exit 143' TERM
