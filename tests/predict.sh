#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# depctl query races --predict finds the races of the programs in tests/predict, which do not
# happen in the order in which their threads run: predict.sh [NAME...]
#
# Each is built as those in tests/races, racy and right.  Without --predict nothing is found of
# either; with it what the racy one's comments say, each with an order that leads to it.  The right
# ones of tests/races have no predicted races (LONG=1: all of them).
. "$(dirname "$0")/lib.sh"
need_depctl
have g++ && have python3 || finish
programs=$tests/predict
out=$build/predict
mkdir -p "$out"
cd "$tmp" || exit 1

# witness FILE: print errors in the witnesses of the report in FILE
witness() {
	python3 - "$1" <<-'END'
		import json, sys
		for r in json.load(open(sys.argv[1]))["races"]:
		    steps = r.get("witness", [])
		    ends = sorted(s["thread"] for s in steps if s["up_to"] == "access")
		    if not r["predicted"]:
		        print("a race is not predicted")
		    if ends != sorted(a["thread"] for a in r["accesses"]):
		        print("the order does not end at the accesses")
		    if not all(a["stack"] for a in r["accesses"]):
		        print("an access has no stack")
	END
}

# recorded STORE PROGRAM VARIANT: record; the report without prediction goes to plain.json.  On a
# busy machine the threads of a racy variant may run in an unusual order, so try several times; the
# correct variant races in no order.
recorded() {
	local try
	for try in $([ "$3" = right ] && echo 1 || echo 1 2 3 4); do
		rm -rf "$1"
		timeout 60 "$DEPCTL" record -q -o "$1" -- "$2" >err 2>&1 &&
			timeout 60 "$DEPCTL" query races "$1" --json >plain.json 2>err || return
		! grep -q '"accesses"' plain.json || continue
		[ "$try" = 1 ] || echo "${2##*/}: recorded $try times"
		break
	done
}

# asked SOURCE VARIANT LEVEL
asked() {
	local name=${1##*/} what program
	what="$name, $2, -$3"
	program=$out/${name%.*}.$2.$3
	if ! "$tests/races/build.sh" "$1" "$2" "$3" "$program" 2>err; then
		fail "$what: does not compile: $(head -n 3 err)"
	elif ! recorded "$name.dep" "$program" "$2"; then
		fail "$what: the recording ended badly: $(head -n 3 err)"
	elif ! timeout 60 "$DEPCTL" query races --predict "$name.dep" --json >json 2>err; then
		fail "$what: query races: $(head -n 3 err)"
	elif ! python3 "$tests/races/check_json.py" "$1" right plain.json >err; then
		fail "$what: without prediction: $(head -n 3 err)"
	elif ! python3 "$tests/races/check_json.py" "$1" "$2" json >err; then
		fail "$what: $(head -n 3 err)"
	elif ! witness json >err 2>&1 || [ -s err ]; then
		fail "$what: $(head -n 3 err)"
	else
		pass "$what"
	fi
	rm -rf "$name.dep"
}

for source in "$programs"/*.c "$programs"/*.cpp; do
	name=${source##*/}
	[ $# = 0 ] || [[ " $* " = *" ${name%.*} "* ]] || continue
	for level in ${LEVELS:-O0 O2}; do
		asked "$source" racy "$level"
		asked "$source" right "$level"
	done
done

# said_complete NAME: processes that share memory are predicted separately, which the report says
said_complete() {
	[[ $1 != process_* ]] ||
		printf 'no, 1 process was analysed for predicted races only in part$\|^complete: '
	echo yes
}

# silent SOURCE: nothing is predicted for its correct variant
silent() {
	local name=${1##*/}
	if ! "$tests/races/build.sh" "$1" right O2 "$out/$name.right" 2>err; then
		fail "$name, right: does not compile: $(head -n 3 err)"
	elif ! timeout 60 "$DEPCTL" record -q -o "$name.dep" -- "$out/$name.right" >err 2>&1 ||
		! timeout 60 "$DEPCTL" query races --predict "$name.dep" >text 2>err; then
		fail "$name, right: $(head -n 3 err)"
	elif grep -q '^predicted race:' text; then
		fail "$name, right: $(grep '^predicted race:' text | head -n 1)"
	elif ! grep -q "^complete: $(said_complete "$name")" text; then
		fail "$name, right: $(grep '^complete:' text)"
	else
		pass "$name, right"
	fi
	rm -rf "$name.dep"
}

kinds="cond_signal mutex_trylock mutex_recursive mutex_robust rwlock_try spin_lock sem_mutex
	barrier_rounds once_init cpp_shared_mutex cpp_condition heap_reuse kernel_pipe"
[ "${LONG:-0}" != 1 ] || kinds=$(cd "$tests/races" && ls ./*.c ./*.cpp)
for name in $([ $# != 0 ] || echo "$kinds"); do
	name=$(basename "${name%.*}")
	for source in "$tests/races/$name".c "$tests/races/$name".cpp; do
		[ ! -f "$source" ] || silent "$source"
	done
done
finish
