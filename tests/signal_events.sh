#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording has an event for each signal whose handler ran, and for no other one.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1

# Now and then a signal arrives just in time to be ignored, so the program runs several times.
rounds=8 events=0 handled=0
[ "$LONG" != 1 ] || rounds=100
for ((i = 0; i < rounds; i++)); do
	rm -rf store
	timeout 60 "$DEPCTL" record --alone -q -o store -- "$build/programs/signals_ignored" \
		count >out 2>err || break
	"$DEPCTL" verify -q store 2>err || break
	"$DEPCTL" dump --events store >dump 2>err || break
	handled=$((handled + $(cat out)))
	events=$((events + $(grep -c " signal signo=10 " dump)))
done
is "signals that another thread ignores: all runs are recorded" "$i $(cat err)" "$rounds "
[ $handled -gt 0 ] && pass "handlers ran $handled times" || fail "no handler ran"
is "as many events as handlers ran" $events $handled
finish
