#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# depd's units under systemd, in the guest; power off then.
#
# What is asked of depd itself is in /t/hooks.
exec </dev/null 2>&1
export LC_ALL=C SYSTEMD_PAGER=cat SYSTEMD_COLORS=0
passed=0 failed=0
groups=--clear-groups
u=depd.service
sock=/run/adept/depd.sock
. /t/hooks

pass() {
	passed=$((passed + 1))
	echo "ok   $*, $(cut -d' ' -f1 /proc/uptime) s"
}

fail() {
	failed=$((failed + 1))
	echo "FAIL $*"
}

# check NAME COMMAND...: it succeeds, and is quiet if NAME begins with "quiet"
check() {
	what=$1
	shift
	if ! "$@" >/tmp/out 2>&1; then
		fail "$what: $(tail -n 1 /tmp/out)"
	elif [ "${what#quiet}" != "$what" ] && [ -s /tmp/out ]; then
		fail "$what: $(head -n 1 /tmp/out)"
	else
		pass "$what"
	fi
}

# soon COMMAND...: it succeeds within some seconds
soon() {
	n=0
	while [ $n -lt 20 ]; do
		n=$((n + 1))
		"$@" >/tmp/soon 2>&1 && return
		sleep 0.3
	done
	cat /tmp/soon
	return 1
}

prop() {
	systemctl show -P "$1" "${2:-$u}"
}

# another PID: within 30 seconds depd is ready, and a process other than this
another() {
	i=0
	while [ $i -lt 150 ]; do
		i=$((i + 1))
		now=$(prop MainPID)
		[ "$now" != 0 ] && [ "$now" != "$1" ] && systemctl -q is-active $u && return
		sleep 0.2
	done
	echo "it is $(prop ActiveState), $(prop SubState), $(prop Result)"
	return 1
}

# as_nobody COMMAND...: which may be one of /t/hooks
as_nobody() {
	setpriv --reuid 65534 --regid 65534 $groups sh -c '. /t/hooks; "$@"' sh "$@"
}

# ---- what was installed ----

echo "VM begin t_systemd"
echo "up: $(cut -d' ' -f1 /proc/uptime) s"
systemd-sysusers /usr/lib/sysusers.d/adept.conf
systemd-tmpfiles --create /usr/lib/tmpfiles.d/adept.conf
check "sysusers: the group" getent group adept
check "tmpfiles: /run/adept" equal "755 root" stat -c '%a %U' /run/adept
check "quiet verify" systemd-analyze verify --man=no $u depd.socket depd-metrics.socket
mkdir -m 700 -p /run/user/0
check "quiet verify, user" env XDG_RUNTIME_DIR=/run/user/0 systemd-analyze verify --man=no --user \
	/usr/lib/systemd/user/depd.service /usr/lib/systemd/user/depd.socket
check "exposure" systemd-analyze security --offline=true --threshold=30 \
	/usr/lib/systemd/system/$u

# ---- starting ----

mkdir -p /run/systemd/system/$u.d
# The stand-in keeps descriptors with systemd, as a user's own depd does.
printf '[Service]\nWatchdogSec=6\nFileDescriptorStoreMax=4096\nEnvironment=FDSTORE=4096\n' \
	>/run/systemd/system/$u.d/test.conf
systemctl daemon-reload
systemctl set-environment KEEP_DRIVER_DELAY=4000
systemctl start --no-block $u
sleep 0.5
check "activating until it is ready" equal activating systemctl is-active $u
systemctl unset-environment KEEP_DRIVER_DELAY
check "start" systemctl start $u
check "active when start returns" equal active systemctl is-active $u
check "its status" equal "0 kept" prop StatusText
check "stop" systemctl stop $u
check "stopped well" equal success prop Result
check "sockets" systemctl start depd.socket depd-metrics.socket
check "control's mode" equal "666 root root" stat -c '%a %U %G' $sock
check "metrics' mode" equal "660 root adept" stat -c '%a %U %G' /run/adept/metrics.sock
check "not started by that" equal inactive systemctl is-active $u
check "a connection of nobody's starts it" as_nobody alive $sock
another_depd >/tmp/another
check "another depd is refused" grep 'another depd runs' /tmp/another

# ---- crashes ----

check "put" hold $sock one first
pid=$(prop MainPID)
kill -9 "$pid"
check "killed: another one" another "$pid"
check "killed: has the descriptor" has $sock one first
pid=$(prop MainPID)
hold_and_die $sock two second >/dev/null
check "killed after put: another one" another "$pid"
check "killed after put: has both" has $sock two second
check "remove" release $sock one
restarts=$(prop NRestarts)
pid=$(prop MainPID)
kill -STOP "$pid"
check "stopped: the watchdog ends it" another "$pid"
check "stopped: restarted once" equal $((restarts + 1)) prop NRestarts
check "stopped: it was the watchdog" soon sh -c \
	"journalctl -b -u $u | grep -q 'Watchdog timeout'"
check "stopped: has what was kept" has $sock two second
check "stopped: not what was removed" count $sock 1 0
pid=$(prop MainPID)
check "restart" systemctl restart $u
check "restart: another one" another "$pid"
check "restart: has what was kept" has $sock two second

# ---- reload, log ----

pid=$(prop MainPID)
check "reload" systemctl reload $u
check "reloaded" soon count $sock 1 1
check "the same process" equal "$pid" prop MainPID
check "active after it" equal active systemctl is-active $u
note $sock 7 words >/dev/null
check "journal: by session" soon equal "session 7: words" journalctl -b -q -o cat ADEPT_SESSION=7
check "journal: by store" equal "session 7: words" journalctl -b -q -o cat ADEPT_STORE=/stores/seven

# ---- what hardening leaves ----

mkdir -m 700 -p /home/n /tmp/n
chown 65534 /home/n /tmp/n
as_nobody sleep 1000 &
check "may seize others' processes" can $sock seize $!
check "may use BPF" can $sock bpf ""
check "may use io_uring" can $sock uring ""
check "may write to users' directories" can $sock write /home/n/store
check "may write to users' directories in /tmp" can $sock write /tmp/n/store
check "may not write to /usr" equal EROFS can $sock write /usr/store
check "may not write to devices" equal EPERM can $sock open /dev/mem
[ ! -e /dev/adept ] || check "may use the module" can $sock open /dev/adept
check "the seized one lives" kill $!

# ---- a user's own ----

run=/run/user/65534
mkdir -m 700 -p $run
chown 65534 $run
systemd-run -q --uid=65534 -p Delegate=yes -E XDG_RUNTIME_DIR=$run \
	/lib/systemd/systemd --user --unit=sockets.target
user() {
	XDG_RUNTIME_DIR=$run as_nobody "$@"
}
check "user: socket" soon user systemctl --user start depd.socket
check "user: a connection starts it" user hold $run/adept/depd.sock own text
check "user: only theirs" equal "600 nobody" stat -c '%a %U' $run/adept/depd.sock
pid=$(user systemctl --user show -P MainPID $u)
kill -9 "$pid"
check "user: killed, has the descriptor" soon user has $run/adept/depd.sock own text

# ---- end ----

check "stop while it holds" systemctl stop $u
check "stopped well" equal success prop Result
check "nothing is left of it" equal 0 prop NFileDescriptorStore
check "a connection starts it again" count $sock 0 0
systemctl stop depd.socket depd-metrics.socket $u

# ---- the real one ----

if [ -x /t/depd ]; then
	cp --remove-destination /t/depd /usr/sbin/depd
	printf '[Service]\nWatchdogSec=6\n' >/run/systemd/system/$u.d/test.conf
	systemctl daemon-reload
	. /t/real
	journalctl -b -q -u $u -p warning -o cat | sed 's/^/     log: /' | tail -n 20
	systemctl stop depd.socket depd-metrics.socket
fi
check "nothing failed" equal "" systemctl --failed -q --plain --no-legend
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
echo "VM end t_systemd $?"
echo "VM done"
systemctl poweroff -ff
