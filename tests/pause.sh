#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pause and resume: a recorded program runs natively for some time, with the engine in its memory.
# CYCLES of pause and resume: 10, LONG=1: 1000.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
cases=$build/programs/pause_cases
cycles=10
[ "$LONG" != 1 ] || cycles=1000

pause() {
	"$DEPCTL" pause -q $pid 2>err || fail "$1: no pause: $(cat err)"
}

resume() {
	"$DEPCTL" resume -q $pid 2>err || fail "$1: not resumed: $(cat err)"
}

# What is the same in a native run; the engine's mappings are in memory.
state_in_pause() {
	state "$1" | grep -v -e '^[0-9a-f]*-' -e 'Max data' -e 'Max address'
}

# ---- what the program changes in a pause ----
for case in code signals threads children; do
	begin $case
	reached $case
	state_in_pause $pid >before
	attach $pid
	pause $case
	state_in_pause $pid >after
	cmp -s before after && pass "$case: its state in the pause is its own" ||
		fail "$case: $(diff before after)"
	go_on
	reached $case
	resume $case
	go_on
	[ $case != threads ] || { reached $case && pause $case && resume $case && detach; go_on; }
	over "a pause, $case"
	wait $recorder
	good store && pass "$case: the store is good" || fail "$case: $(tail -n 1 verify.out)"
done

# A launched program, and the detach from a paused one.
coproc program { exec "$DEPCTL" record -q --alone -o launched -- "$cases" signals; }
exec 5<&"${program[0]}" 6>&"${program[1]}"
: >out
at=0
cat <&5 >out &
reader=$!
reached launched
pid=$(pgrep -P $program_PID -x pause_cases)
pause launched
go_on
reached launched
"$DEPCTL" detach -q $pid 2>err && pass "detach from a paused process" || fail "$(cat err)"
is_native $pid && pass "the engine is gone" || fail "the engine is still mapped"
go_on
wait $program_PID
exec 5<&- 6>&-
wait $reader
is "a pause of a launched program" "$(tail -n 1 out)" right
good launched && pass "its store is good" || fail "its store: $(tail -n 1 verify.out)"

# ---- errors ----
begin nothing
reached nothing
"$DEPCTL" pause $pid 2>err
is "pause of a process that is not recorded" $? 1
grep -q "is not being recorded" err && pass "says so" || fail "$(cat err)"
attach $pid
"$DEPCTL" resume $pid 2>err
is "resume of a process that is not paused" $? 1
grep -q "is not paused" err && pass "says so" || fail "$(cat err)"
pause nothing
"$DEPCTL" pause $pid 2>err
is "pause of a process that is paused" $? 1
grep -q "is paused already" err && pass "says so" || fail "$(cat err)"
detach && pass "Ctrl-C in a pause detaches" || fail "Ctrl-C: $(cat err)"
is_native $pid && pass "and the engine is gone" || fail "the engine is still mapped"
go_on
over "it has not noticed"
good store && pass "its store is good" || fail "its store: $(tail -n 1 verify.out)"

# ---- another program in a pause ----
begin exec
reached exec
attach $pid
pause exec
go_on
wait_for 20 eval '[ "$(grep -c "^at 1$" out)" = 2 ]' || fail "exec: $(cat out)"
"$DEPCTL" resume $pid 2>err
is "resume after an execve in the pause" $? 1
go_on
wait $recorder
over "a program that was executed in the pause"

# ---- a thread in a call that a stop would end ----
begin late
reached late
attach $pid
go_on
reached late
"$DEPCTL" pause $pid 2>err || fail "late: $(cat err)"
grep -q "1 of its threads follow" err && pass "a thread follows when its call returns" ||
	fail "late: $(cat err)"
reached late
wait_for 10 "$DEPCTL" resume -q $pid 2>err && pass "then it is resumed" || fail "$(cat err)"
go_on
reached late
detach || fail "late: $(cat err)"
go_on
over "a call that goes on in the pause"

# The same, but the recording is ended before that.
begin late
reached late
attach $pid
go_on
reached late
"$DEPCTL" pause -q $pid 2>pause.err || fail "late: $(cat pause.err)"
detach && pass "Ctrl-C while a thread has not come to the pause" || fail "late: $(cat err)"
is_native $pid && pass "then the engine is gone" || fail "late: the engine is still mapped"
reached late
go_on
reached late
go_on
over "the thread has not noticed"
good store && pass "its store is good" || fail "late: $(tail -n 1 verify.out)"

# ---- paused and resumed all the time ----
# cycle PROGRAM PATTERN SECONDS
cycle() {
	local done
	rm -f out
	"$build/programs/$1" "$3" >out 2>&1 &
	pid=$!
	wait_for 10 grep -qs running out
	attach $pid
	for ((done = 0; done < cycles; done++)); do
		sleep 0.03
		"$DEPCTL" pause -q $pid 2>err || break
		sleep 0.03
		wait_for 10 "$DEPCTL" resume -q $pid 2>err || break
	done
	is "$1: cycles" $done $cycles
	[ $done = $cycles ] || cat err
	detach && pass "$1: detached" || fail "$1: $(cat err)"
	is_native $pid && pass "$1: the engine is gone" || fail "$1: the engine is still mapped"
	kill -USR2 $pid
	wait $pid
	is "$1: status" $? 0
	grep -q "$2" out && pass "$1: all results are right" || fail "$1: $(tail -n 3 out)"
	good store && pass "$1: the store is good" || fail "$1: $(tail -n 1 verify.out)"
}

cat >racy.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long handed, locked, racy;
static volatile sig_atomic_t over;

static void end(int sig)
{
	over = sig;
}

static void *run(void *arg)
{
	while (!over) {
		pthread_mutex_lock(&lock);
		locked++;
		pthread_mutex_unlock(&lock);
		if (arg)
			racy++;
		usleep(100);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	char c;

	signal(SIGUSR2, end);
	(void)argv;
	while (!over) {
		handed++;	/* each thread that gets it is created later, mostly in a pause */
		pthread_create(&t[0], NULL, run, argc > 1 ? &c : NULL);
		pthread_create(&t[1], NULL, run, argc > 1 ? &c : NULL);
		usleep(300000);
		over = !over ? -1 : over;
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
		over = over == -1 ? 0 : over;
	}
	return 0;
}
END
gcc -O1 -g -pthread -o racy racy.c || exit 1
# races NAME [ARG]: record it in bursts
races() {
	./racy ${2:+$2} &
	pid=$!
	sleep 0.2
	bursts 30ms/60ms -q || fail "$1: $(cat err)"
	kill -USR2 $pid
	wait $pid
	"$DEPCTL" query races store >races.out 2>&1
}

cycle attach_calls all.calls 0
cycle attach_threads all.as 1000

# ---- in bursts ----
# bursts ON/OFF [ARG]: record process $pid for 3 s
bursts() {
	local i
	for ((i = 0; i < 10; i++)); do
		rm -rf store
		"$DEPCTL" attach --burst=$1 ${2:+$2} --for 3 -o store $pid 2>err && return
		# All threads must stop within 100 ms, which a busy machine can prevent.
		grep -q "try again" err || return
	done
	return 1
}

for args in 20ms 20ms/ 0ms/1s 20ms/2d 2/3 1s/20ms3; do
	"$DEPCTL" attach --burst=$args $$ 2>err
	[ $? = 2 ] && grep -q "must be two times" err && pass "--burst=$args is refused" ||
		fail "--burst=$args: $(cat err)"
done
rm -f out
"$build/programs/attach_threads" 1000 >out 2>&1 &
pid=$!
wait_for 10 grep -qs running out
bursts 20ms/50ms && pass "in bursts" || fail "in bursts: $(cat err)"
grep -q "runs natively again" err && pass "then it is detached from" || fail "$(cat err)"
grep -q "[0-9] bursts were recorded" err && pass "it says how many bursts there were" ||
	fail "$(cat err)"
is_native $pid && pass "the engine is gone" || fail "the engine is still mapped"
kill -USR2 $pid
wait $pid
is "status" $? 0
grep -q all.as out && pass "all results are right" || fail "in bursts: $(tail -n 3 out)"
good store && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
parts=$("$DEPCTL" info --json store | python3 -c 'import json, sys
tids = [t["tid"] for t in json.load(sys.stdin)["threads"]]
print(max(tids.count(t) for t in tids))')
"$DEPCTL" dump --events store >events 2>&1
grep -q " detach .*pause" events && pass "the store has the pauses" ||
	fail "no pause: $(grep -m 3 tach events)"
[ "$parts" -ge 3 ] && pass "a thread was recorded in several bursts" || fail "$parts bursts"

# ---- races: what happened before a pause is ordered before what comes after it ----
races quiet
grep -q "^0 races in" races.out && pass "no race is reported across pauses" ||
	fail "across pauses: $(head -n 20 races.out)"
races racy x
grep -q "racy.c" races.out && pass "a race within a burst is found" ||
	fail "within a burst: $(head -n 5 races.out)"

finish
