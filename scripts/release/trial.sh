#!/usr/bin/env bash
# Installs a deb on this machine, places an order, installs the deb once more, removes and purges it, and
# checks the files after each step. It is for a machine without the package; run it as root.
#
#   scripts/release/trial.sh DEB
#
# Without systemd, as in a container, this starts the unit's program with its environment, as a user without
# rights.
set -euo pipefail
. "$(dirname "$0")/../stand.sh"

deb=${1:?the path of a deb} port=${PORT:-18084} user=61184 # the first of systemd's dynamic users
unit=/usr/lib/systemd/system/flashsale.service settings=/etc/flashsale/flashsale.conf data=/var/lib/flashsale
((EUID == 0)) || fail "only root can install a package"
for path in /etc/flashsale $data /usr/bin/flashsale; do
	[[ ! -e $path ]] || fail "$path is here already: this is for a machine without the package"
done
require redis-server redis-server
require curl curl
systemd() { [[ -d /run/systemd/system ]]; }

# is PATH MODE: the file is there, of root, with that mode.
is() { [[ $(stat -c '%U %G %a' "$1") == "root root $2" ]] || fail "$1 is $(stat -c '%U %G %a' "$1")"; }

gone() {
	for path; do
		[[ ! -e $path && ! -L $path ]] || fail "$path is left"
	done
}

install() {
	# A container may leave out man pages and documents.
	dpkg --path-include='/usr/share/*' --install "$deb" >"$folder/dpkg.log" 2>&1 ||
		{ cat "$folder/dpkg.log"; fail "dpkg refuses the package"; }
	dpkg --verify flashsale | grep -v " c $settings$" && fail "these files are not those of the package"
	is /usr/bin/flashsale 755
	is $unit 644
	is $settings 600
}

# as_service sets $environment to the words in front of a command that give it what the unit gives.
as_service() {
	mapfile -t environment < <(sed -n 's/^Environment=//p' $unit && grep -E '^[A-Z_]+=' $settings)
	environment=(env -i "PATH=$PATH" "${environment[@]}" setpriv "--reuid=$user" "--regid=$user"
		--clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all)
}

# terminal VERB...: flashsale sale, as the README has it for the service.
terminal() {
	if systemd; then
		systemd-run --pipe --wait --quiet -p DynamicUser=yes -p User=flashsale -p StateDirectory=flashsale \
			-p EnvironmentFile=$settings flashsale sale "$@" -data $data
	else
		as_service
		"${environment[@]}" flashsale sale "$@" -data $data
	fi
}

# run_service starts the service, or starts it anew with other settings, and returns when it is ready.
run_service() {
	if systemd; then
		start server journalctl -fu flashsale
		systemctl restart flashsale
	else
		local command
		read -ra command < <(sed -n "s|%S|/var/lib|; s/^ExecStart=//p" $unit)
		mkdir -p $data
		chmod 700 $data
		chown $user:$user $data
		as_service
		start server "${environment[@]}" "${command[@]}"
	fi
	await server ready 127.0.0.1 "$port"
}

stop_service() {
	if systemd; then
		systemctl stop flashsale
	else
		kill -TERM "${pids[-1]}"
		wait "${pids[-1]}" || fail "the service ended with an error"
	fi
}

# call METHOD PATH [BODY]: the body of the reply.
call() {
	curl -sSf -X "$1" "http://127.0.0.1:$port$2" -H "Access-Token: ${token-}" ${3:+-d "$3"}
}

# shows STATE: GET /sale has that state.
shows() { [[ $(call GET /sale) == *"\"state\":\"$1\""* ]]; }

field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }

trap 'stop; dpkg --purge flashsale >/dev/null 2>&1' EXIT

say "install"
install
echo "APP_PORT=$port" >>$settings
gzip -t /usr/share/man/man1/flashsale.1.gz
/usr/bin/flashsale -version

say "serve an order"
run_service
token=$(call POST /login '{"username":"user2","password":"pass2"}' | field access_token)
cart=$(call POST /carts | field cart_id)
call PATCH "/carts/$cart" '{"food_id":1,"count":2}'
order=$(call POST /orders "{\"cart_id\":\"$cart\"}" | field id)
[[ $order == *-2 ]] || fail "the order is $order"
systemd || [[ $(stat -c %u $data/root-password) == "$user" ]] || fail "the data are not the service's"

say "run the sale from a terminal"
terminal pause >/dev/null
await server shows paused
terminal open >/dev/null
[[ $(terminal export) == *"$order"* ]] || fail "the order is not exported"

say "install again: settings and data stay"
systemd || stop_service
install
grep -q "^APP_PORT=$port$" $settings || fail "the settings are lost"
run_service
[[ $(call GET /orders) == *"\"$order\""* ]] || fail "the order is lost"
stop_service

say "remove"
dpkg --remove flashsale >/dev/null
gone /usr/bin/flashsale $unit /usr/share/man/man1/flashsale.1.gz /usr/share/doc/flashsale
is $settings 600
[[ -e $data/root-password ]] || fail "remove took the data, which only purge may take"

say "purge"
dpkg --purge flashsale >/dev/null 2>&1
gone /etc/flashsale $data /var/lib/private/flashsale \
	/etc/systemd/system/multi-user.target.wants/flashsale.service
dpkg --status flashsale >/dev/null 2>&1 && fail "dpkg still knows the package"
say "all is well"
