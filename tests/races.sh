#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# depctl query races finds the races of the programs in tests/races, all of them and nothing
# else: races.sh [KIND...], as in "races.sh mutex rwlock"
#
# Each program is built plainly, racy and right, with -O0 and -O2 (LEVELS), recorded, and asked;
# the comments in its source say what must be found (tests/races/expect.py).  KEEP_IN names a
# folder for the recordings and reports of those that fail.
. "$(dirname "$0")/lib.sh"
. "$tests/races/cases.sh"
need_depctl
have python3 || finish
if ! "$DEPCTL" query races --help >/dev/null 2>&1; then
	skip "depctl has no query races"
	finish
fi
limit=${LIMIT:-120}
out=$build/races
mkdir -p "$out"

# options SOURCE: options of the query
options() {
	sed -n 's/^ \* asked with: *//p' "$1"
}

# asked SOURCE VARIANT LEVEL
asked() {
	set -- "$races/$1" "${@:2}"
	local name=${1##*/} what program dir need said
	what="$name, $2, -$3"
	program=$out/${name%.*}.$2.$3
	dir=$tmp/${name%.*}.$2.$3
	if need=$(unfit "$1"); then
		echo "SKIP $what: the processor has no $need"
		return
	fi
	if ! "$races/build.sh" "$1" "$2" "$3" "$program" 2>"$dir.err"; then
		said="FAIL $what: does not compile: $(worst "$dir.err")"
	elif ! timeout -k 5 "$limit" "$DEPCTL" record -q -o "$dir" -- "$program" \
		>"$dir.out" 2>"$dir.err"; then
		said="FAIL $what: the recording ended badly: $(worst "$dir.err")"
	elif ! timeout -k 5 "$limit" "$DEPCTL" query races "$dir" --json $(options "$1") \
		>"$dir.json" 2>"$dir.err"; then
		said="FAIL $what: query races: $(worst "$dir.err")"
	elif ! python3 "$races/check_json.py" "$1" "$2" "$dir.json" >"$dir.wrong" 2>&1; then
		said="FAIL $what: $(worst "$dir.wrong")"
	else
		said="ok $what"
	fi
	echo "$said"
	[[ -z "${KEEP_IN:-}" || "$said" == ok* ]] || cp -r "$dir" "$dir".* "$KEEP_IN"
	rm -rf "$dir" "$dir".*
}

cases() {
	local src level
	for src in $(chosen "$@"); do
		for level in $LEVELS; do
			echo "$src racy $level"
			echo "$src right $level"
		done
	done
}

known "$@"
spread asked < <(cases "$@")
finish
