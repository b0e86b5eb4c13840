#!/bin/sh
# Puts the sale away: stops the servers, deletes their note of the sale, and moves its files on the machine
# of Redis to /var/lib/redis/sale-SALE. It may be run again after a failure.
set -e
cd "$(dirname "$0")"
. ./flashsale.env
. ./operator.env
: "${SALE:?}"
for server in $servers; do
	ssh "root@$server" 'systemctl stop flashsale && rm -f /var/lib/flashsale/sale'
done
ssh "root@$redis" "set -e
	systemctl stop redis-server
	test -e /var/lib/redis/sale-$SALE || mv /var/lib/redis/appendonlydir /var/lib/redis/sale-$SALE
	systemctl start redis-server"
sed -i /^SALE=/d flashsale.env
