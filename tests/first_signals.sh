#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals to the process group, and the death of depctl or of its collector: the command's output
# and exit status equal the native ones, and the store is closed.
. "$(dirname "$0")/lib.sh"
need_depctl
have setsid || finish
export ADEPT_SOCKET=	# any depd that runs on this machine
program=$tmp/kill_group
gcc -O1 -o "$program" "$tests/programs/kill_group.c" || exit 1
cd "$tmp" || exit 1
ulimit -c 0
# Messages of the shell about signals must not be in the output.
exec 3>&2 2>/dev/null

# alone NAME COMMAND...: record in a separate process group; sets $s to the status
alone() {
	local name=$1
	shift
	rm -rf "$name.dep"
	timeout -k 5 30 setsid -w "$DEPCTL" record --alone -q -o "$name.dep" -- \
		"$@" >"$name.out" 2>"$name.err" </dev/null
	s=$?
}

# natively NAME COMMAND...: the same without depctl
natively() {
	local name=$1
	shift
	timeout -k 5 30 setsid -w "$@" >"$name.native" 2>/dev/null </dev/null
	native=$?
}

# closed STORE: wait until its collector has ended
closed() {
	wait_for 60 grep -q '"state":[[:space:]]*"\(complete\|closed\)"' "$1/manifest.json"
}

# good NAME WHAT: the store is complete
good() {
	timeout 60 "$DEPCTL" verify "$1.dep" >"$1.verify" 2>&1 && return
	fail "$2: verify: $(tail -n 1 "$1.verify")"
	return 1
}

# ---- kill(0, n) ----
for how in handle ignore; do
	natively $how "$program" $how 64
	alone $how "$program" $how 64
	if [ $s != $native ] || ! cmp -s $how.out $how.native; then
		fail "$how: status $s instead of $native: $(diff $how.native $how.out | tail -n 1)"
	elif [ -s $how.err ]; then
		fail "$how: depctl says: $(tail -n 1 $how.err)"
	else
		good $how "$how" &&
			pass "all signals to the group, by a program that does $how them"
	fi
done

# SIGKILL and SIGSTOP have separate tests below.
for ((n = 1; n <= 64; n++)); do
	[ $n = 9 ] || [ $n = 19 ] && continue
	[ "$LONG" = 1 ] || [ $n -lt 36 ] || [ $n -gt 62 ] || continue
	natively default "$program" default $n
	alone default "$program" default $n
	if [ $s != $native ] || ! cmp -s default.out default.native; then
		fail "kill(0, $n): status $s instead of $native: $(tail -n 1 default.err)"
	elif [ -s default.err ]; then
		fail "kill(0, $n): depctl says: $(tail -n 1 default.err)"
	else
		good default "kill(0, $n)" && pass "kill(0, $n): status $s"
	fi
done

alone group "$program" default 9
if [ $s != 137 ]; then
	fail "kill(0, SIGKILL): status $s instead of 137"
elif ! closed group.dep; then
	fail "kill(0, SIGKILL): the store is not closed: $(tail -n 1 group.err)"
else
	timeout 60 "$DEPCTL" info group.dep >group.info 2>&1 &&
		pass "kill(0, SIGKILL): the collector closes the store" ||
		fail "kill(0, SIGKILL): info: $(tail -n 1 group.info)"
fi

# ---- one process is killed ----
# begin NAME STATUS: record a shell in the background, which goes on when there is a file NAME.go;
# sets $depctl and $collector
begin() {
	rm -rf "$1.dep" "$1.go" "$1.out"
	"$DEPCTL" record --alone -q -o "$1.dep" -- sh -c \
		"echo begin; until [ -e $1.go ]; do sleep 0.05; done
		echo end; touch $1.ended; exit $2" >"$1.out" 2>"$1.err" </dev/null &
	depctl=$!
	wait_for 60 grep -q begin "$1.out"
	collector=
	for p in $(cat "/proc/$depctl/task/$depctl/children"); do
		[ "$(cat "/proc/$p/comm")" = depctl-collect ] && collector=$p
	done
}

begin front 0
kill -KILL $depctl
touch front.go
wait $depctl
wait_for 60 test -e front.ended
if ! closed front.dep || ! grep -q end front.out; then
	fail "depctl is killed: the command and the recording do not come to their end"
elif [ -s front.err ]; then
	fail "depctl is killed: $(tail -n 1 front.err)"
else
	good front "depctl is killed" && pass "depctl is killed: all is recorded to the end"
fi

begin stopped 0
kill -STOP $depctl
touch stopped.go
wait_for 60 test -e stopped.ended && pass "depctl is stopped: the programs go on" ||
	fail "depctl is stopped: the programs do not go on"
kill -CONT $depctl
wait $depctl
s=$?
[ $s = 0 ] || fail "depctl was stopped: status $s"
good stopped "depctl was stopped" && pass "depctl was stopped: all is recorded"

for status in 0 3; do
	begin collector $status
	kill -KILL "$collector"
	touch collector.go
	wait $depctl
	s=$?
	want=$status
	# A failed recording changes a successful status.
	[ $status = 0 ] && want=1
	if [ $s != $want ] || ! grep -q end collector.out; then
		fail "the collector is killed: status $s instead of $want"
	elif ! grep -q "collector was killed by signal 9" collector.err; then
		fail "the collector is killed: depctl says: $(tail -n 1 collector.err)"
	else
		pass "the collector is killed: the command goes on and exits with $status"
	fi
done

begin others 4
for n in TERM INT HUP QUIT USR1 ALRM TSTP 33 40; do
	kill -$n "$collector"
done
touch others.go
wait $depctl
s=$?
[ $s = 4 ] && good others "signals to the collector" &&
	pass "signals to the collector change nothing"

# ---- to depctl only, and to its process group from outside ----
count='trap "echo usr1" USR1; echo begin; until [ -e sent.go ]; do sleep 0.05; done
	for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; exit 5'
for whom in "" -; do
	rm -rf sent.dep sent.go sent.out
	setsid "$DEPCTL" record --alone -q -o sent.dep -- sh -c "$count" >sent.out 2>sent.err &
	depctl=$!
	wait_for 60 grep -q begin sent.out
	kill -USR1 -- $whom$depctl
	touch sent.go
	wait $depctl
	s=$?
	n=$(grep -c usr1 sent.out)
	if [ $s = 5 ] && [ "$n" = 1 ]; then
		pass "a signal to ${whom:+the group of }depctl arrives once"
	else
		fail "a signal to ${whom:+the group of }depctl: $n times, status $s"
	fi
done

# ---- lack of resources ----
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	rm -rf fds.dep
	show='for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && echo $i; done >fds.out; exit 0'
	sh -c "timeout 20 sh -c '$show' $closed"
	mv fds.out fds.native
	sh -c "timeout 20 '$DEPCTL' record --alone -q -o fds.dep -- sh -c '$show' $closed"
	s=$?
	if [ $s != 0 ] || ! cmp -s fds.out fds.native; then
		fail "closed $closed: status $s, open: $(tr '\n' ' ' <fds.out)"
	else
		good fds "closed $closed" && pass "closed $closed"
	fi
done

# With 3 the dynamic loader could not open its libraries.
timeout 20 prlimit --nofile=4 "$DEPCTL" record --alone -q -o limit.dep -- true >limit.out 2>&1 3>&-
s=$?
[ $s = 1 ] && grep -q "^depctl: .*Too many open files" limit.out &&
	pass "RLIMIT_NOFILE of 4: $(tail -n 1 limit.out)" ||
	fail "RLIMIT_NOFILE of 4: status $s: $(tail -n 1 limit.out)"

if [ "$(id -u)" = 0 ] && have setpriv; then
	mkdir -m 777 user
	chmod 711 "$tmp"
	cp "$DEPCTL" user/depctl
	(cd user && timeout 20 setpriv --reuid=64321 --regid=64321 --clear-groups \
		prlimit --nproc=1 ./depctl record --alone -q -o s.dep -- true) >nproc.out 2>&1
	s=$?
	[ $s = 1 ] && grep -q "^depctl: .*ulimit -u" nproc.out &&
		pass "RLIMIT_NPROC of 1: $(tail -n 1 nproc.out)" ||
		fail "RLIMIT_NPROC of 1: status $s: $(tail -n 1 nproc.out)"
else
	skip "RLIMIT_NPROC: root has no such limit, and setpriv is needed to be another user"
fi
exec 2>&3
finish
