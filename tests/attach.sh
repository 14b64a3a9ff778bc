#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl attach --dry: it says what each thread does, changes nothing in a program that checks the
# results of its calls, and refuses with a reason what cannot be attached to.  SECONDS of probing:
# 3, LONG=1: 60.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
seconds=3 images=100
[ "$LONG" != 1 ] || seconds=60 images=1000

# probe PID [OPTION...]: to out and err; exit status
probe() {
	timeout 20 "$DEPCTL" attach --dry "${@:2}" "$1" >out 2>err
}

# refused NAME PATTERN PID: a message, and no output
refused() {
	probe "$3"
	local status=$?
	if [ $status = 1 ] && [ ! -s out ] && grep -Eq -- "$2" err; then
		pass "$1"
	else
		fail "$1: status $status: $(head -n 2 out err | paste -s -d '|')"
	fi
}

# state PID: the letter in /proc/PID/stat
state() {
	sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null
}

# ---- a program that checks itself, probed all the time ----
"$build/programs/attach_calls" "$seconds" >calls.out 2>&1 &
pid=$!
wait_for 10 grep -qs running calls.out
n=0 wrong=0 good=0
while [ "$(state $pid)" != Z ] && kill -0 $pid 2>/dev/null; do
	n=$((n + 1))
	if probe $pid; then
		good=$((good + 1))
		cat out >>all
	elif ! grep -Eq 'try again|no process|has ended|is traced' err; then
		wrong=$((wrong + 1))
		cp err wrong
	fi
done
wait $pid
status=$?
if [ $status = 0 ] && grep -q '^all calls' calls.out; then
	pass "a program that checks its calls"
else
	fail "a program that checks its calls: status $status: $(tail -n 1 calls.out)"
fi
[ $wrong = 0 ] && pass "$good of $n probes, the others to be tried again" ||
	fail "$wrong of $n probes: $(head -n 1 wrong)"
[ $good -gt 0 ] || fail "no probe succeeded"
for call in epoll_wait semtimedop rt_sigtimedwait recvfrom; do
	grep -q " $call  *is caught when its call returns" all &&
		! grep -q " $call  *is stopped" all && pass "$call is left alone" ||
		fail "$call: $(grep " $call " all | sort | uniq -c)"
done
for call in clock_nanosleep poll futex recvmsg; do
	grep -Eq " ($call|restart_syscall)  *is stopped; its call resumes" all &&
		pass "$call is stopped" || fail "$call: $(grep " $call " all)"
done
grep -Eq "^ *[0-9]+  attach_calls  +is stopped" all && pass "a busy thread is stopped" ||
	fail "no busy thread"

# ---- execve in another thread: the kernel would let the tracer wait for ever ----
cat >exec_thread.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char **args;

static void *thread(void *arg)
{
	execv("/proc/self/exe", args);
	return arg;
}

int main(int argc, char **argv)
{
	int i, left = argc > 1 ? atoi(argv[1]) : 0;
	char number[16];
	pthread_t t;

	if (!left)
		return 3;
	snprintf(number, sizeof(number), "%d", left - 1);
	args = (char *[]){ argv[0], number, NULL };
	for (i = 0; i < 3; i++)
		pthread_create(&t, NULL, thread, NULL);
	for (;;)
		pause();
}
END
gcc -O1 -pthread -o exec_thread exec_thread.c || exit 1
./exec_thread $images &
pid=$!
n=0
while [ "$(state $pid)" != Z ] && kill -0 $pid 2>/dev/null; do
	probe $pid
	[ $? -le 1 ] || fail "a probe during execve: $(head -n 1 err)"
	n=$((n + 1))
done
wait $pid
is "$images images after execve in threads, $n probes" $? 3

# ---- states ----
sleep 30 &
pid=$!
kill -STOP $pid
wait_for 10 eval '[ "$(state $pid)" = T ]'
probe $pid && grep -q "stays stopped" out && pass "a stopped process is attached to" ||
	fail "a stopped process: $(cat out err)"
is "and it stays stopped" "$(state $pid)" T
kill -CONT $pid
wait_for 10 eval '[ "$(state $pid)" = S ]' && pass "until it is continued" ||
	fail "it is not continued: $(state $pid)"
python3 - "$pid" <<'END' && pass "JSON" || fail "JSON: $(cat out)"
import json, subprocess, sys, os
got = json.loads(subprocess.check_output([os.environ["DEPCTL"], "attach", "--dry", "--json",
                                          sys.argv[1]]))
thread, = got["threads"]
ok = got["pid"] == int(sys.argv[1]) == thread["tid"] and thread["thread_name"] == "sleep" and \
    got["stopped_threads"] == 1 and got["stop_ns"] > 0 and thread["action"] == "stop-call"
sys.exit(not ok)
END
kill $pid
wait $pid 2>/dev/null

cat >vforks.c <<'END'
#include <unistd.h>

int main(void)
{
	if (!vfork()) {
		sleep(1);
		_exit(0);
	}
	return 4;
}
END
gcc -O1 -w -o vforks vforks.c || exit 1
./vforks &
pid=$!
wait_for 10 eval '[ "$(state $pid)" = D ]'
begun=$(date +%s%N)
refused "a vfork parent" "vfork\); try again" $pid
took=$((($(date +%s%N) - begun) / 1000000))
[ $took -lt 1000 ] && pass "and that is said soon" || fail "after $took ms"
wait $pid
is "and goes on" $? 4

# ---- what cannot be attached to ----
refused "no process" "no process" 99999999
refused "a thread of the kernel" "thread of the kernel" 2
# child PID: its child that runs sleep, in $pid
child() {
	pid=$(pgrep -P "$1" -x sleep)
}

if have strace; then
	strace -o /dev/null sleep 30 &
	tracer=$!
	wait_for 10 child $tracer
	refused "a traced process" "is traced by process $tracer" "$pid"
	kill "$pid"
	wait $tracer 2>/dev/null
fi
"$DEPCTL" record -q --alone --null -- sleep 30 &
recorder=$!
wait_for 10 child $recorder
refused "a recorded process" "is being recorded" "$pid"
kill "$pid"
wait $recorder 2>/dev/null
python3 -c 'import ctypes, time
ctypes.CDLL(None).prctl(22, 1)
while True: pass' &
pid=$!
wait_for 10 grep -q '^Seccomp:.*1' /proc/$pid/status
refused "strict seccomp" "strict mode" $pid
kill -9 $pid
wait $pid 2>/dev/null
if [ "$(id -u)" = 0 ] && have setpriv; then
	sleep 30 &
	pid=$!
	setpriv --reuid=65534 --clear-groups "$DEPCTL" attach --dry $pid >out 2>err
	grep -q "belongs to another user.*CAP_SYS_PTRACE.*number 0\.$" err &&
		pass "a process of another user" || fail "a process of another user: $(cat err)"
	lacks="setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace"
	$lacks "$DEPCTL" attach --dry $pid >out 2>err
	grep -q "capabilities that depctl lacks: CAP_SYS_PTRACE; run" err &&
		pass "a capability that depctl lacks is named" || fail "$(cat err)"
	$lacks "$DEPCTL" attach --alone -o store $pid >out 2>err
	grep -q "capabilities that depctl lacks: CAP_SYS_PTRACE; run" err &&
		pass "also by an attach" || fail "$(cat err)"
	kill $pid
	setpriv --reuid=65534 --clear-groups sleep 30 &
	pid=$!
	wait_for 10 grep -q "^Name:.*sleep" /proc/$pid/status
	$lacks "$DEPCTL" attach --dry $pid >out 2>err
	grep -q "belongs to another user.*CAP_SYS_PTRACE.*number 65534\.$" err &&
		pass "another user's process, without this capability" || fail "$(cat err)"
	kill $pid
	cgroup=/sys/fs/cgroup/adept-test-$$
	if [ -f /sys/fs/cgroup/cgroup.controllers ] && mkdir "$cgroup" 2>/dev/null; then
		sleep 30 &
		pid=$!
		echo $pid >"$cgroup/cgroup.procs"
		echo 1 >"$cgroup/cgroup.freeze"
		wait_for 10 grep -q "frozen 1" "$cgroup/cgroup.events"
		refused "a frozen process" "frozen" $pid
		echo 0 >"$cgroup/cgroup.freeze"
		probe $pid && pass "and after the thaw it is attached to" ||
			fail "after the thaw: $(cat err)"
		kill $pid
		wait $pid 2>/dev/null
		rmdir "$cgroup"
	else
		skip "a frozen process: no control groups here"
	fi
fi
finish
