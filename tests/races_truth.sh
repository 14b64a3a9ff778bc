#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# ThreadSanitizer agrees with what the programs in tests/races say of themselves:
# races_truth.sh [KIND...]
#
# It recompiles them, so this tests the programs and not Adept.  Where it does not understand
# what a program does, the source says so after "tsan:", and why.  OpenMP's programs are
# compiled by clang, whose runtime tells ThreadSanitizer the order through Archer.
. "$(dirname "$0")/lib.sh"
. "$tests/races/cases.sh"
have gcc && have g++ && have python3 || finish
limit=${LIMIT:-60}
out=$build/races-tsan
mkdir -p "$out"
archer=$(clang -print-resource-dir 2>/dev/null)/../../libarcher.so

# says SOURCE PATTERN: print what the comment after "tsan:" says
says() {
	grep -q "^ \* tsan: $2" "$1"
}

# compile SOURCE VARIANT LEVEL PROGRAM
compile() {
	if says "$1" archer; then
		CLANG=1 "$races/build.sh" "$@" -fsanitize=thread
	else
		"$races/build.sh" "$@" -fsanitize=thread -Wno-tsan
	fi
}

# options SOURCE
options() {
	echo "exitcode=0 atexit_sleep_ms=0 history_size=7 suppress_equal_addresses=0"
	! says "$1" archer || echo "ignore_noninstrumented_modules=1"
}

# judged SOURCE VARIANT LEVEL
judged() {
	set -- "$races/$1" "${@:2}"
	local name=${1##*/} what program log need
	what="$name, $2, -$3"
	program=$out/${name%.*}.$2.$3
	log=$tmp/${name%.*}.$2.$3
	if need=$(unfit "$1"); then
		echo "SKIP $what: the processor has no $need"
	elif says "$1" archer && [ ! -e "$archer" ]; then
		echo "SKIP $what: clang has no libarcher.so (libomp-dev)"
	elif ! compile "$1" "$2" "$3" "$program" 2>"$log"; then
		echo "FAIL $what: does not compile: $(worst "$log")"
	elif ! TSAN_OPTIONS="$(options "$1")" OMP_TOOL_LIBRARIES=$archer \
		timeout -k 5 "$limit" "$program" >"$log" 2>&1; then
		echo "FAIL $what: ended badly: $(worst "$log" 3)"
	elif ! python3 "$races/check_tsan.py" "$1" "$2" "$log" >"$log.wrong" 2>&1; then
		echo "FAIL $what: $(worst "$log.wrong")"
	else
		echo "ok $what"
	fi
}

# The cases that have several threads for ThreadSanitizer.
cases() {
	local src level
	for src in $(chosen "$@"); do
		! says "$races/$src" 'no, because ' || continue
		for level in $LEVELS; do
			says "$races/$src" '.*right only, because ' || echo "$src racy $level"
			says "$races/$src" 'racy only, because ' || echo "$src right $level"
		done
	done
}

known "$@"
spread judged < <(cases "$@")
left=$(cd "$races" && chosen "$@" | xargs grep -l '^ \* tsan: no, because ' | wc -l)
echo "$left programs are left out because ThreadSanitizer does not understand what they do"
finish
