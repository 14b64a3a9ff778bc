#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Timestamps give the order of locked instructions.  Each fetch-and-add of tests/programs/locked.c
# got a number.  The one with the smaller number must have begun before the other one ended: its
# first timestamp is below the other's second one.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
locked=$build/programs/locked
at=$(nm "$locked" | awk '$3 == "locked_add" { sub(/^0*/, "", $1); print $1 }')

# ordered NAME ADDS OPTION...
ordered() {
	name=$1 adds=$2
	shift 2
	rm -rf "$tmp/dep"
	if ! timeout 120 "$DEPCTL" record --alone --no-aslr -q "$@" -o "$tmp/dep" -- \
		"$locked" "$adds" >"$tmp/numbers" 2>"$tmp/err"; then
		fail "$name: $(tail -n 2 "$tmp/err")"
		return
	fi
	if ! "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1; then
		fail "$name: verify: $(tail -n 2 "$tmp/verify")"
		return
	fi
	# In a position-independent program, pcs end with the symbol's low digits.
	"$DEPCTL" dump --timestamps "$tmp/dep" |
		grep -E "^[0-9]+ [0-9a-f]+${at: -3} " >"$tmp/timestamps"
	awk '
	FNR == NR { number[$1, n[$1]++] = $2; total++; next }
	$4 == "before" { before = $3; next }
	{
		# If a signal came after the first reading, it was repeated.
		k = number[$1, i[$1]++]
		from[k] = before
		to[k] = $3
		if (before >= $3) { print "a timestamp after is not above the one before"; bad = 1 }
	}
	END {
		for (t in i) seen += i[t]
		if (seen != total) { print seen " locked additions, not " total; bad = 1 }
		for (k = 0; k < total; k++) {
			if (most >= to[k]) {
				print "number " k " was over before one below began"
				exit 1
			}
			if (from[k] > most) most = from[k]
		}
		exit bad
	}' "$tmp/numbers" "$tmp/timestamps" >"$tmp/why" &&
		pass "$name: $(wc -l <"$tmp/numbers") in order, $(tail -n 1 "$tmp/verify")" ||
		fail "$name: $(head -n 2 "$tmp/why")"
}

ordered "one megabyte" 20000
# Many chunks end while a timestamp is stored.
ordered "small chunks" 20000 --ring-size=64K
ordered "self-check" 20000 --self-check --ring-size=64K
ordered "strict" 20000 --strict
finish
