#!/bin/sh
# Copies the files of Redis to backup/SALE/DATE-TIME in this folder while the sale goes on. Automatic
# rewrites pause meanwhile, because they delete files.
set -e
umask 077
cd "$(dirname "$0")"
. ./flashsale.env
. ./operator.env
mkdir -p "backup/${SALE:?}"
rm -rf backup/unfinished
trap 'redis-cli -h "$redis" CONFIG SET auto-aof-rewrite-percentage 100' EXIT
redis-cli -h "$redis" CONFIG SET auto-aof-rewrite-percentage 0
until redis-cli -h "$redis" INFO persistence | grep -q aof_rewrite_in_progress:0; do sleep 0.2; done
scp -r "root@$redis:/var/lib/redis/appendonlydir" backup/unfinished
mv backup/unfinished "backup/$SALE/$(date +%F-%H%M%S)"
