# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of the suites that record with --last; source it after lib.sh.

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
