#!/bin/sh
# Installs sentinel.conf on a machine, restarts its sentinel and returns when it knows the replicas.
#
#   sh sentinel.sh ADDRESS
if [ $# -lt 1 ]; then
	echo "usage: sh sentinel.sh ADDRESS" >&2
	exit 2
fi
set -e
cd "$(dirname "$0")"
. ./operator.env
sed "s/ADDRESS/$1/; s/PASSWORD/$REDISCLI_AUTH/" sentinel.conf | ssh "root@$1" 'set -e
	cat > /etc/redis/sentinel.conf
	chown redis: /etc/redis/sentinel.conf
	systemctl restart redis-sentinel'
unset REDISCLI_AUTH # that is for Redis
timeout 60 sh -c "until redis-cli -h $1 -p 26379 INFO sentinel | grep -q 'slaves=[1-9]'; do sleep 0.2; done"
