#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Chaos modes (DEP_CHAOS): the engine does often what is rare.  Programs must behave as natively,
# and their recordings must be those of a run without a mode.  Arguments name the modes to run
# (default: each mode, and all together).  LONG=1 takes eight seeds.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
seeds=1
[ "$LONG" = 1 ] && seeds="1 2 3 4 5 6 7 8"
modes=${*:-short versions miss flush stop all}
head -c 6000 "$tests/lib.sh" >text
programs="code_rewrite code_threads landings signals_threads signals_sent fork_behind throw_cpp"

# chaos COMMAND...: record it; the output goes to out
variable=DEP_CHAOS
chaos() {
	rm -rf store
	clean $variable="$mode:$seed" timeout 200 "$DEPCTL" record -q --alone --no-aslr \
		-o store -- "$@" >out 2>err
}

# instructions: what verify counts, and its verdict
instructions() {
	"$DEPCTL" verify store 2>&1 | sed -n '$s/^.* segments*, \(.*\)$/\1/p'
}

# references: a checksum of all references, without the number of the thread
references() {
	"$DEPCTL" dump --refs store | cut -d ' ' -f 2- | md5sum
}

# like_native NAME COMMAND...: same output and status as natively, and a recording without an error
like_native() {
	local name=$1
	shift
	clean setarch -R "$@" >native 2>/dev/null
	echo "status $?" >>native
	chaos "$@"
	echo "status $?" >>out
	if ! cmp -s native out; then
		fail "$name, $mode:$seed: $(diff native out | head -n 3) $(head -n 2 err)"
	elif ! "$DEPCTL" verify store >verify 2>&1; then
		fail "$name, $mode:$seed: $(tail -n 2 verify)"
	else
		pass "$name, $mode:$seed: $(tail -n 1 verify)"
	fi
}

# A program that does the same in each run: its references do not depend on a mode.  Its environment
# has the same size in both runs.
same="gzip -9 -c text"
for mode in $modes; do
	for seed in $seeds; do
		variable=NOT_CHAOS
		chaos $same
		expect=$(instructions)
		references >refs
		variable=DEP_CHAOS
		chaos $same
		is "instructions, $mode:$seed" "$(instructions)" "$expect"
		references | cmp -s - refs &&
			pass "references, $mode:$seed" || fail "references, $mode:$seed, differ"
		like_native perl perl -e 'print join " ", map { $_ * 3 } sort 1 .. 300'
		for program in $programs; do
			like_native "$program" "$build/programs/$program"
		done
	done
done

mode=short,wrong seed=1
chaos true
is "an unknown mode is an error" "$?: $(grep -c "there is no mode 'wrong'" err)" "2: 1"
finish
