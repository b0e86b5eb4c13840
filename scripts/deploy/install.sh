#!/bin/sh
# Installs or updates one server with the files of this folder, restarts it and returns when it is ready.
# Without users.csv the catalogue is in a database (DB_HOST).
#
#   sh install.sh ADDRESS
if [ $# -lt 1 ]; then
	echo "usage: sh install.sh ADDRESS" >&2
	exit 2
fi
set -e
cd "$(dirname "$0")"
catalogue= uncomment=
if [ -e users.csv ]; then # as credentials: see the unit
	catalogue='users.csv foods.csv'
	uncomment='s/^#((LoadCredential|Environment)=(users|foods|CATALOG))/\1/'
fi
sed -E "$uncomment" flashsale.service > installed.service
files="flashsale flashsale.env installed.service $catalogue"
scp $files "root@$1:"
ssh "root@$1" "set -e
	install -m 755 flashsale /usr/local/bin/flashsale
	install -D -m 600 flashsale.env /etc/flashsale/flashsale.conf
	${catalogue:+install -D -m 600 -t /etc/flashsale $catalogue}
	install -m 644 installed.service /etc/systemd/system/flashsale.service
	rm $files
	systemctl daemon-reload
	systemctl enable flashsale
	systemctl restart flashsale"
timeout 60 sh -c "until curl -sf http://$1:8080/readyz; do sleep 0.2; done"
echo
