#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All attacks: the scripts of this folder, or those that are named: run.sh [NAME...]
#
# The attackers at random only with LONG=1: what they find depends on what else the machine does.
here=$(dirname "$0")
passed=0 failed=0 skipped=0
names=$*
[ -n "$names" ] || names=$(ls "$here" | sed -n 's/\.sh$//p' | grep -vx run)
[ "${LONG:-0}" = 1 ] || names=$(echo "$names" | grep -vx attack)
for name in $names; do
	out=$(mktemp) || exit 1
	bash "$here/$name.sh" 2>&1 | tee "$out"
	read -r p f s <<<"$(tail -n 1 "$out" |
		sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')"
	rm -f "$out"
	if [ -z "$p" ]; then
		echo "FAIL $name: it printed no totals"
		p=0 f=1 s=0
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
