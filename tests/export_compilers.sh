#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl export: profiles for compilers.  Their counts are those of the queries, the tools that they
# are for read them, and clang and gcc optimise by them.
. "$(dirname "$0")/lib.sh"
need_depctl
python=/usr/bin/python3
cd "$tmp" || exit 1

# passes NAME COMMAND...: the command succeeds
passes() {
	local name=$1
	shift
	if timeout 120 "$@" >out 2>err </dev/null; then
		pass "$name"
	else
		fail "$name: $(cat out err | tail -n 2 | tr '\n' ' ' | cut -c 1-300)"
		return 1
	fi
}

# export_to FORMAT NAME FILE OPTION...: of the program NAME
export_to() {
	passes "$1 of $2 ${*:4}" "$DEPCTL" export "$1" "$2.dep" --module="$2" -o "$3" "${@:4}"
}

# check WHAT ARGUMENT...: what tests/export_compilers.py checks
check() {
	passes "$*" $python "$tests/export_compilers.py" "$@"
}

# prints NAME PATTERN, prints_not NAME PATTERN: the last command's output
prints() {
	if cat out err | grep -Eq -- "$2"; then
		pass "$1"
	else
		fail "$1: no '$2': $(tail -n 3 out err | tr '\n' '|')"
	fi
}

prints_not() {
	if cat out err | grep -Eq -- "$2"; then
		fail "$1: $(cat out err | grep -E -- "$2" | head -n 2 | tr '\n' '|')"
	else
		pass "$1"
	fi
}

# build_and_record NAME COMPILER...
build_and_record() {
	passes "$1: compile" "${@:2}" -o "$1" compiled.c || finish
	passes "$1: record" "$DEPCTL" record -q --no-aslr -o "$1.dep" -- "./$1" || finish
	"$DEPCTL" query blocks --json "$1.dep" >"$1.blocks"
}

cp "$tests/programs/compiled.c" . || exit 1

# ---- clang ----

clang="clang -O2 -g"
if have clang && have llvm-symbolizer; then
	build_and_record clang $clang -fdebug-info-for-profiling
	build_and_record clangxx clang++ -x c++ -O2 -gdwarf-4 -fdebug-info-for-profiling -no-pie
	for name in clang clangxx; do
		export_to llvm-sample $name $name.prof
		check llvm $name.prof $name $name.blocks
	done
	passes "llvm-profdata merge" llvm-profdata merge --sample clang.prof -o clang.binary
	passes "llvm-profdata show" llvm-profdata show --sample --function=work clang.binary
	prints "llvm-profdata: calls by pointer" "6: 1000, calls: add:750 mul:250"
	prints "llvm-profdata: inlined calls" "5: inlined callee: twice: "

	# Names that would be numbers, or begin another kind of profile
	for change in twice/2wice 'work/[ork'; do
		LC_ALL=C sed "s/\\b$change/g" clang >odd && chmod +x odd && rm -rf odd.dep
		passes "$change: record" "$DEPCTL" record -q --no-aslr -o odd.dep -- ./odd
		export_to llvm-sample odd odd.prof
		is "$change: the name is left out" "$(grep -Fc "${change#*/}" odd.prof)" 0
		cp err "err.${change%/*}"
		is "$change: others are not" "$(grep -c '^one_line:' odd.prof)" 1
		passes "$change: llvm-profdata" llvm-profdata merge --sample odd.prof -o odd.binary
	done
	is "a message says which" "$(grep -c 'with names .* are left out: .*\[ork' err.work)" 1

	passes "clang with the profile" $clang -ffunction-sections -Rpass=pgo-icall-prom \
		-fprofile-sample-use=clang.prof -c -o with.o compiled.c
	prints "clang calls add() without the pointer" \
		"Promote indirect call to add with count 750 out of 1000"
	prints_not "clang does not warn" "warning:"
	passes "objdump" objdump -h with.o
	prints "clang: work() is hot" "\.text\.hot\.work "
	prints_not "clang: never() is not" "\.text\.hot\.never "
	passes "clang without the profile" $clang -ffunction-sections -Rpass=pgo-icall-prom \
		-c -o without.o compiled.c
	prints_not "clang without the profile calls by the pointer" "Promote"
	passes "objdump" objdump -h without.o
	prints_not "clang without the profile: nothing is hot" "\.text\.hot"
	passes "clang: link" $clang -o better with.o
	is "clang: the program prints the same" "$(./better)" "$(./clang)"
fi

profgen=$(command -v llvm-profgen llvm-profgen-14 | head -n 1)
if [ -n "$profgen" ] && [ -e clang.prof ]; then
	for name in clang clangxx; do
		export_to llvm-profgen $name $name.ranges
		passes "llvm-profgen" "$profgen" --binary=$name --format=text \
			--unsymbolized-profile=$name.ranges --output=$name.theirs
		# Other ranges than those of the program would give these.
		prints_not "llvm-profgen: the ranges fit" "invalid|cross|mismatch"
		check same $name.prof $name.theirs
	done
else
	skip "llvm-profgen is not installed"
fi

# ---- gcc ----

gcc="gcc -O2 -g"
build_and_record gcc $gcc
build_and_record gxx g++ -x c++ -O2 -gdwarf-4
for name in gcc gxx; do
	export_to gcc-afdo $name $name.afdo
	if have llvm-symbolizer; then
		check gcc $name.afdo $name $name.blocks
		export_to llvm-sample $name $name.prof && check llvm $name.prof $name $name.blocks
	fi
done
if have dump_gcov && check words gcc.afdo gcc.words; then
	passes "dump_gcov" dump_gcov -gcov_version=2 gcc.words
	prints "dump_gcov: work" "^work total:[0-9]+ head:1$"
	prints "dump_gcov: calls by pointer" "^  6: 1000  add:750  mul:250$"
fi
if [ "$(gcc -dumpversion)" -ge 12 ]; then
	passes "gcc with the profile" $gcc -fauto-profile=gcc.afdo -fopt-info-optimized \
		-fdump-ipa-afdo-all -c -o with.o compiled.c
	prints "gcc calls add() without the pointer" "Indirect call -> direct call .* => add "
	grep -h "Indirect call counter" ./*.afdo | head -n 1 >out
	prints "gcc's dump: executions of the call" "counter all: 1000, .*:750\]"
	passes "objdump" objdump -h with.o
	prints "gcc: work() is hot" "\.text\.hot"
	passes "gcc without the profile" $gcc -fopt-info-optimized -c -o without.o compiled.c
	prints_not "gcc without the profile calls by the pointer" "Indirect call -> direct call"
	passes "objdump" objdump -h without.o
	prints_not "gcc without the profile: nothing is hot" "\.text\.hot"
	passes "gcc: link" $gcc -o better with.o
	is "gcc: the program prints the same" "$(./better)" "$(./gcc)"
	passes "g++ with the profile" g++ -x c++ -O2 -g -fauto-profile=gxx.afdo \
		-fopt-info-optimized -c -o with.o compiled.c
	prints "g++ calls add() without the pointer" "Indirect call -> direct call .* => "
else
	skip "gcc is older than version 12"
fi

# ---- what is chosen, and what is left out ----

export_to llvm-sample gcc work.prof "--function=work*"
is "--function" "$(grep -c '^[^ ]' work.prof) $(grep -o '^work:' work.prof)" "1 work:"
export_to llvm-sample gcc gcc.prof
cat err >out
prints "functions without lines are named" \
	"functions of gcc without line numbers, .* are left out: .*_start"
gcc -O2 -o bare compiled.c
"$DEPCTL" record -q --no-aslr -o bare.dep -- ./bare >printed 2>err || fail "bare: record"
for format in llvm-sample gcc-afdo; do
	"$DEPCTL" export $format bare.dep --module=bare -o bare.out 2>err
	is "$format without debug information" "$? $(cat err)" \
		"1 depctl: $tmp/bare has no line numbers for the executed code: compile it with -g"
done
is "no file is written" "$(ls bare.out 2>/dev/null)" ""

# A profile of two processes has the counts of both.
passes "twice: record" "$DEPCTL" record -q --no-aslr -o twice.dep -- sh -c './gcc; ./gcc; true'
passes "twice: export" "$DEPCTL" export llvm-sample twice.dep --module=gcc -o twice.prof
awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/ || $i ~ /:[0-9]+$/) {
		n = split($i, w, ":")
		w[n] *= 2
		$i = n == 1 ? w[1] : n == 2 ? w[1] ":" w[2] : w[1] ":" w[2] * 2 ":" w[3]
	} print }' gcc.prof >doubled
is "two processes" "$(awk '{ $1 = $1; print }' twice.prof | md5sum)" "$(md5sum <doubled)"
finish
