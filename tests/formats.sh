#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl info --formats --compress: each format of the DEP paper is decoded again, and equals what
# depctl dump prints; compressed sizes are those of bzip2, zstd and xz; grammars expand to the
# streams; damaged stores; arguments.
. "$(dirname "$0")/lib.sh"
need_depctl
cd "$tmp" || exit 1

# decoded NAME STORE: all checks of formats.py, and those of formats_check for each thread
decoded() {
	local name=$1 store=$2 word text thread wrong=0 threads=0
	rm -rf streams
	timeout 200 "$DEPCTL" info --formats --compress --output=streams --csv "$store" >sizes 2>why
	is "$name: status" $? 0
	timeout 200 /usr/bin/python3 "$tests/formats.py" "$DEPCTL" "$store" streams sizes >checks \
		2>why || fail "$name: $(tail -n 1 why)"
	while read -r word text; do
		case $word in
		ok) pass "$name: $text" ;;
		FAIL) fail "$name: $text" ;;
		zero) zero=$text ;;
		esac
	done <checks
	for thread in streams/*.bb_pc; do
		thread=$(basename "$thread" .bb_pc)
		timeout 100 "$build/tests/formats_check" "$store" streams "$thread" >said
		if [ $? != 0 ]; then
			wrong=$((wrong + 1))
			head -n 3 said
		fi
		threads=$((threads + 1))
	done
	is "$name: threads whose CF_bit and DEPm decode wrongly" $wrong 0
	[ $threads -gt 0 ] || fail "$name: no thread"
}

gcc -g -O1 -pthread -o formats "$tests/programs/formats.c" || fail "compiling formats.c"
recorded s.dep --ring-size=64K -- ./formats || exit 1
decoded odd s.dep
# Four regions are entered 20 times, two of them by a thread, too.
is "blocks at addresses that end in 0000" "$([ "$zero" -ge 120 ] && echo many)" many

seq 1 1000 >list
recorded gzip.dep -- gzip -c list && decoded gzip gzip.dep

# ---- the checks notice a wrong stream ----
rm -rf streams
timeout 100 "$DEPCTL" info --formats --output=streams --csv gzip.dep >sizes
thread=$(basename streams/*.bb_pc .bb_pc)
for what in cf_bits cf_targets depm; do
	cp streams/"$thread".$what kept
	flip streams/"$thread".$what 8001
	timeout 100 "$build/tests/formats_check" gzip.dep streams "$thread" >said
	is "a wrong byte in $what" $? 1
	cp kept streams/"$thread".$what
done

# ---- damage: what can be recovered is decoded ----
cp -r s.dep cut.dep
flip cut.dep/segments.000 $(($(stat -c %s cut.dep/segments.000) / 2))
rm -rf streams
timeout 100 "$DEPCTL" info --formats --compress --output=streams --csv cut.dep >sizes 2>why
is "a damaged segment: status" $? 1
grep -q "could not be recovered" why && pass "a damaged segment is reported" ||
	fail "a damaged segment: $(cat why)"
timeout 100 /usr/bin/python3 "$tests/formats.py" "$DEPCTL" cut.dep streams sizes >checks 2>why
is "a damaged segment: the others decode" "$(grep -v -c ^FAIL checks) $(grep -c ^FAIL checks)" \
	"$(wc -l <checks) 0"
[ -s checks ] || fail "a damaged segment: $(tail -n 1 why)"

# ---- arguments and files ----
# refused TEXT OPTION...
refused() {
	local text=$1
	shift
	timeout 60 "$DEPCTL" info "$@" gzip.dep >out 2>why
	is "$*: status" $? 2
	grep -q -- "$text" why && pass "$*" || fail "$*: $(cat why)"
}
refused "need --formats" --compress
refused "need --formats" --output=x
refused "needs --compress or --output" --formats --csv
refused "only one of --json and --csv" --formats --compress --json --csv
timeout 60 "$DEPCTL" info --formats --output=streams cut.dep >out 2>why
is "files are not overwritten: status" $? 1
grep -q "File exists" why && pass "files are not overwritten" || fail "overwritten: $(cat why)"
timeout 60 "$DEPCTL" info --formats --output=list gzip.dep >out 2>why
is "no directory: status" $? 1
# reads ARGUMENT...: how often info reads segments
reads() {
	strace -f -y -e trace=pread64 -o trace "$DEPCTL" info "$@" gzip.dep >out 2>why ||
		fail "info $*: $(tail -n 1 why)"
	grep -c 'segments\.[0-9]*>' trace
}
if have strace; then
	# The streams have the sizes, too: the store is recovered for the counts and once more.
	rm -rf streams
	all=$(reads --formats --output=streams)
	is "one recovery for streams and sizes" "$all" "$(reads --formats)"
	[ "${all:-0}" -gt 0 ] && pass "reads are seen" || fail "strace shows no read of segments"
	rm -rf streams
	"$DEPCTL" info --formats --json gzip.dep >out
	"$DEPCTL" info --formats --output=streams --json gzip.dep >out2
	is "sizes are the same with streams" "$(/usr/bin/python3 -c 'import json
a, b = (json.load(open(name)) for name in ("out", "out2"))
print(all(b[k] == v for k, v in a.items()), len(a) > 3)')" "True True"
fi
timeout 200 "$DEPCTL" info --formats --compress gzip.dep >out 2>why
is "text" "$(grep -c -E '^(BB_pc|DEPc|CF_bit|BB_pc32|DEPc32|Mem_addr|DEPm) ' out)" 28
finish
