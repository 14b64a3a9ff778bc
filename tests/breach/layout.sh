#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Privileges that are given up: a process has no memory of those of the same session that keep
# them any more, and what it writes to its own does not decide where they write.
. "$(dirname "$0")/../lib.sh"
need_depctl
if [ "$(id -u)" != 0 ]; then
	skip "breach-layout: takes root, who gives up privileges"
	finish
fi
gcc -O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -pthread -I"$top/include" \
	-o "$tmp/layout" "$tests/breach/layout.c" || exit 1
cd "$tmp" || exit 1
for field in flags chunk_size nchunks nprocs nthreads desc_size proc_off thread_off desc_off \
	ring_off file_size slots nothing namespace; do
	rm -rf l.dep
	timeout -s KILL 60 "$DEPCTL" record --alone -q -o l.dep -- ./layout $field >out 2>err
	s=$?
	"$DEPCTL" verify l.dep >verify 2>&1
	if [ $s != 7 ] || [ "$(cat out)" != "went on: 7" ]; then
		fail "$field: status $s: $(cat out) $(tail -n 1 err)"
	elif [ $field = slots ]; then
		# What cannot be stored any more is said to be missing.
		grep -q "NOT COMPLETE" verify && pass "$field: goes on, and says what is missing" ||
			fail "$field: $(tail -n 1 verify)"
	elif [ $field = namespace ] && [ "$("$DEPCTL" ls l.dep | grep -c ^process)" != 5 ]; then
		fail "$field: not all processes are recorded: $("$DEPCTL" ls l.dep | grep ^process)"
	elif ! grep -q "good$" verify; then
		fail "$field: $(head -n 1 verify)"
	else
		pass "$field: nothing is missing"
	fi
done
finish
