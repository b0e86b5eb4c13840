#!/bin/sh
# Installs sentinel.conf on a machine and restarts its sentinel.
#
#   sh sentinel.sh ADDRESS
set -e
cd "$(dirname "$0")"
. ./operator.env
sed "s/ADDRESS/$1/; s/PASSWORD/$REDISCLI_AUTH/" sentinel.conf | ssh "root@$1" 'set -e
	cat > /etc/redis/sentinel.conf
	chown redis: /etc/redis/sentinel.conf
	systemctl restart redis-sentinel'
