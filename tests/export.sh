#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl export: what it writes is read by the tools that it is for, and says the same as they do.
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

# export FORMAT STORE FILE OPTION...: write FILE
export_to() {
	passes "$1 of $2 ${*:4}" "$DEPCTL" export "$1" "$2.dep" -o "$3" "${@:4}"
}

# compare WHAT ARGUMENT...: what tests/export.py compares
compare() {
	passes "$*" $python "$tests/export.py" "$@"
}

# prints NAME PATTERN: the last command's output matches
prints() {
	if grep -Eq -- "$2" out; then
		pass "$1"
	else
		fail "$1: no '$2': $(tail -n 3 out | tr '\n' '|')"
	fi
}

# record STORE COMMAND...
record() {
	timeout 60 "$DEPCTL" record -q --no-aslr -o "$1.dep" -- "${@:2}" >printed 2>err || {
		fail "recording ${*:2}: $(tail -n 1 err)"
		finish
	}
}

cp "$tests/programs/profiled.c" . || exit 1
gcc -O0 -g -pthread -o plain profiled.c &&
	gcc -O2 -g -pthread -Wl,-q -o fast profiled.c &&
	gcc -O2 -gdwarf-4 -pthread -o dwarf4 profiled.c &&
	gcc -O0 -g -pthread --coverage -o covered profiled.c || {
	fail "profiled.c does not compile"
	finish
}
record plain ./plain
record threads ./plain thread
record fast ./fast
record dwarf4 ./dwarf4
# of STORE MEMBER: a number of its totals
of() {
	"$DEPCTL" info --json "$1.dep" | sed 's/.*"total"//' | grep -o "\"$2\":[0-9]*" | cut -d: -f2
}

total=$(of plain instructions)
whole=$(of threads instructions)

# ---- callgrind ----

if export_to callgrind plain plain.callgrind && have callgrind_annotate; then
	mkdir -p elsewhere
	# It shortens names of files in its own directory, in some places only.
	cd elsewhere || exit 1
	passes "callgrind_annotate" callgrind_annotate --threshold=100 ../plain.callgrind
	mv out err ..
	cd .. || exit 1
	is "callgrind_annotate: its total" \
		"$(sed -n 's/ .*PROGRAM TOTALS$//p' out | tr -d ,)" "$total"
	have valgrind && passes "valgrind" valgrind --tool=callgrind --skip-plt=no \
		--callgrind-out-file=theirs.callgrind ./plain &&
		compare callgrind plain.callgrind theirs.callgrind plain
fi

# ---- stacks ----

# sum FILE: of the last words
sum() {
	awk '{ n += $NF } END { print n }' "$1"
}

export_to folded plain plain.folded
is "folded: instructions" "$(sum plain.folded)" "$total"
is "folded: no stack twice" "$(sed 's/ [0-9]*$//' plain.folded | sort | uniq -d)" ""
is "folded: fib" "$(grep -c ';main;fib;fib;fib ' plain.folded)" 1
export_to folded plain plain.calls --weight=calls
# 2 fib(13) - 1, of which main makes one
is "folded: calls" "$(grep ';fib [0-9]*$' plain.calls >fibs; sum fibs)" 465
export_to folded plain plain.fib --function=fib
is "folded --function" "$(sum plain.fib)" "$(grep ';fib [0-9]*$' plain.folded >fibs; sum fibs)"
export_to folded threads threads.folded
is "folded: two threads" "$(sum threads.folded)" "$whole"
is "folded: a thread's stack begins with its creator's" \
	"$(grep -c ';main;.*pthread_create.*;thread;fib ' threads.folded)" 1
tid=$("$DEPCTL" ls --json threads.dep | grep -o '"tid":[0-9]*' | tail -n 1 | cut -d: -f2)
export_to folded threads second.folded --thread "$tid"
# 2 fib(11) - 1 calls
export_to folded threads second.calls --thread "$tid" --weight=calls
is "folded --thread" "$(grep ';fib [0-9]*$' second.calls >fibs; sum fibs)" 177

export_to speedscope threads threads.speedscope
compare speedscope threads.speedscope "$whole"
schema=$build/npm/node_modules/speedscope/dist/release/file-format-schema.json
if [ -e "$schema" ] && $python -c 'import jsonschema' 2>/dev/null; then
	passes "speedscope's schema" $python -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' \
		threads.speedscope "$schema"
else
	skip "speedscope's schema: npm's speedscope or python3-jsonschema is not installed"
fi

export_to pprof threads threads.pb.gz
if have protoc && gunzip <threads.pb.gz >threads.pb; then
	passes "protoc --decode" sh -c 'protoc --proto_path="$1" \
		--decode=perftools.profiles.Profile profile.proto <threads.pb >threads.txt' \
		sh "$tests"
	"$DEPCTL" export folded --weight=calls threads.dep >threads.calls
	refs=$("$DEPCTL" diff --json threads.dep threads.dep | sed 's/.*"in_first"//' |
		grep -o '"references":[0-9]*' | head -n 1 | cut -d: -f2)
	compare pprof threads.txt "$whole" "$refs" "$(sum threads.calls)"
fi
go=/usr/lib/go-1.19/bin/go
if [ -x $go ]; then
	passes "go tool pprof" env HOME="$tmp" $go tool pprof -top -nodecount=500 \
		-nodefraction=0 threads.pb.gz
	prints "go tool pprof: the total" "of $whole total"
	is "go tool pprof: instructions of fib" "$(awk '$NF == "fib" { print $1 }' out)" \
		"$(grep ';fib [0-9]*$' threads.folded >fibs; sum fibs)"
else
	skip "golang-1.19-go is not installed"
fi

# ---- coverage ----

if export_to lcov plain plain.info && have gcov; then
	./covered >printed && passes "gcov" gcov covered-profiled.gcda &&
		compare lcov plain.info profiled.c.gcov profiled.c
fi
export_to lcov plain plain.info --module=plain &&
	have genhtml && passes "genhtml" genhtml -q -o html plain.info
export_to drcov plain plain.drcov &&
	objdump -d plain >plain.txt && compare drcov plain.drcov plain plain.txt

# ---- optimisers ----

bolt=/usr/lib/llvm-16/bin
export_to bolt fast fast.bolt
if [ -x $bolt/perf2bolt ]; then
	passes "perf2bolt" $bolt/perf2bolt -pa -p fast.bolt -o fast.fdata ./fast
	cat err >>out
	prints "perf2bolt: no trace mismatches" "mismatching disassembled function contents: 0 "
	prints "perf2bolt: no trace is out of range" "involving unknown regions: 0 "
	# FROM: kind name offset TO: kind name offset mispredictions count
	is "perf2bolt: main calls fib once" \
		"$(awk '$2 ~ /^main/ && $5 ~ /^fib/ && $6 == 0 { print $8 }' fast.fdata)" 1
	passes "llvm-bolt" $bolt/llvm-bolt ./fast -data fast.fdata -o bolted \
		-reorder-blocks=ext-tsp -reorder-functions=hfsort &&
		is "the program that llvm-bolt made" "$(./bolted)" "$(./fast)"
else
	skip "bolt-16 is not installed"
fi
if export_to autofdo dwarf4 dwarf4.txt && have create_gcov; then
	passes "create_gcov" create_gcov --binary=./dwarf4 --profiler=text --profile=dwarf4.txt \
		--gcov=dwarf4.gcov --gcov_version=2
	passes "dump_gcov" dump_gcov -gcov_version=2 dwarf4.gcov
	prints "dump_gcov: main" "^main total:[1-9]"
fi

# ---- files ----

ln -s nowhere/file dangling
"$DEPCTL" export folded plain.dep -o dangling 2>err
is "a dangling link is not followed" "$? $(cat err)" \
	"1 depctl: cannot write dangling: it is a symbolic link to a file that does not exist"
echo old >target
ln -s target link
export_to folded plain link
is "a link's target is replaced" "$(readlink link) $(sum target)" "target $total"
"$DEPCTL" export folded plain.dep -o /dev/full 2>err
is "a device that is full" "$? $(cat err)" \
	"1 depctl: cannot write the output: No space left on device"
"$DEPCTL" export folded plain.dep -o none/file 2>err
is "a directory that does not exist" "$?" 1
(umask 027 && "$DEPCTL" export folded plain.dep -o modes)
is "permissions are those of other new files" "$(stat -c %a modes)" 640
(umask 022 && "$DEPCTL" export folded plain.dep -o modes)
is "permissions of a file that is replaced are kept" "$(stat -c %a modes)" 640
if [ "$(id -u)" = 0 ]; then
	chgrp nogroup modes
	"$DEPCTL" export folded plain.dep -o modes
	is "so is its group" "$(stat -c '%G %a' modes)" "nogroup 640"
	chown nobody modes && chmod 666 modes
	(umask 022 && "$DEPCTL" export folded plain.dep -o modes)
	is "those of another user's file are not" "$(stat -c '%U %G %a' modes)" "root root 644"
else
	skip "only root can replace files of other groups and users"
fi
(trap '' XFSZ && ulimit -f 1 && "$DEPCTL" export callgrind plain.dep -o target) 2>err
is "a file that cannot be written stays as it was" "$? $(sum target)" "1 $total"
is "no temporary file is left" "$(ls -A | grep -c '^\.')" 0
"$DEPCTL" export folded plain.dep | cmp -s - plain.folded
is "standard output" "$?" 0

# ---- recordings that lack something ----

"$DEPCTL" record -q --children=no -o alone.dep -- sh -c '/bin/true; /bin/true' 2>err ||
	fail "record --children=no: $(head -n 1 err)"
"$DEPCTL" export folded alone.dep >out 2>err
is "children that were not wanted are no loss" "$? $(cat err)" \
	"0 depctl: the counts of alone.dep are incomplete: 2 children ran unrecorded"
"$DEPCTL" diff alone.dep alone.dep >out 2>err
is "nor are they for depctl diff" "$? $(wc -l <err)" "0 2"
cp -r plain.dep damaged.dep
truncate -s -100 damaged.dep/segments.000
"$DEPCTL" export folded damaged.dep >out 2>err
is "a segment that is cut off is a loss" "$? $(grep -c 'the counts of damaged.dep are' err)" "1 1"

# ---- arguments ----

# refuses STATUS PATTERN ARGUMENT...
refuses() {
	"$DEPCTL" export "${@:3}" >out 2>err </dev/null
	local status=$?
	if [ $status = "$1" ] && grep -Eq -- "$2" err && [ ! -s out ]; then
		pass "depctl export ${*:3}"
	else
		fail "depctl export ${*:3}: status $status, $(head -n 1 err)"
	fi
}

refuses 2 "which format"
refuses 2 "which store" folded
refuses 2 "no format 'gprof'" gprof plain.dep
refuses 2 "must be instructions or calls" folded plain.dep --weight=time
refuses 2 "lcov has no --weight" lcov plain.dep --weight=calls
refuses 1 "has no process 9" folded plain.dep --process=9
refuses 1 "has no thread 1;" folded plain.dep --thread=1
refuses 1 "executed no function with the name nothing" folded plain.dep --function=nothing
refuses 1 "names several files" bolt plain.dep '--module=*'
refuses 1 "there is no store" folded nowhere.dep
finish
