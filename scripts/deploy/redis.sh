#!/bin/sh
# Installs the settings of the sale on a machine with Redis and restarts it: redis-sale.conf, and the files
# named behind the address.
#
#   sh redis.sh ADDRESS [FILE...]
if [ $# -lt 1 ]; then
	echo "usage: sh redis.sh ADDRESS [FILE...]" >&2
	exit 2
fi
set -e
umask 077
cd "$(dirname "$0")"
. ./operator.env
address=$1
shift
{
	cat redis-sale.conf "$@" | sed -E "s/^((replica-|cluster-)?(announce-ip|bind)) .*/\1 $address/"
	echo "masterauth $REDISCLI_AUTH" # replicas log in with it
} > installed.conf
scp installed.conf "root@$address:/etc/redis/redis-sale.conf"
scp users.acl "root@$address:/etc/redis/users.acl"
rm installed.conf
ssh "root@$address" 'set -e
	chown redis: /etc/redis/redis-sale.conf /etc/redis/users.acl
	grep -qs redis-sale.conf /etc/redis/redis.conf ||
		echo "include /etc/redis/redis-sale.conf" >> /etc/redis/redis.conf
	echo vm.overcommit_memory=1 > /etc/sysctl.d/redis.conf
	sysctl -w vm.overcommit_memory=1
	systemctl restart redis-server'
timeout 60 sh -c "until redis-cli -h $address PING | grep -q PONG; do sleep 0.2; done"
