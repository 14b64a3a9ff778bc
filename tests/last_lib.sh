# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of the suites that record with --last; source it after lib.sh.  Those that start a flight
# are for suites of depd, which source depd.sh, too.

# last STORE EXPRESSION: a part of what info says about --last
last() {
	"$DEPCTL" info --quick --json "$1" | python3 -c '
import json, sys
print(eval(sys.argv[1], {"last": json.load(sys.stdin)["last"]}))' "$2"
}

# verifies STORE: verify finds nothing wrong
verifies() {
	"$DEPCTL" verify "$1" >verify.out 2>&1
}

# verifies_killed STORE: the same, but each thread of a program that was killed may lack one record
verifies_killed() {
	verifies "$1" ||
		! grep -Eqv '^loss: [1-4] threads? w.* killed: up to one|NOT COMPLETE$' verify.out
}

# unverified: the end of what verify said
unverified() {
	tail -n 3 verify.out | paste -s -d '|'
}

# good NAME STORE: verify finds nothing wrong, dump prints references, there are no races
good() {
	local refs
	verifies "$2" || {
		fail "$1: $(unverified)"
		return
	}
	refs=$("$DEPCTL" dump --refs "$2" 2>dump.err | wc -l)
	"$DEPCTL" query races "$2" >races.out 2>&1
	if [ "$refs" -lt 1000 ] || [ -s dump.err ]; then
		fail "$1: $refs references: $(head -n 1 dump.err)"
	elif grep -q '^race:' races.out; then
		fail "$1: $(grep '^race:' races.out | head -n 1)"
	else
		pass "$1"
	fi
}

# windows STORE: number of the files of a window on the disk
windows() {
	find "$1" -name 'window.*' | wc -l
}

# filled STORE: the window has chunks, and has dropped some
filled() {
	[ -e "$1/window.log" ] && [ ! -e "$1/window.000" ] && [ "$(windows "$1")" -gt 3 ]
}

# left STORE: verify says of STORE only what a killed collector leaves
left() {
	! verifies "$1" && grep -q '^unclosed: the recorder was killed, and no other' verify.out &&
		! grep -Ev '^unclosed: the recorder was kill.*no other|^still running' verify.out |
			grep -Eqv '^thread: thread [0-9]* outlived the rec.*last|: NOT COMPLETE$'
}

# record_flight STORE OPTION..: record $program, a flight, in the background through depd; sets
# $depctl, $child and $id
record_flight() {
	local store=$1
	shift
	"$DEPCTL" record -o "$store" "$@" -- "$program" 600000 >out 2>err &
	depctl=$!
	child=
	if ! wait_for 30 eval 'child=$(pgrep -P $depctl flight)'; then
		fail "the program did not start: $(cat err)"
		finish
	fi
	running="$running $child"
	id=$(session 0 's["id"]')
}

# run_flight: start it natively; sets $child
run_flight() {
	"$program" 600000 >out 2>&1 &
	child=$!
	running="$running $child"
	wait_for 30 eval '[ "$(ls /proc/$child/task 2>/dev/null | wc -l)" = 4 ]' ||
		fail "the program did not start its threads"
}
