#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl attach: programs that check what they see are recorded from their middle on, and do not
# notice it; the references are those of an engine that was there from the start.  ROUNDS of each:
# 2, LONG=1: 100.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
rounds=2
[ "$LONG" != 1 ] || rounds=100
RANDOM=${ADEPT_TEST_SEED:-1}

# good STORE: it is complete, and has references
good() {
	"$DEPCTL" verify "$1" >verify.out 2>&1 &&
		grep -Eq ' [1-9][0-9]* references: good$' verify.out
}

# is_recorded PID
is_recorded() {
	grep -qs adept-session "/proc/$1/maps"
}

# checked NAME SIGNAL PATTERN COMMAND...: attach to it once, and end it by SIGNAL (0: it ends by
# itself): it exits with 0, its last line has PATTERN, and the store is good
checked() {
	local name=$1 signal=$2 pattern=$3 pid recorder status ours again
	shift 3
	rm -f out
	"$@" >out 2>&1 &
	pid=$!
	wait_for 10 grep -qs running out
	sleep 0.$((RANDOM % 5))
	# On a busy machine, the threads can be too fast for the tracer.
	for ((again = 0; again < 5; again++)); do
		rm -rf store
		: >err
		timeout 120 "$DEPCTL" attach -o store $pid 2>err &
		recorder=$!
		wait_for 20 eval 'grep -q recording err || ! kill -0 $recorder 2>/dev/null'
		grep -q "try again" err || break
		wait $recorder
	done
	[ "$signal" = 0 ] || sleep 2
	kill -s "$signal" $pid
	wait $recorder
	ours=$?
	wait $pid
	status=$?
	[ "$ours $status" = "0 0" ] && tail -n 1 out | grep -q "$pattern" && good store &&
		return
	fail "$name: $ours, $status: $(tail -n 1 out err verify.out | paste -s -d '|')"
	return 1
}

# ---- programs that check themselves ----
for program in "attach_calls 0 all.calls" "attach_threads 1000 all.as"; do
	read -r name seconds pattern <<<"$program"
	done=0
	for ((i = 0; i < rounds; i++)); do
		checked "$name" USR2 "$pattern" "$build/programs/$name" "$seconds" || break
		done=$((done + 1))
	done
	is "$name, recorded from the middle on" $done $rounds
done

# ---- references ----
# references STORE PROCESS: those of a process, in program order
references() {
	"$DEPCTL" dump --refs --fields=process,pc,address,size,type "$1" |
		awk -v p="$2" '$1 == p'
}

if have setarch; then
	same=$build/programs/attach_same
	{ sleep 0.2 && echo; } |
		env -i setarch -R "$DEPCTL" record -q --alone -o whole -- "$same" >whole.out
	coproc program { exec env -i setarch -R "$same"; }
	pid=$program_PID
	exec 5<&"${program[0]}" 6>&"${program[1]}"
	wait_for 10 eval 'grep -q "^0 " /proc/$pid/syscall'
	: >err
	"$DEPCTL" attach -o part $pid 2>err &
	recorder=$!
	wait_for 10 grep -q "recording process" err || fail "no attach: $(cat err)"
	echo >&6
	is "the output is the same" "$(cat <&5)" "$(cat whole.out)"
	exec 5<&- 6>&-
	wait $recorder
	good part && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
	# The program, and its child.
	"$DEPCTL" dump --refs --fields=process whole | uniq | sort -nu >processes
	is "processes" "$(wc -l <processes)" 2
	for process in $(cat processes); do
		references whole "$process" >whole.refs
		references part "$process" >part.refs
		n=$(wc -l <part.refs)
		[ "$n" -gt 10000 ] && tail -n "$n" whole.refs | cmp -s - part.refs &&
			pass "process $process: all $n references are as in a whole recording" ||
			fail "process $process: its $n references are not as in a recording"
	done
	"$DEPCTL" ls part >ls.out
	is "how it was recorded" "$(grep -c '^process [0-9]* *attach ' ls.out)" 1
fi

# ---- races ----
# Messages and joins order threads, also those that began before the attach; nothing else does.
cat >message.c <<'END2'
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd[2];
static volatile long v_sent, v_joined, v_racy;

static void *receiver(void *arg)
{
	char c;

	if (recv(fd[1], &c, 1, 0) != 1)
		return NULL;
	v_joined = v_sent + 1;
	v_racy++;
	return arg;
}

int main(void)
{
	pthread_t t;
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) || pthread_create(&t, NULL, receiver, NULL))
		return 2;
	if (read(0, &c, 1) != 1)
		return 2;
	v_sent = 41;
	send(fd[0], &c, 1, 0);
	usleep(300000);
	v_racy++;
	pthread_join(t, NULL);
	return v_joined != 42;
}
END2
gcc -g -O1 -pthread -o message message.c || exit 1
{ exec ./message; } < <(wait_for 10 grep -qs "recording process" err.message && echo) &
pid=$!
"$DEPCTL" attach -o message.dep $pid 2>err.message
is "a recording of messages" $? 0
wait $pid
is "and the program ends as it must" $? 0
good message.dep && pass "its store is good" || fail "the store: $(tail -n 1 verify.out)"
"$DEPCTL" query races --json message.dep >races.json
is "the only race" "$(python3 -c 'import json
print(sorted({r["variable"] for r in json.load(open("races.json"))["races"]}))')" "['v_racy']"
rm -f out
"$build/programs/attach_threads" 1000 >out &
pid=$!
wait_for 10 grep -qs running out
"$DEPCTL" attach -q -o threads.dep $pid 2>err &
recorder=$!
wait_for 20 is_recorded $pid
sleep 1
kill -USR2 $pid
wait $recorder
is "attach_threads is recorded" $? 0
wait $pid
"$DEPCTL" query races threads.dep >races.out
grep -q "^0 races in " races.out && pass "no race in attach_threads" ||
	fail "races in attach_threads: $(grep ^race: races.out | paste -s -d '|')"

# ---- the end of a recording ----
rm -f out
"$build/programs/attach_threads" 100 >out &
pid=$!
wait_for 10 grep -qs running out
"$DEPCTL" attach --for 2 -o timed $pid 2>err.timed &
recorder=$!
wait_for 10 grep -qs "recording process" err.timed
"$DEPCTL" attach $pid 2>err
is "a second attach" $? 1
grep -q "is being recorded" err && pass "is refused, as the engine is there" ||
	fail "$(cat err)"
wait $recorder
s=$?
is "--for ends a recording" $s 0
[ $s = 0 ] || cat err.timed
kill -0 $pid && pass "while the program goes on" || fail "the program has ended"
kill -USR2 $pid
wait $pid
is "and the program ends as it must" $? 0
good timed && pass "a good store" || fail "the store: $(tail -n 1 verify.out)"

# ---- the tracer is killed ----
rounds=6
[ "$LONG" != 1 ] || rounds=200
threads=$build/programs/attach_threads
python3 "$tests/kill_tracer.py" "$DEPCTL" $rounds $RANDOM "$threads" 60 >out 2>&1 &&
	pass "the tracer was killed at random moments: the program ends as it must" ||
	fail "the tracer was killed: $(paste -s -d '|' out)"

# ---- what cannot be recorded runs on ----
# refused NAME PATTERN PID
refused() {
	"$DEPCTL" attach -o refused "$3" >out 2>err
	is "$1: status" $? 1
	grep -Eq -- "$2" err && [ ! -e refused ] && pass "$1" || fail "$1: $(cat err)"
}

refused "no process" "no process" 99999999
(
	trap '' TRAP
	exec sleep 30
) &
pid=$!
wait_for 10 grep -q "^Name:.*sleep" /proc/$pid/status
refused "a process that ignores SIGTRAP" "ignores SIGTRAP" $pid
kill $pid
wait $pid 2>/dev/null
if have python3; then
	cat >filter.py <<'END2'
import ctypes, struct, time
libc = ctypes.CDLL(None)
# Allow all system calls.
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
prog = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
libc.prctl(38, 1, 0, 0, 0)
print(libc.prctl(22, 2, prog), flush=True)
time.sleep(30)
END2
	python3 filter.py >filter.out &
	pid=$!
	wait_for 10 grep -q 0 filter.out
	refused "a seccomp filter" "seccomp filter" $pid
	kill -0 $pid && pass "and the process runs on" || fail "it has ended"
	kill $pid
	wait $pid 2>/dev/null
fi

cat >shares.c <<'END2'
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static char stack[65536] __attribute__((aligned(16)));

static int child(void *arg)
{
	for (;;)
		pause();
	return arg != 0;
}

int main(void)
{
	return clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, 0) < 0 || pause();
}
END2
gcc -O1 -D_GNU_SOURCE -o shares shares.c || exit 1
./shares &
pid=$!
wait_for 10 pgrep -P $pid >children
refused "a child in the same memory" "same memory as process $(cat children)" $pid
refused "a parent in the same memory" "same memory as process $pid" "$(cat children)"
kill "$(cat children)" $pid
wait $pid 2>/dev/null

# ---- servers and interpreters ----
if have redis-server && have redis-cli && have redis-benchmark; then
	redis-server --port 0 --unixsocket "$tmp/redis" --save '' --daemonize no >redis.out 2>&1 &
	pid=$!
	cli="redis-cli -s $tmp/redis"
	wait_for 10 eval '$cli ping 2>/dev/null | grep -q PONG'
	redis-benchmark -s "$tmp/redis" -q -n 20000 -c 20 -t set,get,lpush >bench.out 2>&1 &
	load=$!
	: >err
	"$DEPCTL" attach -o redis.dep $pid 2>err &
	recorder=$!
	wait $load
	is "the clients of redis see no error" $? 0
	# They can all have ended before the attach.
	wait_for 20 grep -q "recording process" err || fail "no attach to redis: $(cat err)"
	redis-benchmark -s "$tmp/redis" -q -n 2000 -c 20 -t set,get,lpush >bench.out 2>&1
	is "nor do later ones" $? 0
	is "redis answers" "$($cli set key value && $cli get key)" "$(printf 'OK\nvalue')"
	$cli shutdown nosave
	wait $pid
	is "redis ends" $? 0
	wait $recorder
	good redis.dep && pass "a good store of redis" || fail "redis: $(cat err verify.out)"
fi
if have python3; then
	cat >threads.py <<'END2'
import hashlib, sys, threading, time
print("running", flush=True)
end = time.time() + float(sys.argv[1])
right = hashlib.sha256(b"x" * 100000).hexdigest()
def work():
    while time.time() < end:
        assert hashlib.sha256(b"x" * 100000).hexdigest() == right
        assert sum(i * i for i in range(1000)) == 332833500
threads = [threading.Thread(target=work) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print("right")
END2
	checked "python3 with threads" 0 right python3 threads.py 3 && pass "python3 with threads"
fi
if have node; then
	cat >timers.js <<'END2'
console.log("running");
let sum = 0, ticks = 0;
const end = Date.now() + 3000;
const timer = setInterval(() => {
	for (let i = 0; i < 100000; i++)
		sum = (sum * 31 + i) % 1000003;
	ticks++;
	if (Date.now() < end)
		return;
	clearInterval(timer);
	console.log(ticks > 0 && sum >= 0 ? "right" : "wrong");
}, 5);
END2
	checked "node" 0 right node timers.js && pass "node"
fi
finish
