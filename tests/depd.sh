# SPDX-License-Identifier: GPL-2.0-or-later
# A depd for one suite; source this file after lib.sh.  $depd_pid, also in $tmp/depd.pid for
# background processes, is its pid; $tmp/conf and $tmp/log are its configuration and log.
DEPD=${DEPD:-$build/depd}
[ -x "$DEPD" ] || {
	skip "no depd at $DEPD"
	finish
}
run=$tmp/run
export ADEPT_SOCKET=$run/depd.sock
depd_pid=
touch "$tmp/conf"

# start ARGUMENT...
start() {
	"$DEPD" --config="$tmp/conf" --rundir="$run" --store="$tmp/stores" "$@" 2>>"$tmp/log" &
	depd_pid=$!
	echo "$depd_pid" >"$tmp/depd.pid"
	for _ in $(seq 400); do
		"$DEPCTL" status >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	fail "depd does not answer: $(tail -n 1 "$tmp/log")"
	return 1
}

# instance [UID]: pid of the process of root's depd for that user (default: us); of a user's own
# depd, depd itself
instance() {
	for p in $(grep -lzE "^$run/user/${1:-$(id -u)}-" /proc/[0-9]*/cmdline 2>/dev/null); do
		[ "$(cat "${p%/cmdline}/comm" 2>/dev/null)" = depd-user ] || continue
		p=${p%/cmdline}
		echo "${p#/proc/}"
		return
	done
	[ "$(id -u)" = 0 ] || echo "$depd_pid"
}

kill_depd() {
	kill -9 "$depd_pid"
	wait "$depd_pid" 2>/dev/null
}

# kill_recorder: kill depd, and with root's depd at the same time the instance that records for us
kill_recorder() {
	kill -9 $(instance) "$depd_pid" 2>/dev/null
	wait "$depd_pid" 2>/dev/null
}

# end_depd_and PID...: for a trap at the end of a suite: kill depd and these
end_depd_and() {
	# Not a word of the shell about killed jobs: the totals must be the last line.
	{
		kill -9 $depd_pid "$@"
		wait "$@"
	} 2>/dev/null
	sleep 0.3
	drop_tmp
}

# term_depd: end depd as systemd does; returns its exit status
term_depd() {
	kill "$depd_pid"
	wait "$depd_pid"
}

# resident PID NAME: print VmRSS, RssAnon, RssShmem.. in KiB
resident() {
	sed -n "s/^$2:[ 	]*\([0-9]*\) kB/\1/p" "/proc/$1/status" 2>/dev/null
}

# session ID EXPRESSION: of what depd says about a session, or about the newest if ID is 0
session() {
	"$DEPCTL" sessions --json | python3 -c '
import json, sys
all = [s for s in json.load(sys.stdin)["sessions"] if sys.argv[1] in ("0", str(s["id"]))]
print(eval(sys.argv[2], {"s": max(all, key=lambda s: s["id"])}) if all else "none")' \
		"$1" "$2" 2>/dev/null
}

# has_ended ID: only sessions that have not ended are listed
has_ended() {
	[ "$(session "$1" 1)" = none ]
}

# no_loss STORE: check with `info --json` that nothing is missing
no_loss() {
	loss=$("$DEPCTL" info --json "$1" | sed -n 's/.*"loss":{\([^}]*\)}.*/\1/p')
	[ -n "$loss" ] && ! echo "$loss" | grep -q ':[1-9]'
}
