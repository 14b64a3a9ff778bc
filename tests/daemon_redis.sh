#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A server under load, recorded through a depd that is killed meanwhile: nothing is lost, it
# answers all the time, and depd's backlog and memory are bounded.
#
# Lag: a chunk stays in its ring until the store has it, also while there is no depd, so never
# more waits than all rings hold: nchunks for each thread.
#
# Memory: rings are mapped, not copied, and count as RssShmem; they are the programs' in the
# first place.  What is depd's own is RssAnon, which does not depend on how far behind it is:
#	for each storing thread	a copy of a chunk, the columns made of it and what zstd needs
#	for each session	8 packed chunks, 16 MiB of descriptors that wait, tables of
#				1,024 processes and 4,096 threads, the index of descriptors
# With chunks of 1 MiB and 2 to 4 storing threads that is 4 * 10 + 8 + 16 + 4 MiB at the very
# worst, in practice a fifth.
. "$(dirname "$0")/lib.sh"
need_depctl
have redis-server && have redis-benchmark && have redis-cli || finish
. "$tests/depd.sh"
trap 'touch "$tmp/over"; kill -9 $depd_pid $server $load 2>/dev/null; sleep 0.3; drop_tmp' EXIT
server='' load=''
seconds=15
[ "$LONG" = 1 ] && seconds=60
seconds=${LOAD_SECONDS:-$seconds}
nchunks=4
anon_max=$((68 << 10))
slowest_max=$((5000 * ${SLOW:-1}))
# ASan's shadow memory and quarantine do not count.
[ -n "${SAN:-}" ] && anon_max=$((1 << 20))
cli="redis-cli -s $tmp/redis.sock"

# threads: number of threads of redis
threads() {
	ls "/proc/$(cat "$tmp/redis.pid")/task" 2>/dev/null | wc -l
}

# sample: twice a second "lag-in-chunks RssAnon RssShmem threads-of-redis"
sample() {
	while [ ! -e "$tmp/over" ]; do
		pid=$(instance)
		threads=$(threads)
		lag=$("$DEPCTL" status --json 2>/dev/null |
			sed -n 's/.*"lag":{"chunks":\([0-9]*\).*/\1/p')
		anon=$(resident "$pid" RssAnon)
		shmem=$(resident "$pid" RssShmem)
		# Threads can begin or end while the lag is read.
		now=$(threads)
		[ "$now" -le "$threads" ] || threads=$now
		[ -n "$lag" ] && [ -n "$anon" ] && [ "$threads" != 0 ] &&
			echo "$lag $anon $shmem $threads"
		sleep 0.5
	done >"$tmp/samples"
}

# ask: ten times a second, print the milliseconds until the response, or a wrong response
ask() {
	while [ ! -e "$tmp/over" ]; do
		since=${EPOCHREALTIME/./}
		answer=$(timeout 20 $cli ping 2>&1)
		took=$(((${EPOCHREALTIME/./} - since) / 1000))
		[ "$answer" = PONG ] && echo "$took" || echo "not: $answer"
		sleep 0.1
	done >"$tmp/answers"
}

most() {
	awk -v c="$1" '$c > m { m = $c } END { print m + 0 }' "$2"
}

begin() {
	rm -rf "$tmp"/redis.* "$tmp/over"
	"$DEPCTL" record -q --transport="$1" -o "$tmp/redis.dep" -- redis-server --port 0 \
		--unixsocket "$tmp/redis.sock" --save '' --appendonly no --dir "$tmp" \
		--pidfile "$tmp/redis.pid" --daemonize no >"$tmp/redis.out" 2>"$tmp/redis.err" &
	server=$!
	for _ in $(seq 300); do
		[ -s "$tmp/redis.pid" ] && [ "$($cli ping 2>/dev/null)" = PONG ] && return 0
		sleep 0.1
	done
	fail "$1: redis does not begin: $(cat "$tmp/redis.err")"
	return 1
}

# loaded: seconds of the load, during which depd is killed three times
loaded() {
	timeout "$seconds" redis-benchmark -s "$tmp/redis.sock" -q -l -c 20 -d 64 -r 10000 \
		-t set,get,incr,lpush,lpop,sadd,hset,zadd >"$tmp/load" 2>&1 &
	load=$!
	for _ in 1 2 3; do
		sleep $((seconds / 4))
		kill_depd
		sleep "0.$((RANDOM % 8 + 1))"
		start || return
	done
	wait $load
	status=$?
	load=
	[ $status = 124 ] && return
	fail "$1: redis-benchmark ended with $status: $(tail -n 1 "$tmp/load")"
}

check_store() {
	limit=900
	if ! no_loss "$tmp/redis.dep"; then
		fail "$1: loss: $loss"
	else
		pass "$1: no loss after three kills of depd"
	fi
	if timeout $limit "$DEPCTL" verify "$tmp/redis.dep" >"$tmp/verify" 2>&1; then
		pass "$1: $(tail -n 1 "$tmp/verify")"
	else
		fail "$1: verify: $(head -n 2 "$tmp/verify" | tr '\n' ' ')"
	fi
}

check_bounds() {
	n=$(wc -l <"$tmp/samples")
	over=$(awk -v c=$nchunks '$1 > c * $4' "$tmp/samples" | wc -l)
	lag=$(most 1 "$tmp/samples") anon=$(most 2 "$tmp/samples") shmem=$(most 3 "$tmp/samples")
	# Two samples a second are expected; the machine may be busy.
	if [ "$n" -lt $((seconds / 3 / ${SLOW:-1})) ]; then
		fail "$1: only $n samples of depd"
	elif [ "$over" != 0 ]; then
		fail "$1: $over samples have a lag of more than the rings hold ($lag chunks)"
	else
		pass "$1: lag at most $lag chunks in $n samples"
	fi
	if [ "$anon" -gt $anon_max ]; then
		fail "$1: depd has $anon KiB of its own"
	else
		pass "$1: depd has at most $anon KiB of its own, $shmem KiB of rings"
	fi
	bad=$(grep -c not "$tmp/answers")
	slowest=$(grep -v not "$tmp/answers" | most 1 -)
	if [ "$bad" != 0 ] || [ "$slowest" -gt $slowest_max ]; then
		fail "$1: $bad wrong answers: $(grep -m 1 not "$tmp/answers"), slowest $slowest ms"
	else
		pass "$1: $(wc -l <"$tmp/answers") answers, the slowest after $slowest ms"
	fi
}

# case_of TRANSPORT
case_of() {
	begin "$1" || return
	sample &
	sampler=$!
	ask &
	asker=$!
	loaded "$1"
	touch "$tmp/over"
	wait $sampler $asker
	$cli shutdown nosave >/dev/null 2>&1
	wait $server
	status=$?
	server=
	[ $status = 0 ] || fail "$1: status $status: $(tail -n 1 "$tmp/redis.err")"
	check_bounds "$1"
	check_store "$1"
	rm -rf "$tmp/redis.dep"
}

start || finish
transports=shm
[ "$LONG" = 1 ] && transports="shm kmod"
for t in ${TRANSPORTS:-$transports}; do
	if [ $t = kmod ] && [ ! -w /dev/adept ]; then
		skip "kmod: /dev/adept cannot be used"
	else
		case_of $t
	fi
done
term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
finish
