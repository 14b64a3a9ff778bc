#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Attach and detach through depd: who may do so, and that processes are recorded and leave the
# engine whatever happens to depctl and depd.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
. "$tests/depd.sh"
sleepers=
clean_up() {
	# Not a word of the shell about killed jobs: the totals must be the last line.
	{
		kill -9 $depd_pid $users_depd $sleepers
		wait $users_depd $sleepers
	} 2>/dev/null
	sleep 0.3
	drop_tmp
}
trap clean_up EXIT
cd "$tmp" || exit 1
start

# good STORE: it is complete, and has references
good() {
	"$DEPCTL" verify "$1" >verify.out 2>&1 &&
		grep -Eq ' [1-9][0-9]* references: good$' verify.out
}

engine_in() {
	grep -q adept-session "/proc/$1/maps"
}

native() {
	! engine_in "$1"
}

# value NAME: the value of a member of the first session
value() {
	"$DEPCTL" sessions --json | grep -o "\"$1\":[^,}]*" | head -n 1 | cut -d : -f 2
}

no_sessions() {
	"$DEPCTL" sessions --json | grep -q '"sessions":\[\]'
}

# program NAME ARGUMENT..: start a test program in the background: $pid
program() {
	rm -f out
	"$build/programs/$1" "${@:2}" >out 2>&1 &
	pid=$!
	sleepers="$sleepers $pid"
	wait_for 10 grep -qs running out
}

# over NAME PATTERN: the program must have found nothing wrong
over() {
	kill -USR2 $pid
	wait $pid
	is "$1: status" $? 0
	tail -n 1 out | grep -q "$2" && pass "$1: all results are right" ||
		fail "$1: $(tail -n 2 out)"
}

# sleeper COMMAND..: start a process that only waits: $pid
sleeper() {
	"$@" &
	pid=$!
	sleepers="$sleepers $pid"
	sleep 0.2
}

# waiter COMMANDS: start a shell that runs them after a line at descriptor 6: $pid
waiter() {
	coproc shell { exec bash -c "read -r _; $1"; }
	pid=$shell_PID
	sleepers="$sleepers $pid"
	exec 6>&"${shell[1]}"
	wait_for 10 eval 'grep -q "^0 " /proc/$pid/syscall'
}

# background: depd records $pid from now on: $session
background() {
	local tries
	for ((tries = 0; tries < 5; tries++)); do
		rm -rf store
		"$DEPCTL" attach --background -q -o store $pid >answer 2>err && break
		grep -q "try again" err || break
	done
	[ -s answer ] || {
		fail "attach --background: $(cat err)"
		return 1
	}
	session=$(sed -n 's/^session \([0-9]*\): .*store$/\1/p' answer)
}

# foreground COMMAND..: record $pid by it, in the background of this suite: $job
# On a busy machine the threads may be in calls that must not be cut short, again and again.
foreground() {
	local tries
	for ((tries = 0; tries < 5; tries++)); do
		rm -rf store
		: >err
		timeout -s KILL 120 "$@" 2>err &
		job=$!
		wait_for 20 grep -qE "recording process|try again" err
		grep -q "try again" err || break
		wait $job
	done
	grep -q "recording process" err || fail "$1: $(cat err)"
}

# interrupt: Ctrl-C for the command of foreground; returns its status
interrupt() {
	pkill -INT -P $job
	wait $job
}

# ---- depctl stays ----
program attach_calls 0
foreground "$DEPCTL" attach -o store --for 4 $pid
is "depd has a session of the process" "$(value pid)" $pid
[ "$(value stop_ns)" -gt 0 ] && pass "and knows for how long it was stopped" ||
	fail "stop_ns: $("$DEPCTL" sessions --json)"
"$DEPCTL" sessions >table
grep -q "attached to" table && pass "depctl sessions shows it" || fail "$(cat table)"
"$DEPCTL" top --once >table
grep -qE "^ *[0-9]+ +$pid +[1-9][0-9]* +.*attach_calls$" table &&
	pass "depctl top shows what it records" || fail "$(cat table)"
wait $job
is "attach --for: status" $? 0
native $pid && pass "then the engine is gone" || fail "the engine is still mapped"
over attach_calls all.calls
good store && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
grep -q "store: 1 process, [1-9][0-9]* threads, .* stored" err && pass "and the summary right" ||
	fail "summary: $(cat err)"

# ---- detach by pid and by session, again and again ----
# Its threads do not wait for depd, which on a busy machine may take seconds to empty their rings.
program attach_calls 0
for ((i = 0; i < 4; i++)); do
	background || break
	sleep 0.2
	if [ $((i % 2)) = 0 ]; then
		"$DEPCTL" detach -q $pid 2>err || break
	else
		"$DEPCTL" detach -q --session="$session" 2>err || break
	fi
	wait_for 10 no_sessions && native $pid && good store || break
done
is "detached by pid and by session" $i 4
[ $i = 4 ] || cat err verify.out
over attach_calls all.calls

# ---- all processes of a session, also those that began after the attach ----
waiter 'sleep 300 & sleep 300 & wait'
background
echo >&6
wait_for 10 eval '[ "$(value live_processes)" = 3 ]'
is "children are recorded" "$(value live_processes)" 3
children=$(pgrep -P $pid)
sleepers="$sleepers $children"
wait_for 10 eval 'for p in $children; do grep -q "^sleep" /proc/$p/comm || break; done'
"$DEPCTL" detach --session="$session" 2>err && pass "detach --session" || fail "$(cat err)"
is "has let all go" "$(grep -c "runs natively again" err)" 3
wait_for 10 no_sessions && pass "depd has closed the session" || fail "$("$DEPCTL" sessions)"
for p in $pid $children; do
	native "$p" || fail "process $p is still in the engine"
done
kill $children
"$DEPCTL" verify store >verify.out 2>&1 && pass "the store is complete" ||
	fail "$(tail -n 1 verify.out)"
is "its processes" "$("$DEPCTL" ls store | grep -c '^process.* exec ')" 2

# ---- an exec after the attach ----
waiter 'exec sleep 300'
background
echo >&6
wait_for 10 eval 'grep -q "^sleep" /proc/$pid/comm && engine_in $pid' &&
	pass "depd follows an exec" || fail "exec: $(cat /proc/$pid/comm)"
"$DEPCTL" detach -q --session="$session" 2>err && native $pid && pass "and it is detached from" ||
	fail "after exec: $(cat err)"
kill $pid

# ---- depctl stays, and the session is stopped ----
sleeper sleep 300
foreground "$DEPCTL" attach -o store $pid
"$DEPCTL" stop "$(value id)"
wait $job
native $pid && pass "depctl stop: the process runs natively" || fail "after stop: $(cat err)"

# ---- the process ends ----
foreground "$DEPCTL" attach -o store $pid
kill $pid
wait $job
is "the process ends: status" $? 0
wait_for 10 no_sessions && pass "and with it the session" || fail "$("$DEPCTL" sessions)"

# ---- depd is killed, and another adopts the session ----
program attach_calls 0
background
kill_depd
start
wait_for 10 eval '[ "$(value is_adopted)" = true ]'
[ "$(value stop_ns)" -gt 0 ] && pass "the next depd knows of the attach" ||
	fail "adopted: $("$DEPCTL" sessions --json)"
"$DEPCTL" detach -q --session="$session" 2>err && native $pid &&
	pass "it is detached from after a restart" || fail "restart: $(cat err)"
wait_for 10 no_sessions
good store && pass "the store is good" || fail "the store: $(tail -n 1 verify.out)"
foreground "$DEPCTL" attach -o store $pid
kill_depd
start
wait_for 10 eval '[ "$(value is_adopted)" = true ]'
interrupt
is "Ctrl-C after a restart: status" $? 0
native $pid && good store && pass "the engine is gone, the store good" ||
	fail "$(cat err) $(tail -n 1 verify.out)"
over "attach_calls, several depds" all.calls
sleeper sleep 300
background
kill_depd
"$DEPCTL" detach -q $pid 2>err && native $pid && pass "it is detached from while no depd runs" ||
	fail "no depd: $(cat err)"
kill $pid
start
wait_for 10 no_sessions
"$DEPCTL" verify store >verify.out 2>&1 && pass "the next depd closes the store" ||
	fail "the store: $(tail -n 1 verify.out)"

# ---- without depd, and what excludes what ----
sleeper sleep 300
"$DEPCTL" attach --alone -o alone --for 1 $pid 2>err
is "--alone: status" $? 0
is "depd has not seen it" "$(value id)" ""
"$DEPCTL" attach --background --socket=none -o store2 $pid 2>err
is "--background without depd: status" $? 1
grep -q "no depd listens" err && [ ! -e store2 ] && pass "says so" || fail "$(cat err)"
"$DEPCTL" detach --session=4000000 2>err
is "detach from a session that is not there: status" $? 1
grep -q "there is no session 4000000 of yours" err && pass "says so" || fail "$(cat err)"
kill $pid

# ---- depd --attach: a depd for one process ----
# private: is there a depd for one process?
private() {
	[ "$(find "$dir" -maxdepth 1 -name 'adept-attach-*' | wc -l)" -gt $others ]
}

# Another suite may use /run as well.
dir=$tmp
[ "$(id -u)" != 0 ] || dir=/run
export XDG_RUNTIME_DIR=$tmp
others=$(find "$dir" -maxdepth 1 -name 'adept-attach-*' | wc -l)
program attach_calls 0
foreground "$DEPD" --attach=$pid -o store
private && [ -z "$(value id)" ] && pass "depd --attach uses no other depd" ||
	fail "depd --attach: $(cat err)"
sleep 1
interrupt
is "Ctrl-C: status" $? 0
grep -q "store: 1 process, .* stored" err && pass "the last line names the store" ||
	fail "$(cat err)"
native $pid && good store && pass "the engine is gone, the store good" ||
	fail "$(tail -n 1 verify.out)"
wait_for 10 eval '! private' && pass "and nothing is left" || fail "$(ls "$dir"/adept-attach-*)"
foreground "$DEPD" --attach=$pid -o store
pkill -KILL -P $job
wait $job 2>/dev/null
engine_in $pid && private && pass "it is killed: the recording goes on" || fail "killed: $(cat err)"
"$DEPCTL" detach -q $pid 2>err && native $pid && pass "and is ended by depctl detach" ||
	fail "killed: $(cat err)"
wait_for 10 eval '! private' && good store && pass "the store is good" ||
	fail "the store: $(tail -n 1 verify.out)"
over "attach_calls, depd --attach" all.calls
sleeper sleep 300
if have script; then
	script -qefc "$DEPD --attach=$pid -o progress" terminal >/dev/null 2>&1 </dev/null &
	job=$!
	wait_for 30 grep -qs "process $pid: .* recorded, .* stored" terminal &&
		pass "progress on a terminal" || fail "no progress: $(cat terminal)"
	kill $pid
	wait $job
	is "the process ends: status" $? 0
fi
"$DEPD" --attach=$$ --store=x 2>err
is "depd --attach with other options: status" $? 2
"$DEPD" --attach=$$ -o "$tmp/log/x" 2>err
is "depd --attach without a store: status" $? 1
grep -q "cannot create the store" err && pass "says why" || fail "$(cat err)"
unset XDG_RUNTIME_DIR

# ---- other users ----
if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "other users: only as root"
	term_depd
	depd_pid=
	finish
fi
user=(setpriv --reuid=64321 --regid=64321 --clear-groups)
chmod 755 "$tmp" "$run"
mkdir -m 777 theirs
cp "$DEPCTL" "$DEPD" theirs/
DEPCTL=$tmp/theirs/depctl
DEPD=$tmp/theirs/depd
cd theirs || exit 1
sleeper sleep 300
ours=$pid
"${user[@]}" "$DEPCTL" attach -o store $ours 2>err
is "another user's process: status" $? 1
grep -q "belongs to another user" err && pass "says why" || fail "$(cat err)"
[ ! -e store ] && pass "and leaves no store" || fail "there is a store"
background
"${user[@]}" "$DEPCTL" detach $ours 2>err
is "detach from another user's process: status" $? 1
grep -q "another user" err && pass "says why" || fail "$(cat err)"
"${user[@]}" "$DEPCTL" detach --session="$session" 2>err
is "detach from another user's session: status" $? 1
grep -q "no session $session of yours" err && engine_in $ours && pass "says so" || fail "$(cat err)"
setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \
	"$DEPCTL" detach --session="$session" 2>err
is "root with fewer capabilities than the session: status" $? 1
grep -q "not permitted to control session" err && pass "says why" || fail "$(cat err)"
"$DEPCTL" detach -q --session="$session" 2>err || fail "root's own session: $(cat err)"

sleeper "${user[@]}" sleep 300
"$DEPCTL" attach -o ids $pid 2>err
is "root, and a process with other ids: status" $? 1
grep -q "another user or group" err && [ ! -e ids ] && native $pid &&
	pass "says why, and leaves no store" || fail "$(cat err)"

# user_attaches STORE [OPTION]: in the background: $session
user_attaches() {
	"${user[@]}" "$DEPCTL" attach --background -q -o "$@" $pid >answer 2>err ||
		fail "attach to record $1: $(cat err)"
	session=$(sed -n 's/^session \([0-9]*\): .*$/\1/p' answer)
}

# By the user's instance of root's depd: the user cannot open its files, and asks it.
user_attaches instance
"${user[@]}" "$DEPCTL" detach -q $pid 2>err && native $pid &&
	pass "a user detaches, by the instance" || fail "instance: $(cat err)"
user_attaches instance2
"${user[@]}" "$DEPCTL" detach -q --session="$session" 2>err && native $pid &&
	pass "and by the session" || fail "instance: $(cat err)"
user_attaches instance3
"$DEPCTL" detach -q $pid 2>err && native $pid && pass "root detaches from it, too" ||
	fail "root: $(cat err)"

# A user's own depd.
mkdir -m 700 own && chown 64321:64321 own
socket=$PWD/own/depd.sock
start_own() {
	"${user[@]}" "$DEPD" --config="$tmp/conf" --rundir="$PWD/own" 2>>"$tmp/log" &
	users_depd=$!
	wait_for 20 "${user[@]}" "$DEPCTL" status --socket="$socket" >/dev/null
}
start_own
user_attaches own1 --socket="$socket"
"${user[@]}" "$DEPCTL" detach -q $pid 2>err && native $pid && pass "a user's own depd" ||
	fail "own depd: $(cat err)"
user_attaches own2 --socket="$socket"
kill -9 $users_depd
wait $users_depd 2>/dev/null
"${user[@]}" "$DEPCTL" detach -q $pid 2>err
is "it was killed: status of detach" $? 1
grep -q "cannot be opened; root can do so" err && pass "says why" || fail "$(cat err)"
start_own
"${user[@]}" "$DEPCTL" detach -q $pid 2>err && native $pid && pass "the next one lets it go" ||
	fail "own depd, restarted: $(cat err)"
kill $pid $ours
# The store of a depd that was killed is completed by the next one, after the detach.
verify_store() {
	"${user[@]}" "$DEPCTL" verify "$1" >verify.out 2>&1
}
for store in instance instance2 instance3 own1 own2; do
	wait_for 20 verify_store $store || fail "$store: $(tail -n 1 verify.out)"
done
term_depd
depd_pid=
finish
