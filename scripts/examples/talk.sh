#!/usr/bin/env bash
# Two users talk: talk.sh localhost:8080 user2 pass2 user3 pass3 Hello. The second one writes what has come.
set -euo pipefail
(($# == 6)) || { echo "usage: talk.sh host:port name password name password text" >&2; exit 2; }
server=$1 writer=$2 writerpass=$3 reader=$4 readerpass=$5 text=$6 # plain text, as it goes into JSON as it is
key=$(cat /proc/sys/kernel/random/uuid) # made once: the same message is never stored twice
token=''
reply=$(mktemp)
trap 'rm -f "$reply"' EXIT

# call METHOD PATH [BODY] sends a request until its outcome is known: each call here is safe to send again.
call() {
	local status
	status=$(curl -s -m 10 --retry 20 --retry-delay 1 --retry-all-errors -o "$reply" -w '%{http_code}' -X "$1" \
		"http://$server$2" -H "Access-Token: $token" -d "${3:-}") || { echo "no answer from $server" >&2; exit 1; }
	((status < 400)) || { echo "$status $(field code)" >&2; exit 1; }
}

# field NAME is the first text or number of this name in the last answer.
field() { grep -o "\"$1\":[^,}]*" "$reply" | head -n 1 | cut -d : -f 2- | tr -d '"'; }

login() { token='' && call POST /login "{\"username\":\"$1\",\"password\":\"$2\"}"; }

login "$reader" "$readerpass"
readertoken=$(field access_token) user=$(field user_id)
login "$writer" "$writerpass"
writertoken=$(field access_token)

token=$readertoken
call GET /threads
changed=$(field changed) # the next poll begins here

token=$writertoken
call POST /threads "{\"participants\":[$user]}"
thread=$(field thread_id)
call POST "/threads/$thread/messages" "{\"content\":\"$text\",\"id\":\"$key\"}"

token=$readertoken
call GET "/threads?after=$changed"
until grep -q "\"thread_id\":\"$thread\"[^}]*\"unread\":[1-9]" "$reply"; do
	changed=$(field changed)
	sleep 0.5
	call GET "/threads?after=$changed"
done
call GET "/threads/$thread"
call GET "/threads/$thread/messages?after=$(field read)"
last=$(field last)
grep -o '"content":"[^"]*"' "$reply" | cut -d '"' -f 4
call PATCH "/threads/$thread" "{\"read\":$last}"
