#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Triggers of depctl record and attach with --last: a call, a slow call and a number of events make
# snapshots, which have what led to them; the program runs as without.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
program=$build/programs/flight
cd "$tmp" || exit 1

# kept STORE: why it was kept, as info --json says
kept() {
	"$DEPCTL" info --quick --json "$1" | python3 -c '
import json, sys
kept = json.load(sys.stdin)["last"]["kept"]
print(kept["reason"], kept["what"], "value" if kept["value"] else "-",
      "tid" if kept["tid"] else "-")'
}

# record STORE OPTION... -- COMMAND...: record with --last; sets made, the number of snapshots
record() {
	local store=$1
	shift
	rm -rf "$store" "$store".[0-9]*
	"$DEPCTL" record -o "$store" --last=64M "$@" >out 2>err
	status=$?
	made=$(ls -d "$store".[0-9]* 2>/dev/null | wc -l)
}

# good NAME STORE: verify finds nothing wrong
good() {
	"$DEPCTL" verify "$2" >verify.out 2>&1 && pass "$1" ||
		fail "$1: $(tail -n 3 verify.out | paste -s -d '|')"
}

# ---- a slow call, with its complete execution ----
record slow --no-aslr --on-slow='handle_slow*:40ms' -- "$program" 400 50
is "a slow call: status and output" "$status $(cat out)" "0 sums are good"
is "one snapshot" $made 1
is "its reason" "$(kept slow.1)" "slow_call handle_slow* value tid"
good "it verifies" slow.1
table=$(nm "$program" | awk '$3 == "slow_table" { print $1 }')
"$DEPCTL" dump --refs --fields=address,size,type slow.1 | python3 -c '
import sys
start = 0x555555554000 + int(sys.argv[1], 16)
written = [int(l.split()[0], 16) for l in sys.stdin if l.split()[2].startswith("W")]
written = [(a - start) // 8 for a in written if start <= a < start + 8000]
print(written == list(range(1000)))' "$table" >complete
is "it has the complete execution of the call" "$(cat complete)" True
grep -q "^depctl: snapshot slow.1, .*: a call of 'handle_slow\*' by thread .* took" err &&
	pass "the message says why" || fail "message: $(cat err)"
record quick --on-slow='handle_slow*:30s' --on-slow=handle_request:30s -- "$program" 200 5
is "a call that is quick enough" "$made $(cat out)" "0 sums are good"
record long --on-slow='handle_slow*:2ms' -- "$program" 200 5 2000
is "a call that does not return for long" "$made $(kept long.1); $(kept long.2)" \
	"2 long_call handle_slow* value tid; slow_call handle_slow* value tid"
record nested --on-slow=handle_request:40ms --on-slow=handle_slowly:40ms -- "$program" 200 5
is "two nested slow calls" "$([ $made -ge 1 ] && [ $made -le 4 ] && echo yes)" yes

# ---- calls ----
record call --on-call='handle_slowl?' --on-call='no_such_function' -- "$program" 200 5
is "a call of a function of the program" "$made $(kept call.1) $(cat out)" \
	"1 call handle_slowl? - tid sums are good"
good "it verifies" call.1
record library --on-call='pthread_create*' -- "$program" 100
is "calls of a library's function" "$([ $made -ge 1 ] && [ $made -le 3 ] && kept library.1)" \
	"call pthread_create* - tid"
record often --on-call=handle_request --snapshots=3 -- "$program" 300
is "at most --snapshots" "$made $(cat out)" "3 sums are good"
"$DEPCTL" info --quick often | grep -q 'triggers made no snapshot (--snapshots=3)' &&
	pass "the others are counted" || fail "the others are not counted"

# ---- events of the kernel ----
record perf --on-perf=page-faults:50 --snapshots=2 -- "$program" 300
if grep -q 'cannot be counted' err; then
	skip "perf events: $(grep counted err)"
else
	is "page faults" "$made $(kept perf.1)" "2 perf_event page-faults value -"
	good "it verifies" perf.1
fi

# ---- attach ----
"$program" 600000 >out 2>&1 &
child=$!
sleep 0.2
"$DEPCTL" attach --last=8M --on-call=handle_request --snapshots=2 -o attached $child 2>err &
depctl=$!
wait_for 20 test -e attached.2/catalog.db && pass "attach" || fail "attach: $(cat err)"
kill -TERM $depctl
wait $depctl
kill -0 $child && pass "the program runs on" || fail "the program has ended"
kill -9 $child
wait $child 2>/dev/null
good "its store" attached.1

# ---- without a trigger that is met ----
record crash --on-call=raise -- sh -c 'kill -SEGV $$'
is "a crash: the reason" "$status $(kept crash)" "139 signal  value -"

# ---- wrong usage ----
usage() {
	"$DEPCTL" record "$@" -- /bin/true >out 2>&1
	is "wrong usage: $*" $? 2
}
usage --on-call=f
usage --last=8M --on-call=
usage --last=8M --on-call="[a]"
usage --last=8M --on-call="$(printf '%060d' 1)"
usage --last=8M --on-slow=f
usage --last=8M --on-slow=f:20
usage --last=8M --on-slow=:20ms
usage --last=8M --on-perf=page-faults
usage --last=8M --on-perf=cycles:5
usage --last=8M --on-perf=page-faults:0
usage --last=8M --snapshots=0
usage --snapshots=5
usage --last=8M --on-call=1 --on-call=2 --on-call=3 --on-call=4 --on-call=5 --on-call=6 \
	--on-call=7 --on-call=8 --on-call=9

# ---- more triggers than there is room for ----
many=
for i in 1 2 3 4 5 6 7 8 9; do
	many="$many --on-slow=f$i:1ms"
done
"$DEPCTL" record --last=8M $many -- true 2>err
[ $? = 2 ] && grep -q "at most 8" err && pass "a ninth trigger is refused" || fail "$(cat err)"

finish
