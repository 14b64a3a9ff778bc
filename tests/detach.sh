#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Detach: a program that was attached to runs natively again, with the memory, descriptors, signal
# actions, limits and calls under way that it had.  Cycles of attach and detach: 10 for servers, 30
# for programs that check themselves; LONG=1: 1000.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
cases=$build/programs/detach_cases
cycles=10 own_cycles=30
[ "$LONG" != 1 ] || cycles=1000 own_cycles=1000

# ---- a process that sleeps ----
(ulimit -S -d 4000000 && ulimit -S -v 1000000000 && exec sleep 300) &
pid=$!
wait_for 10 grep -q "^Name:.*sleep" /proc/$pid/status
state $pid >before
attach $pid && detach && pass "a process in nanosleep" || fail "nanosleep: $(cat err)"
state $pid >after
cmp before after && pass "all of its state is as before" || fail "$(diff before after)"
good store && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
is "its thread was detached from" "$("$DEPCTL" info --json store | python3 -c 'import json, sys
print(json.load(sys.stdin)["threads"][0]["end"])')" detached
is "as its last event says" "$("$DEPCTL" dump --events store | tail -n 1 |
	grep -c ' detach reason=detached timestamp=[1-9]')" 1
attach $pid && detach && pass "it is attached to again" || fail "again: $(cat err)"
state $pid >after
cmp before after && pass "and detached from again" || fail "$(diff before after)"
kill $pid
wait $pid 2>/dev/null
is "it ends by a signal as usual" $? 143

# ---- programs in states of which they must keep each part ----
for case in jump once altstack autodisarm pending tsc first later; do
	begin $case
	reached $case
	attach $pid
	go_on
	reached $case
	detach || fail "$case: $(cat err)"
	go_on
	over "attach and detach, $case"
done
begin pending
reached pending
go_on
reached pending
attach $pid
go_on
over "signals that are pending at the attach are delivered under the engine"
wait $recorder

begin code
reached code
state $pid >before
attach $pid
go_on
reached code
go_on
reached code
detach || fail "code: $(cat err)"
state $pid >after
cmp before after && pass "pages of code are writable again" || fail "$(diff before after)"
go_on
reached code
go_on
over "generated code"

# In recv with a time-out: first natively, from before the attach to after the detach; then the call
# begins in the engine.
begin late
reached late
attach $pid
detach || fail "late: $(cat err)"
reached late
reached late
go_on
over "a call with a time-out that the attach and the detach have met"
# private_page PID: give it its own copy of the code behind the system call that it is in, as an
# attach does that is refused then
private_page() {
	python3 - "$1" <<-'END'
		import sys
		with open("/proc/%s/syscall" % sys.argv[1]) as f:
		    pc = int(f.read().split()[-1], 16)
		with open("/proc/%s/mem" % sys.argv[1], "r+b", buffering=0) as f:
		    byte = (f.seek(pc), f.read(1))[1]
		    f.seek(pc)
		    f.write(byte)
	END
}

for page in "the file's" "private"; do
	begin late
	reached late
	[ "$page" != private ] || private_page $pid || fail "its memory cannot be written to"
	state $pid >before
	attach $pid
	reached late
	detach || fail "late: $(cat err)"
	grep -q "1 of its threads follow" err && pass "a thread follows when its call returns" ||
		fail "$(cat err)"
	reached late
	is_native $pid && pass "then the engine is gone" ||
		fail "the engine is still mapped"
	# The int3 behind the call has left no mapping.
	state $pid >after
	cmp before after && pass "and all of the state is as before; the page is $page" ||
		fail "$(diff before after)"
	good store && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
	go_on
	over "and it returns what it must"
done

# The same, but the tracer is killed meanwhile: the thread leaves alone.
begin late
reached late
attach $pid
reached late
pkill -INT -P $recorder -x depctl
wait_for 20 grep -qs "runs natively again" err
kill -KILL "$(pgrep -n -P "$(pgrep -P $recorder -x depctl)" -x depctl)"
reached late
grep -q adept-session /proc/$pid/maps && pass "the tracer was killed: the engine stays mapped" ||
	fail "it was not the tracer that was killed"
go_on
over "and the thread leaves by itself"
pkill -INT -P $recorder -x depctl
wait $recorder

begin eintr
reached eintr
attach $pid
detach || fail "eintr: $(cat err)"
over "a handler ends a call after the detach"
begin descriptors
reached descriptors
for ((i = 0; i < 3; i++)); do
	attach $pid && detach || fail "descriptors: $(cat err)"
done
go_on
over "descriptors have the lowest numbers"

# ---- while the engine is unmapped ----
# Children that are created meanwhile must not have it.
begin forks
reached forks
attach $pid
sleep 0.3
detach || fail "forks: $(cat err)"
reached forks
left=0 children=0
for child in $(pgrep -P $pid); do
	children=$((children + 1))
	# What a child cannot access it may have from the moment of the attach: limits.rst.
	grep adept-session "/proc/$child/maps" | grep -qv " ---s " && left=$((left + 1))
done
[ $children -gt 10 ] && pass "a process with $children children" || fail "$children children"
is "children that have the engine" $left 0
go_on
over "a process that creates children all the time"

# Processes end meanwhile: by exit, with a status, by SIGKILL; or execute another program.
begin ends
reached ends
for ((i = 0; i < own_cycles; i++)); do
	attach $pid && sleep 0.1 && detach || break
	! grep -Ev "recording process|runs natively again|follow when|store: " err || break
done
is "cycles of a process whose children end all the time" $i $own_cycles
[ $i = $own_cycles ] || cat err
go_on
over "all of them end as they must"

begin descriptors
reached descriptors
attach $pid
kill -STOP $pid
wait_for 10 grep -q "^State:.*T" /proc/$pid/status
detach && pass "a process that is stopped" || fail "stopped: $(cat err)"
is_native $pid && pass "the engine is gone" || fail "stopped: the engine is still mapped"
grep -q "^State:.*T" /proc/$pid/status && pass "it is still stopped" ||
	fail "stopped: $(grep State /proc/$pid/status)"
kill -CONT $pid
go_on
over "it has not noticed"

# A filter of the program would kill it for the calls of a thread that unmaps the engine.
begin filter
reached filter
attach $pid
go_on
reached filter
detach || fail "filter: $(cat err)"
is_native $pid && pass "the engine is gone" || fail "filter: the engine is still mapped"
go_on
reached filter
go_on
over "a process with a seccomp filter"

# It cannot create a thread, so its last thread unmaps the engine.
if have unshare; then
	"$DEPCTL" record -q --alone -o unshared -- unshare --pid sleep 300 &
	recorder=$!
	wait_for 10 eval 'pid=$(pgrep -P $recorder -x sleep) &&
		grep -q adept-session /proc/$pid/maps'
	"$DEPCTL" detach -q $pid 2>err && pass "a process that cannot create a thread" ||
		fail "$(cat err)"
	is_native $pid && pass "the engine is gone" || fail "it is still mapped"
	kill $pid
	wait $recorder
	is "its end is that of the command" $? 143
fi

# ---- a process that cannot be detached from now goes on in the engine ----
begin vfork
reached vfork
attach $pid
go_on
reached vfork
pkill -INT -P $recorder -x depctl
wait $recorder
is "a vfork child runs: status" $? 1
grep -q "vfork.*try again.*stays under the engine" err && pass "and the message says so" ||
	fail "vfork: $(cat err)"
reached vfork
"$DEPCTL" detach -q $pid 2>err && pass "depctl detach, later" || fail "$(cat err)"
is_native $pid && pass "the engine is gone" || fail "it is still mapped"
go_on
over "it has not noticed"

# ---- the collector is behind: the program waits for it, and cannot be detached from meanwhile ----
for end in waits "gives up"; do
	"$build/programs/attach_threads" 60 >out &
	pid=$!
	wait_for 10 grep -qs running out
	attach $pid
	collector=$(pgrep -P "$(pgrep -P $recorder -x depctl)" -x depctl-collect)
	kill -STOP "$collector"
	sleep 0.5
	pkill -INT -P $recorder -x depctl
	wait_for 30 grep -q "waiting for threads that get no processor" err || fail "$(cat err)"
	[ "$end" = waits ] || pkill -INT -P $recorder -x depctl
	[ "$end" = waits ] || wait_for 30 grep -q "stays under the engine" err || fail "$(cat err)"
	kill -CONT "$collector"
	wait $recorder
	status=$?
	if [ "$end" = waits ]; then
		is "the end of a recording waits for the collector" $status 0
		is_native $pid && good store && pass "and nothing is lost" ||
			fail "$(cat err) $(tail -n 1 verify.out)"
	else
		is "or ends by Ctrl-C without waiting" $status 1
	fi
	kill -USR2 $pid
	wait $pid
	is "and the program ends as it must" $? 0
done

# By another depctl; a process that was launched.
"$DEPCTL" record -q --alone -o launched -- sleep 2 &
recorder=$!
wait_for 10 eval 'pid=$(pgrep -P $recorder -x sleep) && grep -q adept-session /proc/$pid/maps'
sleep 0.3
"$DEPCTL" detach -q $pid 2>err && pass "depctl detach of a launched process" || fail "$(cat err)"
is_native $pid && pass "the engine is gone" || fail "it is still mapped"
wait $recorder
is "depctl record ends as the command" $? 0
"$DEPCTL" detach $$ 2>err
is "depctl detach of a process that is not recorded" $? 1
grep -q "is not being recorded" err && pass "says so" || fail "$(cat err)"

# ---- attached to and detached from all the time ----
# sizes: descriptors, threads, mappings and KiB of memory of $pid.  Threads that begin and end make
# these numbers vary a little.
sizes() {
	echo "$(ls /proc/$pid/fd | wc -l) $(ls /proc/$pid/task | wc -l)" \
		"$(wc -l </proc/$pid/maps) $(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' \
			/proc/$pid/status)"
}

# no_leak NAME BEFORE AFTER: of sizes
no_leak() {
	echo "$2 $3" | awk '{ exit $5 != $1 || $6 > $2 + 2 || $7 > $3 + 20 || $8 > $4 + 2048 }' &&
		pass "$1: no leak: $2, then $3" || fail "$1: a leak: $2, then $3"
}

# cycle PROGRAM PATTERN ARGUMENT...
cycle() {
	local done first
	rm -f out
	"$build/programs/$1" "${@:3}" >out 2>&1 &
	pid=$!
	wait_for 10 grep -qs running out
	grep SigCgt /proc/$pid/status >before
	for ((done = 0; done < own_cycles; done++)); do
		attach $pid && sleep 0.05 && detach || break
		wait_for 10 is_native $pid || break
		[ $done != 0 ] || first=$(sizes)
	done
	is "$1: cycles" $done $own_cycles
	[ $done = $own_cycles ] || cat err
	no_leak "$1" "$first" "$(sizes)"
	grep SigCgt /proc/$pid/status >after
	cmp before after && pass "$1: its handlers are its own" || fail "$1: $(cat after)"
	is_native $pid && pass "$1: the engine is gone" ||
		fail "$1: the engine is still mapped"
	kill -USR2 $pid
	wait $pid
	is "$1: status" $? 0
	grep -q "$2" out && pass "$1: all results are right" || fail "$1: $(tail -n 3 out)"
}

cycle attach_calls all.calls 0
cycle attach_calls all.calls 0 0	# one thread
# 105 threads: a busy machine refuses many of these attaches for the moment.
[ "$LONG" != 1 ] || cycle attach_calls all.calls 0 14
cycle attach_threads all.as 1000

# ---- references ----
# What is recorded between an attach and a detach is what a whole recording has there.
if have setarch && have python3; then
	same=$build/programs/attach_same
	{ sleep 0.2 && echo && sleep 0.5 && echo; } |
		env -i setarch -R "$DEPCTL" record -q --alone -o whole -- "$same" 2 >whole.out
	coproc program { exec env -i setarch -R "$same" 2; }
	pid=$program_PID
	exec 5<&"${program[0]}" 6>&"${program[1]}"
	wait_for 10 eval 'grep -q "^0 " /proc/$pid/syscall'
	attach $pid
	echo >&6
	read -r -t 20 half <&5
	detach || fail "attach_same: $(cat err)"
	echo >&6
	is "the output is the same" "$half $(cat <&5)" "$(paste -s -d ' ' whole.out)"
	exec 5<&- 6>&-
	good store && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
	for dir in whole store; do
		"$DEPCTL" dump --refs --fields=process,pc,address,size,type $dir |
			awk 'NR == 1 { p = $1 } $1 == p { print $2, $3, $4, $5 }' >$dir.refs
	done
	cat >within.py <<'END2'
import sys
whole, part = (open(f).read().split("\n")[:-1] for f in sys.argv[1:3])
text, find = "\n".join(whole) + "\n", "\n".join(part) + "\n"
at = text.find(find)
print(len(part) > 10000 and at > 0 and at + len(find) < len(text) or (len(part), at))
END2
	is "the references are a part of a whole recording" \
		"$(python3 within.py whole.refs store.refs)" True
fi

# ---- children, servers ----
coproc program { exec sh -c 'read x; sh -c "sleep 5; echo inner" & wait; echo outer'; }
pid=$program_PID
exec 5<&"${program[0]}" 6>&"${program[1]}"
wait_for 10 grep -q "^Name:.*sh" /proc/$pid/status
attach $pid
go_on
wait_for 20 eval 'sleeper=$(pgrep -P "$(pgrep -P $pid)" -x sleep) &&
	grep -q adept-session /proc/$sleeper/maps'
detach || fail "children: $(cat err)"
is "processes that were detached from" "$(grep -c "runs natively again" err)" 3
is "children" "$(paste -s -d ' ' <&5)" "inner outer"
exec 5<&- 6>&-
if have redis-server && have redis-cli && have redis-benchmark; then
	redis-server --port 0 --unixsocket "$tmp/redis" --save '' --daemonize no >redis.out 2>&1 &
	pid=$!
	cli="redis-cli -s $tmp/redis"
	wait_for 10 eval '$cli ping 2>/dev/null | grep -q PONG'
	redis-benchmark -s "$tmp/redis" -q -n 300000 -c 20 -t set,get >bench.out 2>&1 &
	load=$!
	for ((i = 0; i < cycles / 2; i++)); do
		attach $pid && sleep 0.1 && detach || break
	done
	is "cycles of redis" $i $((cycles / 2))
	kill -0 $load && pass "under load" || fail "the load was over: $(tail -c 200 bench.out)"
	wait $load
	is "the clients of redis see no error" $? 0
	$cli shutdown nosave
	wait $pid
	is "redis ends" $? 0
fi
if have node && have python3; then
	cat >server.js <<'END2'
const http = require("http");
http.createServer((request, response) => {
	let sum = 0;
	for (let i = 0; i < 2000; i++)
		sum += i * i % 7;
	response.end("sum " + sum + "\n");
}).listen(process.argv[2], () => console.log("up"));
END2
	cat >client.py <<'END2'
import http.client, socket, sys, time
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
c, n, end = Connection("localhost"), 0, time.time() + float(sys.argv[2])
while time.time() < end:
    c.request("GET", "/")
    body = c.getresponse().read()
    assert body == b"sum 3999\n", body
    n += 1
print("right" if n > 100 else n)
END2
	node server.js "$tmp/node" >out 2>&1 &
	pid=$!
	wait_for 10 grep -q up out
	python3 client.py "$tmp/node" 8 >client.out 2>&1 &
	load=$!
	for ((i = 0; i < cycles / 2; i++)); do
		attach $pid && sleep 0.1 && detach || break
	done
	is "cycles of node" $i $((cycles / 2))
	wait $load
	is "the client of node sees no error" "$(tail -n 1 client.out)" right
	kill $pid
	wait $pid 2>/dev/null
fi
finish
