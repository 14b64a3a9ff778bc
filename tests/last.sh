#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl record --last and depctl attach --last: what is kept of a program that crashes, ends, or is
# killed is the end of its execution, within the bound; it is complete, and its races are found.
# ROUNDS of the race search: 2, LONG=1: 50.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
program=$build/programs/last_part
cd "$tmp" || exit 1
rounds=2
[ "$LONG" != 1 ] || rounds=50

# record STATUS STORE OPTION... -- COMMAND...: record with --last; depctl ends with STATUS
record() {
	local want=$1 store=$2 status
	shift 2
	rm -rf "$store"
	(exec "$DEPCTL" record -o "$store" "$@") >out 2>err
	status=$?
	[ $status = "$want" ] || fail "status $status, not $want: $(paste -s -d '|' err)"
}

# good NAME STORE: verify finds nothing wrong, and something was dropped
good() {
	if ! verifies_killed "$2"; then
		fail "$1: $(unverified)"
	elif [ "$(kept "$2" dropped_chunks)" -lt 1 ]; then
		fail "$1: nothing was dropped"
	else
		pass "$1"
	fi
}

# kept STORE KEY: a number of what info says about --last
kept() {
	"$DEPCTL" info --quick --json "$1" | python3 -c '
import json, sys
print(int(json.load(sys.stdin)["last"][sys.argv[1]]))' "$2"
}

# anonymous PID: anonymous memory of the collector of depctl PID, in KiB
anonymous() {
	local collector
	collector=$(pgrep -P "$1" depctl-collect) &&
		awk '$1 == "RssAnon:" { print $2 }' "/proc/$collector/status"
}

# ---- the references are the last ones of the execution ----
small="--no-aslr --ring-size=256K"
record 139 whole --alone $small -- "$program" 200 same
record 139 part $small --last=1M -- "$program" 200 same
good "a crash" part
base=0x555555554000
symbol() {
	nm -S "$program" | awk -v s="$1" '$4 == s { print $1, $2 }'
}
read -r work work_size < <(symbol work)
read -r workers workers_size < <(symbol worker)
at() {
	printf '%x' $((base + 0x$1 + ${2:-0}))
}
for store in whole part; do
	"$DEPCTL" dump --refs --fields=thread,pc,address,size,type $store >$store.refs
done
python3 "$tests/last.py" whole.refs part.refs "$(at "$work")" "$(at "$work" 0x"$work_size")" \
	"$(at "$workers")" "$(printf '%x' $((0x$workers_size / 4)))" >compared
# Of a thread that has waited for the others nothing may be left.
[ "$(grep -c ': equal$\|: dropped$' compared)" = 4 ] && grep -q ': equal$' compared &&
	pass "references of four threads" || fail "references: $(paste -s -d , compared)"
is "info: the bound" "$(kept part max_bytes)" 1048576
grep -q "dropped all but the last .* (--last); nothing is missing in the last" err &&
	pass "the summary says what was kept" || fail "summary: $(cat err)"
is "catalog: what was dropped" \
	"$(python3 - part/catalog.db <<'EOF'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
(last,) = db.execute("SELECT max_bytes, chunks, bytes FROM last").fetchall()
rows = db.execute("SELECT sum(chunks), sum(bytes), count(*) FROM last_threads").fetchone()
first = db.execute("SELECT count(*) FROM last_threads l WHERE l.first != "
                   "(SELECT min(seq) FROM segments s WHERE s.thread = l.thread)").fetchone()
print(last[0], last[1:] == rows[:2], rows[2], first[0])
EOF
)" "1048576 True 4 0"

# ---- races at the end, and no others ----
found=0
for ((i = 0; i < rounds; i++)); do
	record 139 races $small --last=1M -- "$program" 500 crash
	"$DEPCTL" query races races >races.out 2>&1
	if [ "$(grep '^race:' races.out | sed 's/.*, \(racy_[a-z]*\).*/\1/')" = racy_late ] &&
	   grep -q '^complete: yes' races.out; then
		found=$((found + 1))
	else
		fail "races: $(grep -v '^ ' races.out | paste -s -d '|')"
	fi
done
is "the race at the end is found, and no others" $found $rounds
"$DEPCTL" query races --predict races >out 2>&1
grep -q "cannot be predicted from the last part" out && pass "prediction is refused" ||
	fail "prediction: $(cat out)"

# ---- other ends ----
record 0 exits $small --last=1M -- "$program" 500 exit
good "an end with status 0" exits
is "its output" "$(cat out)" "$("$program" 500 exit)"
record 3 nothing --last=64M -- sh -c 'exit 3'
"$DEPCTL" verify nothing >verify.out 2>&1 && pass "an end before anything is dropped" ||
	fail "nothing dropped: $(tail -n 1 verify.out)"
is "nothing was dropped" "$(kept nothing dropped_chunks) $(kept nothing from_ns)" "0 0"
record 139 drops $small --last=1M --on-full=drop -- "$program" 500 crash
"$DEPCTL" verify drops >verify.out 2>&1 && pass "--on-full=drop" ||
	fail "--on-full=drop: $(tail -n 1 verify.out)"

# ---- --keep-if ----
# keeps WHEN STATUS EXPECTED OPTION...: record a command that ends with STATUS; is the store kept?
keeps() {
	local when=$1 status=$2 kept
	rm -rf kept
	if [ "$status" = 139 ]; then
		set -- "$3" "${@:4}" -- sh -c 'kill -SEGV $$'
	else
		set -- "$3" "${@:4}" -- sh -c "exit $status"
	fi
	record "$status" kept --keep-if="$when" "${@:2}"
	kept=no
	[ ! -d kept ] || kept=yes
	is "--keep-if=$when, status $status" "$kept $(grep -c 'was removed' err)" "$1"
	[ $kept = no ] || "$DEPCTL" verify kept >verify.out 2>&1 || fail "$(cat verify.out)"
}
keeps crash 0 "no 1" --last=8M
keeps crash 3 "no 1" --last=8M
keeps crash 139 "yes 0" --last=8M
keeps failure 0 "no 1"
keeps failure 3 "yes 0"
keeps failure 139 "yes 0" --last=8M
keeps always 0 "yes 0"

# ---- memory while it runs, and kill -9 of the program ----
# work_long STORE OPTION...: record the program that goes on; kill it when 100 MB were recorded
most=0
work_long() {
	local store=$1 depctl child memory i
	shift
	rm -rf "$store"
	"$DEPCTL" record -o "$store" "$@" -- "$program" 10 wait >out 2>err &
	depctl=$!
	most=0
	for ((i = 0; i < 20; i++)); do
		sleep 0.1
		memory=$(anonymous $depctl)
		[ "${memory:-0}" -le $most ] || most=$memory
	done
	child=$(pgrep -P $depctl last_part)
	kill -9 "$child"
	wait $depctl
	is "$store: the status" $? 137
	good "$store: kill -9 of the program" "$store"
}
work_long bounded --last=8M
# Besides: buffers for packing, and the index of fragments.
[ $most -lt $((8192 + 12288)) ] && pass "the collector's memory is bounded" ||
	fail "the collector has $most KiB with --last=8M"
small_most=$most
rm -rf wide
"$DEPCTL" record -q -o wide --last=64M -- "$program" 100000 exit >out 2>err &
depctl=$!
wait_for 30 eval '[ "$(anonymous $depctl)" -gt $((small_most + 30000)) ]' &&
	pass "it is larger with a larger bound" || fail "no more memory with --last=64M"
pkill -9 -P $depctl last_part
wait $depctl
work_long timed --last=1s
is "timed: the bound" "$(kept timed max_ns)" 1000000000
kept_for=$(sed -n 's/.*nothing is missing in the last \([0-9]*\)\..* s$/\1/p' err)
[ "${kept_for:-9}" -le 1 ] && pass "timed: not much more than a second was kept" ||
	fail "timed: $(cat err)"

# ---- kill -9 of the collector ----
rm -rf lost
"$DEPCTL" record -o lost --last=8M -- "$program" 500000 exit >out 2>err &
depctl=$!
wait_for 10 pgrep -P $depctl depctl-collect >/dev/null
sleep 0.2
pkill -9 -P $depctl depctl-collect
wait $depctl
"$DEPCTL" verify lost >verify.out 2>&1
is "the collector is killed: verify" $? 1
grep -q "with --last the records are in its memory" verify.out && pass "verify says why" ||
	fail "verify: $(cat verify.out)"
[ -s out ] && pass "the program goes on" || fail "the program printed nothing"

# ---- threads and processes that are gone ----
record 0 many $small --last=512K -- sh -c 'i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done'
good "many processes" many
gone=$(kept many dropped_processes)
[ "$gone" -gt 15 ] && pass "ended processes are not kept" || fail "$gone processes were dropped"

# ---- attach ----
"$program" 1000000000 exit >out 2>&1 &
child=$!
sleep 0.2
"$DEPCTL" attach --last=4M --for=1 -o attached $child 2>err ||
	fail "attach: $(cat err)"
kill -9 $child
wait $child 2>/dev/null
good "attach" attached
"$DEPCTL" query races attached >races.out 2>&1
is "races after an attach" "$(grep -c '^race:' races.out)" 0

# ---- a server ----
if have redis-server && have redis-benchmark; then
	"$DEPCTL" record -q --last=16M -o redis -- redis-server --port 0 \
		--unixsocket "$tmp/redis.sock" --save '' >out 2>err &
	depctl=$!
	wait_for 20 redis-cli -s "$tmp/redis.sock" ping >/dev/null
	timeout 2 redis-benchmark -q -s "$tmp/redis.sock" -l -t set,get -P 8 >/dev/null 2>&1
	pkill -SEGV -P $depctl redis-server
	wait $depctl
	good "redis" redis
	"$DEPCTL" query races redis >races.out 2>&1
	is "redis has no races" "$(grep -c '^race:' races.out)" 0
fi

# ---- wrong usage ----
for wrong in 0 1x s 5m,3m 64M,1G 1M 30s,1M 900000G; do
	"$DEPCTL" record --last=$wrong -- /bin/true >out 2>&1
	is "--last=$wrong" "$? $(grep -c -- --last out)" "2 1"
done
for with in --races --max-size=1G --null --no-record --transport=kmod; do
	"$DEPCTL" record --last=8M $with -- /bin/true >out 2>&1
	is "--last with $with" "$? $(grep -c 'excludes' out)" "2 1"
done
"$DEPCTL" record --keep-if=x -- /bin/true >out 2>&1
is "--keep-if=x" "$? $(grep -c 'must be always, failure or crash' out)" "2 1"

finish
