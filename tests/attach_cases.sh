#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Attach and detach in states and at moments that could end, block or change the program.  Each
# program checks itself, and does the same natively.  LONG=1: more cycles.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
chmod 755 "$tmp"
cases=$build/programs/attach_cases
cycles=3 images=40 nobody=
[ "$LONG" != 1 ] || cycles=100 images=1000
if [ "$(id -u)" = 0 ] && have setpriv; then
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	mkdir theirs && cp "$DEPCTL" "$cases" theirs && chown -R 65534:65534 theirs
fi
# A program that has ended does not read.
trap '' PIPE

printf '%s' $'\n\n\n\n\n\n\n\n' >lines
# native CASE: what it does without an attach
native() {
	timeout 20 "$cases" "$1" <lines >native.out 2>&1
	is "natively, $1" "$(tail -n 1 native.out)" right
}

# refused NAME PATTERN [OPTION...]: an attach to $pid is, for this reason
refused() {
	rm -rf refused
	timeout 20 "$DEPCTL" attach "${@:3}" "$pid" >refused.out 2>err
	[ $? = 1 ] && grep -Eq -- "$2" err && pass "$1: refused" ||
		fail "$1: $(head -n 2 err refused.out | paste -s -d '|')"
}

# letter PID: its state in /proc/PID/stat
letter() {
	sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null
}

# ---- filters of system calls: no thread with one is stopped ----
for case in filter-restart filter-mmap filter-zombie; do
	native $case
	begin $case
	reached $case
	if [ $case != filter-zombie ]; then
		go_on
		reached $case
	fi
	refused $case "seccomp filter" -o refused
	refused "$case, --dry" "seccomp filter" --dry
	go_on
	over "$case, after the refusals"
done
begin filter-restart
reached filter-restart
attach $pid
go_on
reached filter-restart
sleep 0.1
detach || fail "a filter that was installed under the engine: $(cat err)"
go_on
over "detach from threads with a filter"
if [ -n "$nobody" ]; then
	begin filter-mmap $nobody
	reached filter-mmap
	go_on
	reached filter-mmap
	$nobody "$tmp/theirs/depctl" attach -o theirs/refused $pid 2>err
	grep -q "seccomp filter" err && pass "filter-mmap, by a user: refused" ||
		fail "filter-mmap, by a user: $(cat err)"
	go_on
	over "filter-mmap, by a user"
fi

# ---- SIGTRAP is blocked after the call ----
for case in trap trap-masked; do
	native $case
	begin $case
	reached $case
	rm -rf store
	# A thread that is not in the call at the moment can be recorded.
	timeout 20 "$DEPCTL" attach --for 1 -o store $pid 2>err ||
		grep -Eq "blocks? SIGTRAP" err || fail "$case: $(cat err)"
	go_on
	over "$case: attached to or refused"
done

# ---- two signals at once ----
# both_signals PID: when it continues, its first thread has to handle both
both_signals() {
	kill -STOP "$1"
	wait_for 10 eval '[ "$(letter '"$1"')" = T ]'
	perl -e 'syscall(234, $ARGV[0] + 0, $ARGV[0] + 0, $_) for 11, 7; # tgkill' "$1"
	kill -CONT "$1"
}

for how in natively "in a call that is not recorded"; do
	begin two-signals
	reached two-signals
	if [ "$how" != natively ]; then
		"$DEPCTL" attach --dry $pid >dry
		grep -q "is caught when its call returns" dry || fail "the call: $(cat dry)"
		attach $pid
	fi
	both_signals $pid
	over "two signals at once, $how"
	if [ "$how" != natively ]; then
		wait $recorder
		good store && pass "and the store is good" || fail "$(tail -n 1 verify.out)"
	fi
done

# ---- another thread executes a program ----
"$build/programs/attach_storm" exec $images >exec.out 2>&1 &
pid=$!
n=0 recorded=0
while [ -n "$(letter $pid)" ] && [ "$(letter $pid)" != Z ]; do
	n=$((n + 1))
	rm -rf store
	timeout 20 "$DEPCTL" attach --for 1 -o store $pid 2>err
	status=$?
	[ $status -le 1 ] || fail "an attach during execve: status $status: $(cat err)"
	[ $status = 0 ] || continue
	recorded=$((recorded + 1))
	good store || fail "a store of programs: $(tail -n 1 verify.out)"
done
wait $pid
is "$images programs executed by threads, $recorded of $n attaches" "$(cat exec.out)" right

# ---- frozen control groups ----
# frozen NAME GROUP FILE FREEZE THAW
frozen() {
	local begun took
	if ! mkdir "$2" 2>/dev/null || [ ! -e "$2/$3" ]; then
		rmdir "$2" 2>/dev/null
		skip "$1: there are no such control groups here"
		return
	fi
	sleep 300 &
	pid=$!
	echo $pid >"$2/cgroup.procs"
	echo "$4" >"$2/$3"
	sleep 0.2
	begun=$(date +%s%N)
	refused "$1" "frozen control group" -o refused
	took=$((($(date +%s%N) - begun) / 1000000))
	[ $took -lt 2000 ] && pass "$1: at once" || fail "$1: after $took ms"
	grep -q "^TracerPid:.0$" /proc/$pid/status && pass "$1: it is not traced" ||
		fail "$1: $(grep TracerPid /proc/$pid/status)"
	echo "$5" >"$2/$3"
	attach $pid && detach && pass "$1: after the thaw it is recorded" ||
		fail "$1: after the thaw: $(cat err)"
	kill $pid
	wait $pid 2>/dev/null
	wait_for 5 rmdir "$2"
}

# mounted TYPE OPTION: where
mounted() {
	awk -v t="$1" -v o="$2" '$3 == t && ("," $4 ",") ~ ("," o ",") { print $2; exit }' \
		/proc/mounts
}

frozen "frozen, version 1" "$(mounted cgroup freezer)/adept-$$" freezer.state FROZEN THAWED
frozen "frozen, version 2" "$(mounted cgroup2 rw)/adept-$$" cgroup.freeze 1 0

# ---- a stack that another thread provides page by page ----
native userfaultfd
begin userfaultfd
reached userfaultfd
for ((i = 0; i < cycles; i++)); do
	attach $pid && sleep 0.1 && detach || break
done
is "userfaultfd: cycles" $i $cycles
go_on
reached userfaultfd
go_on
over userfaultfd

# ---- a program that changes the engine while it starts ----
native hostile
# Its change can come too late, and the recording begins: then it has no code to return to.
for ((again = 0; again < 10; again++)); do
	begin hostile
	reached hostile
	rm -rf store
	timeout 60 "$DEPCTL" attach -q --for 1 -o store $pid 2>err
	status=$?
	! grep -q "stays under the engine" err || status=late
	[ $status != 0 ] && [ $status != late ] && break
	kill -KILL $pid
	wait $pid $reader 2>/dev/null
	exec 5<&- 6>&-
done
is "hostile: status" $status 1
grep -q "did not start in process $pid within" err && pass "hostile: it is given up" ||
	fail "hostile: $(cat err)"
go_on
over hostile

# ---- memory: less than 64 MiB more, or a refusal ----
resident() {
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status"
}

native locked
begin locked
reached locked
before=$(resident)
attach $pid
more=$((($(resident) - before) / 1024))
[ $more -lt 64 ] && pass "locked memory: $more MiB more" || fail "locked memory: $more MiB more"
go_on
reached locked
detach || fail "locked: $(cat err)"
is_native $pid && pass "locked: the engine is gone" || fail "locked: it is still mapped"
go_on
reached locked
go_on
over "locked memory"
while read -r case pattern; do
	native $case
	begin $case
	reached $case
	state $pid >before
	refused $case "$pattern" -o refused
	state $pid >after
	cmp before after && pass "$case: nothing is left" || fail "$case: $(diff before after)"
	go_on
	reached $case
	go_on
	reached $case
	go_on
	over "$case, after the refusal"
done <<END
limit-as no memory for the engine.*ulimit -v
limit-data limit of memory .ulimit -d
no-exec-gain may forbid writable and executable memory
END

# ---- ids that change all the time, a program with more privileges ----
reasons="privileged:|try again|cannot be (opened|traced|read)|is being recorded|protected"
if [ -n "$nobody" ]; then
	for case in ids dumpable; do
		as='' depctl=$DEPCTL
		[ $case = ids ] || as=$nobody depctl=$tmp/theirs/depctl
		native $case
		begin $case $as
		reached $case
		for ((i = 0; i < cycles; i++)); do
			rm -rf theirs/store
			timeout 20 $as "$depctl" attach -q --for 1 -o theirs/store $pid 2>err
			status=$?
			[ $status = 0 ] || grep -Eq "$reasons" err ||
				fail "$case: status $status: $(cat err)"
		done
		go_on
		over "$case: attached to or refused"
	done
	cp "$(command -v id)" setuid && chmod 4755 setuid
	is "natively, a set-uid program" "$($nobody "$tmp/setuid" -u)" 0
	coproc program { exec $nobody sh -c "read x; exec $tmp/setuid -u"; }
	pid=$program_PID
	exec 5<&"${program[0]}" 6>&"${program[1]}"
	wait_for 10 grep -q "^Name:.*sh$" /proc/$pid/status
	: >err
	timeout 20 $nobody "$tmp/theirs/depctl" attach -o theirs/setuid $pid 2>err &
	recorder=$!
	wait_for 20 grep -q "recording process" err || fail "no attach: $(cat err)"
	echo >&6
	is "a set-uid program after an attach" "$(cat <&5)" 0
	exec 5<&- 6>&-
	wait $recorder
fi

# ---- the recorder is killed ----
cases=$build/programs/attach_storm
begin threads
reached threads
n=0 left=0
for delay in 0.01 0.02 0.03 0.04 0.06 0.08 0.1 0.2 1; do
	rm -rf killed
	"$DEPCTL" attach -q -o killed $pid 2>/dev/null &
	recorder=$!
	sleep $delay
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	# Its tracer may go on, and its collector does.
	sleep 0.3
	is_native $pid && continue
	n=$((n + 1))
	timeout 20 "$DEPCTL" detach -q $pid 2>err && left=$((left + 1)) || cat err
done
is "killed recorders whose process can be detached from" $left $n
[ $n -gt 0 ] || fail "no process was under the engine"
wait_for 10 eval '! pgrep -f "attach -q -o killed $pid$" >/dev/null' &&
	pass "their collectors end" || fail "collectors that do not end"
is_native $pid && pass "the engine is gone" || fail "the engine is still mapped"
go_on
over "the program does not notice"

# ---- stopped by job control ----
cases=$build/programs/attach_cases
native stopped
begin stopped
reached stopped
child=$(sed -n 's/^child //p' out)
attach "$child"
is "after an attach it stays stopped" "$(letter "$child")" T
go_on
reached stopped
sleep 0.1
go_on
reached stopped
detach && good store && pass "it is recorded when it goes on" || fail "$(cat err verify.out)"
is "after a detach it stays stopped" "$(letter "$child")" T
is_native "$child" && pass "the engine is gone" || fail "the engine is still mapped"
go_on
reached stopped
go_on
reached stopped
attach "$child" && detach && good store && pass "both while it is stopped" ||
	fail "both while it is stopped: $(cat err)"
is "and it stays stopped" "$(letter "$child")" T
go_on
reached stopped
go_on
over "its parent sees its own signals only"

# ---- the same thing again and again, attached to and detached from meanwhile ----
cases=$build/programs/attach_storm
for case in faults general ignored interrupts threads descriptors processor; do
	(sleep 0.3 && echo) | "$cases" $case >native.out 2>&1
	is "natively, $case" "$(tail -n 1 native.out)" right
	begin $case
	reached $case
	: >refusals >calls
	times=$cycles
	# A stop at the first instruction of a handler is rare.
	[ $case != interrupts ] || times=$((cycles + 9))
	for ((i = 0; i < times; i++)); do
		attach $pid && sleep 0.05 && detach || break
		good store || fail "$case: $(tail -n 1 verify.out)"
		"$DEPCTL" dump --events store | grep "attach kind=" >>calls
	done
	is "$case: cycles" $i $times
	[ $i = $times ] || cat err
	is "$case: threads seen at attaches" "$([ -s calls ] && echo yes)" yes
	# A handler's registers are not the arguments of the call that it has interrupted.
	is "$case: writes of too much" "$(grep -Ec "=write .* arg2=[0-9a-f]{6}" calls)" 0
	is "$case: refused for two seconds since a thread begins a handler" \
		"$(grep -Ec "receive a signal|begin a signal" refusals)" 0
	go_on
	over $case
done

# ---- restartable sequences, executed before the attach or only later ----
cases=$build/programs/attach_rseq
for case in now later; do
	(sleep 0.3 && echo && sleep 0.3 && echo) | "$cases" $case >native.out 2>&1
	is "natively, rseq $case" "$(tail -n 1 native.out)" right
	begin $case
	reached $case
	for ((i = 0; i < cycles; i++)); do
		refused "rseq $case" "restartable sequences" -o refused
	done
	if [ $case = later ]; then
		go_on
		reached $case
	fi
	go_on
	over "rseq $case"
done
# Under depctl record there are none from the start: the program uses other code.
(sleep 0.3 && echo) | timeout 60 "$DEPCTL" record --alone -q -o rseq.dep "$cases" now >out 2>&1
is "rseq under depctl record" "$(tail -n 1 out)" right
cases=$build/programs/attach_storm

# ---- generated code ----
# interpreter NAME COMMAND...: attached to and detached from; it ends with "right" when there is a
# file over
interpreter() {
	local name=$1
	shift
	rm -f over
	"$@" >out 2>&1 &
	pid=$!
	wait_for 30 grep -q running out
	for ((i = 0; i < cycles; i++)); do
		attach $pid && sleep 0.2 && detach || break
		good store || fail "$name: $(tail -n 1 verify.out)"
	done
	is "$name: cycles" $i $cycles
	[ $i = $cycles ] || cat err
	: >over
	wait $pid
	is "$name: result" "$(tail -n 1 out)" right
}

if have luajit; then
	cat >sums.lua <<'END'
print("running") io.stdout:flush()
local right
while not io.open("over") do
	local sum, t = 0, {}
	for i = 1, 300000 do
		sum = (sum * 31 + i) % 1000003
		t[i % 100] = { i, sum }
	end
	right = right or sum
	assert(sum == right)
end
print("right")
END
	interpreter luajit luajit sums.lua
fi
if have java && have javac; then
	cat >Sums.java <<'END'
public class Sums {
	static int sum(int n) {
		int sum = 0;
		String s = "";
		for (int i = 0; i < n; i++) {
			sum = sum * 31 + i % 1000;
			if (i % 1000 == 0)
				s = s.length() > 100 ? "" : s + i;
		}
		return sum + s.length();
	}

	public static void main(String[] args) throws Exception {
		java.io.File over = new java.io.File("over");
		int right = sum(1000000);
		System.out.println("running");
		Thread[] t = new Thread[2];
		for (int i = 0; i < t.length; i++) {
			t[i] = new Thread(() -> {
				while (!over.exists())
					if (sum(1000000) != right) {
						System.out.println("wrong");
						System.exit(1);
					}
			});
			t[i].start();
		}
		for (Thread x : t)
			x.join();
		System.out.println("right");
	}
}
END
	javac Sums.java && interpreter java java -Xmx64m -XX:+UseSerialGC Sums
fi
finish
