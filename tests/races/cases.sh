#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the suites of this folder share; source it after lib.sh.  A kind is a program's name or
# how it begins, up to a "_".  JOBS is how many programs run at once.
races=${tests:?}/races
JOBS=${JOBS:-2}
LEVELS=${LEVELS:-O0 O2}

# chosen [KIND...]: the sources, without their folder
chosen() {
	local src name kind
	for src in "$races"/*.c "$races"/*.cpp; do
		src=${src##*/}
		name=${src%.*}
		[ $# != 0 ] || echo "$src"
		for kind; do
			[[ $name != "$kind" && $name != "$kind"_* ]] || echo "$src"
		done
	done
}

# known KIND...: fail for those that there is no program of
known() {
	local kind
	for kind; do
		[ -n "$(chosen "$kind")" ] || fail "there is no kind $kind"
	done
}

# unfit SOURCE: what the processor would need for it and does not have
unfit() {
	local flag
	flag=$(sed -n 's/^ \* Needs: *//p' "$1")
	[ -n "$flag" ] && ! grep -qw "$flag" /proc/cpuinfo && echo "$flag"
}

# workers FUNCTION: call it for each line of standard input, with its words as arguments, in
# JOBS shells; what they print stands in $tmp/lines.N
workers() {
	local function=$1 w n words
	cat >"${tmp:?}/cases"
	for ((w = 0; w < JOBS; w++)); do
		n=0
		while read -r -a words; do
			((n++ % JOBS != w)) || "$function" "${words[@]}" </dev/null
		done <"$tmp/cases" >"$tmp/lines.$w" 2>&1 &
	done
	wait
}

# spread FUNCTION: the same for one that prints "ok", "FAIL" or "SKIP" and what it would tell
# pass, fail or skip; other lines are shown as they are
spread() {
	local word rest
	workers "$1"
	while read -r word rest; do
		case $word in
		ok) pass "$rest" ;;
		FAIL) fail "$rest" ;;
		SKIP) skip "$rest" ;;
		*) echo "$word $rest" ;;
		esac
	done < <(cat "$tmp"/lines.*)
}

# worst FILE: the first lines of it in one
worst() {
	head -n "${2:-6}" "$1" | paste -s -d ';' | sed 's/;/; /g' | cut -c 1-400
}
