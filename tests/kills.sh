#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each subset of the processes that record is killed by SIGKILL, at many points of a recording: the
# program goes on to its own end, and the verdict on the store is what the program says it did.
# kills.py has the cases; the default is a sample of them, LONG=1 runs all.  SEED=N repeats one.
. "$(dirname "$0")/lib.sh"
need_depctl
[ -x "$build/depd" ] || {
	skip "no depd at $build/depd"
	finish
}
"$tests/programs/build.sh" "$build/programs" || exit 1
seed=${SEED:-${ADEPT_TEST_SEED:-$RANDOM}}
cases=${CASES:-64}
[ "$LONG" = 1 ] && cases=all
echo "seed $seed"

# tell: print the results of kills.py
tell() {
	while read -r word rest; do
		case $word in
		ok) pass "$rest" ;;
		FAIL) fail "$rest" ;;
		summary) echo "$rest" && whole=1 ;;
		*) echo "$word $rest" ;;
		esac
	done
	[ "${whole:-}" = 1 ] || fail "kills.py did not come to its end"
}

tell < <(/usr/bin/python3 "$tests/kills.py" "$build" "$tmp" "$seed" "$cases" 2>&1)
finish
