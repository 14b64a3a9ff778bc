#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl snapshot of recordings with --last: each store verifies, dumps and has no races, and says
# why it was kept; the program and the recording go on as if nothing had been.
# SNAPSHOTS: 20, LONG=1: 200.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
program=$build/programs/flight
cd "$tmp" || exit 1
snapshots=20
[ "$LONG" != 1 ] || snapshots=200

# start STORE OPTION... -- COMMAND...: record in the background; sets depctl and child
start() {
	local store=$1
	shift
	rm -rf "$store" "$store".[0-9]*
	"$DEPCTL" record -o "$store" "$@" >out 2>err &
	depctl=$!
	child=
	if ! wait_for 20 eval 'child=$(pgrep -P $depctl flight)' ||
	   ! wait_for 20 test -s "$store/fragments"; then
		fail "the program did not start: $(cat err)"
		finish
	fi
}

# ---- a program that runs on ----
start main --last=8M --ring-size=256K -- "$program" 600000
sleep 0.5
taken=0
for ((i = 0; i < snapshots; i++)); do
	of=$child
	[ $((i % 2)) = 0 ] || of=main
	"$DEPCTL" snapshot "$of" >snapshot.out 2>&1 && taken=$((taken + 1)) ||
		fail "snapshot: $(cat snapshot.out)"
done
is "snapshots of a program that runs on" $taken $snapshots
grep -q "$tmp/main.$snapshots: 4 threads, .* stored; nothing is missing in the last" snapshot.out &&
	pass "the command says what was kept" || fail "it says: $(cat snapshot.out)"
"$DEPCTL" snapshot -o other -q main >snapshot.out 2>&1 && [ -d other ] && [ ! -s snapshot.out ] &&
	pass "-o and -q" || fail "-o and -q: $(cat snapshot.out)"
"$DEPCTL" snapshot -o other main >snapshot.out 2>&1
is "a store that exists" "$? $(grep -c 'exists' snapshot.out)" "1 1"
kill -0 "$child" && pass "the program still runs" || fail "the program has ended"
kill -SEGV "$child"
wait $depctl
is "status" $? 139
# Some of them: each takes seconds.
for ((i = 1; i <= snapshots; i += (snapshots + 3) / 4)); do
	good "snapshot $i" main.$i
done
good "with -o" other
verifies_killed main && pass "the store of the recording" || fail "the recording: $(unverified)"
is "the reasons" "$(last main.1 'last["kept"]["reason"]') $(last main '
last["kept"]["reason"], last["kept"]["value"]')" "asked ('signal', 11)"
"$DEPCTL" info --quick main.1 >info.out
grep -q '^kept: *at .* s: depctl snapshot asked for it$' info.out && pass "info says why" ||
	fail "info: $(grep kept info.out)"
is "each begins later than the one before" "$(last main.2 'int(last["from_ns"])' |
	{ read -r second; last main.1 "0 < int(last['from_ns']) < $second"; })" True

# ---- nothing was dropped yet, and a store that ends at once ----
start small --last=512M -- "$program" 2500
"$DEPCTL" snapshot small >snapshot.out 2>&1
grep -q 'nothing is missing$' snapshot.out && pass "nothing was dropped" ||
	fail "nothing dropped: $(cat snapshot.out)"
wait $depctl
is "the program's output and status" "$? $(cat out)" "0 sums are good"
good "the snapshot" small.1
is "the reason of its end" "$(last small 'last["kept"]["reason"]')" exit
"$DEPCTL" snapshot small >snapshot.out 2>&1
is "a recording that has ended" "$? $(grep -c 'can be reached' snapshot.out)" "1 1"

# ---- who may ask ----
if [ "$(id -u)" = 0 ]; then
	start rooted --last=8M -- "$program" 600000
	chmod 755 "$tmp"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$DEPCTL" snapshot -o "$tmp/stolen" \
		"$child" >snapshot.out 2>&1
	is "another user" "$? $([ -e stolen ] && echo made)" "1 "
	"$DEPCTL" snapshot rooted >/dev/null 2>&1 && pass "then its own user" ||
		fail "the recorder does not answer"
	kill -9 "$child"
	wait $depctl
else
	skip "another user: not root"
fi

# ---- a disk that is full: only the snapshot fails ----
if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=256k none disk 2>/dev/null; then
	start roomy --last=8M -- "$program" 600000
	sleep 0.3
	"$DEPCTL" snapshot -o disk/store roomy >snapshot.out 2>&1
	is "a full disk" "$? $(ls disk | wc -l)" "1 0"
	"$DEPCTL" snapshot roomy >/dev/null 2>&1 && pass "the next one" || fail "the next one"
	kill -9 "$child"
	wait $depctl
	umount disk
else
	skip "a full disk: cannot mount"
fi

# ---- attach ----
"$program" 600000 >out 2>&1 &
child=$!
sleep 0.2
"$DEPCTL" attach --last=4M -o attached $child 2>err &
depctl=$!
# Right after the attach the threads may have written nothing yet.
taken() {
	rm -rf taken
	"$DEPCTL" snapshot -o taken $child >/dev/null 2>&1 &&
		[ "$("$DEPCTL" dump --refs taken | wc -l)" -ge 1000 ]
}
wait_for 20 taken && pass "a snapshot of an attach" || fail "attach: $(cat err)"
kill -TERM $depctl
wait $depctl
kill -0 $child && pass "the program runs on" || fail "the program has ended"
kill -9 $child
wait $child 2>/dev/null
good "its store" taken

# ---- a server under load: memory stays in its bound, also while snapshots are stored ----
# SECONDS of load: 5, LONG=1: 300.
seconds=5
[ "$LONG" != 1 ] || seconds=300
if have redis-server && have redis-benchmark; then
	"$DEPCTL" record -q --last=16M -o redis -- redis-server --port 0 \
		--unixsocket "$tmp/redis.sock" --save '' >out 2>err &
	depctl=$!
	wait_for 30 redis-cli -s "$tmp/redis.sock" ping >/dev/null
	server=$(pgrep -P $depctl redis-server)
	collector=$(pgrep -P $depctl depctl-collect)
	timeout $seconds redis-benchmark -q -s "$tmp/redis.sock" -l -t set,get -P 8 \
		>/dev/null 2>&1 &
	load=$!
	most=0
	taken=0
	while kill -0 $load 2>/dev/null; do
		rm -rf shot
		"$DEPCTL" snapshot -q -o shot "$server" && taken=$((taken + 1))
		memory=$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$collector/status")
		[ "${memory:-0}" -le $most ] || most=$memory
	done
	[ $taken -gt 0 ] && pass "redis: snapshots" || fail "redis: no snapshot: $(cat err)"
	# Twice the window; buffers for packing; descriptors, and their index twice.
	[ $most -lt $((2 * 16384 + 24576)) ] && pass "redis: memory" ||
		fail "redis: the collector has $most KiB with --last=16M"
	is "redis answers" "$(redis-cli -s "$tmp/redis.sock" ping)" PONG
	kill -SEGV "$server"
	wait $depctl
	good "redis: the last snapshot" shot
	is "redis: why" "$(last redis 'last["kept"]["reason"]')" signal
fi

# ---- wrong usage ----
for wrong in "" "1 2" "-o  1" "--nonsense"; do
	# shellcheck disable=SC2086 # several arguments
	"$DEPCTL" snapshot $wrong >out 2>&1
	[ $? -ne 0 ] && pass "wrong usage: $wrong" || fail "wrong usage: $wrong"
done
"$DEPCTL" snapshot $$ >out 2>&1
is "a process that is not recorded" "$? $(grep -c 'not being recorded' out)" "1 1"

finish
