#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Triggers and --keep-if through depd, by record, attach, attach --background and depd --attach:
# each snapshot verifies and says why it was kept; there are no more than --snapshots; a store that
# is not wanted is removed, also by the next depd; wrong requests and other users get nothing.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
. "$tests/depd.sh"
program=$build/programs/flight
running=
trap 'end_depd_and $running' EXIT
cd "$tmp" || exit 1

# kept STORE: why it was kept, as info --json says
kept() {
	last "$1" '" ".join([last["kept"]["reason"], last["kept"]["what"] or "-",
		"value" if last["kept"]["value"] else "-",
		"tid" if last["kept"]["tid"] else "-"])' 2>/dev/null
}

# made STORE: number of its snapshots
made() {
	ls -d "$1".[0-9]* 2>/dev/null | wc -l
}

# record STORE OPTION.. -- COMMAND..: through depd; sets status
record() {
	local store=$1
	shift
	# Not a word of the shell about a depctl that ends by the signal of its command.
	{ "$DEPCTL" record -o "$store" "$@" >out 2>err; } 2>/dev/null
	status=$?
}

# whole NAME STORE: verify finds nothing wrong
whole() {
	verifies "$2" && pass "$1" || fail "$1: $(unverified)"
}

# ask REQUEST: send it to depd as one line; print the answer
ask() {
	timeout 20 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall("".join(sys.argv[2].split()).encode() + b"\n")
print(s.makefile("r").readline(), end="")' "$ADEPT_SOCKET" "$1"
}

# calm PID: end a program that would run for long
calm() {
	kill -9 "$1"
	wait "$1" 2>/dev/null
}

start

# ---- record: calls, slow calls, the number of snapshots ----
record slow --last=64M --no-aslr --on-slow='handle_slow*:40ms' -- "$program" 400 50
is "a slow call: status and output" "$status $(cat out)" "0 sums are good"
# On a slow machine there is one of a call that has not returned, too.
shot=$(for s in slow.[0-9]*; do [ "$(last "$s" 'last["kept"]["reason"]')" = slow_call ] &&
	echo "$s"; done)
is "one snapshot, and its reason" "$(kept "$shot")" "slow_call handle_slow* value tid"
whole "it verifies" "$shot"
grep -q "snapshot .*/$shot" log && pass "depd has made it" || fail "depd has not: $(tail -n 2 log)"
grep -q "^depctl: snapshot .*$shot: a call of 'handle_slow\*' by thread .* took" err &&
	pass "the message says why" || fail "message: $(cat err)"
table=$(nm "$program" | awk '$3 == "slow_table" { print $1 }')
"$DEPCTL" dump --refs --fields=address,size,type "$shot" | python3 -c '
import sys
start = 0x555555554000 + int(sys.argv[1], 16)
written = [int(l.split()[0], 16) for l in sys.stdin if l.split()[2].startswith("W")]
written = [(a - start) // 8 for a in written if start <= a < start + 8000]
print(written == list(range(1000)))' "$table" >complete
is "it has the complete execution of the call" "$(cat complete)" True
record quick --last=64M --on-slow='handle_slow*:30s' -- "$program" 100 5
is "a call that is quick enough" "$status $(made quick)" "0 0"
record often.dep --last=64M --on-call=handle_reques? --snapshots=3 -- "$program" 300
is "at most --snapshots" "$status $(ls -d often.*.dep | paste -s -d ' ')" \
	"0 often.1.dep often.2.dep often.3.dep"
is "a function that is in no dynamic symbols" "$(kept often.1.dep)" "call handle_reques? - tid"
whole "it verifies" often.1.dep
"$DEPCTL" info --quick often.dep | grep -q 'triggers made no snapshot (--snapshots=3)' &&
	pass "the others are counted" || fail "the others are not counted"
record library --last=64M --on-call='pthread_create*' -- "$program" 100
is "a library's function" "$([ "$(made library)" -ge 1 ] && kept library.1)" \
	"call pthread_create* - tid"
# The last call is met when the program ends: its snapshot is made before the session ends.
record last --last=8M --on-call='exit' -- "$program" 20
is "a call just before the end" "$(made last) $(kept last.1)" "1 call exit - tid"

# ---- events ----
record perf --last=64M --on-perf=page-faults:50 --snapshots=2 -- "$program" 2000
if grep -q 'cannot be counted' err; then
	skip "perf events: $(grep counted err)"
else
	is "page faults" "$status $(made perf) $(kept perf.1)" "0 2 perf_event page-faults value -"
	whole "it verifies" perf.1
fi
# counters: processes that count for a session of this suite's depd
counters() {
	local p
	for p in $(pgrep -x depctl-count); do
		grep -qsz "^ADEPT_SOCKET=$ADEPT_SOCKET$" "/proc/$p/environ" && echo "$p"
	done
}
wait_for 20 eval '[ -z "$(counters)" ]' && pass "the process that counts has ended" ||
	fail "it goes on: $(counters)"

# ---- attach, with depctl and without ----
run_flight
"$DEPCTL" attach --last=8M --on-call=handle_request --snapshots=2 -o attached $child 2>err &
depctl=$!
wait_for 60 test -e attached.2/catalog.db && pass "attach" || fail "attach: $(cat err)"
kill -TERM $depctl
wait $depctl
is "it ends as without triggers" $? 0
whole "its snapshot" attached.1
"$DEPCTL" attach --background --last=8M --on-slow=handle_slowly:1ms --on-call=handle_request \
	--snapshots=1 -o behind $child >answer 2>err || fail "attach --background: $(cat err)"
wait_for 60 test -e behind.1/catalog.db && pass "attach --background" ||
	fail "attach --background: $(cat err)"
# depd counts a snapshot in the step after its store has been closed.
wait_for 60 eval '[ "$(session 0 "s[\"last\"][\"snapshot_count\"] > 0")" = True ]'
is "depd counts what it makes" "$(session 0 's["last"]["snapshot_count"]') $(session 0 '
s["last"]["newest"]["store"].rsplit("/", 1)[1] + " " + s["last"]["newest"]["reason"]')" \
	"1 behind.1 call"
wait_for 60 eval '[ "$(session 0 "s[\"last\"][\"skipped_triggers\"] > 0")" = True ]' &&
	pass "and those it does not" || fail "$(session 0 's["last"]')"
"$DEPCTL" detach -q $child 2>err || fail "detach: $(cat err)"
wait_for 60 has_ended 0 && pass "detach ends it" || fail "it goes on"
whole "its snapshot" behind.1
"$DEPCTL" attach --background --last=8M --on-perf=context-switches:20 --snapshots=1 \
	-o counted $child >answer 2>err || fail "attach --on-perf: $(cat err)"
if grep -q 'cannot be counted' err; then
	skip "perf events of an attach: $(grep counted err)"
else
	wait_for 60 test -e counted.1/catalog.db &&
		is "events of an attach that depctl has left" "$(kept counted.1)" \
			"perf_event context-switches value -" ||
		fail "no snapshot: $(session 0 's["last"]')"
fi
"$DEPCTL" detach -q $child 2>err || fail "detach: $(cat err)"
wait_for 60 has_ended 0 || fail "the session goes on"

# ---- depd --attach ----
"$DEPD" --attach=$child --last=4M --on-call=handle_request --on-slow handle_slowly:30s \
	--snapshots=1 -o by_depd >out 2>err &
depctl=$!
wait_for 60 test -e by_depd.1/catalog.db && pass "depd --attach" || fail "no snapshot: $(cat err)"
kill -TERM $depctl
wait $depctl
is "its reason" "$(made by_depd) $(kept by_depd.1)" "1 call handle_request - tid"
kill -0 $child && pass "the program runs on" || fail "the program has ended"
calm $child

# ---- --keep-if ----
# keep NAME EXPECTED WHEN OPTION.. -- COMMAND..: is the store kept?
keep() {
	local name=$1 expected=$2 when=$3
	shift 3
	rm -rf judged
	record judged --keep-if="$when" "$@"
	is "--keep-if=$when: $name" "$([ -e judged ] && echo kept || echo removed)" "$expected"
}
for last in "" --last=8M; do
	keep "status 0 $last" removed failure $last -- true
	grep -q 'judged was removed: the command ended with status 0' err &&
		pass "depctl says so" || fail "depctl says: $(cat err)"
	keep "status 3 $last" kept failure $last -- sh -c 'exit 3'
	is "the status" $status 3
	verifies judged && pass "its store verifies" || fail "its store: $(unverified)"
	keep "status 3 $last" removed crash $last -- sh -c 'exit 3'
	is "the status" $status 3
	keep "a signal $last" kept crash $last -- sh -c 'kill -SEGV $$'
	keep "always $last" kept always $last -- true
	keep "a child's status counts not $last" removed failure $last -- \
		sh -c 'sh -c "exit 3"; true'
done
keep "with snapshots" removed failure --last=8M --on-call='exit' -- "$program" 20
is "the snapshots stay" "$(made judged)" 1
"$DEPCTL" attach --keep-if=crash 1 >out 2>&1
is "attach has no --keep-if" $? 2

# The program of a session that was stopped has not ended.
"$DEPCTL" record -q --keep-if=failure -o stopped -- sleep 600 >out 2>err &
depctl=$!
wait_for 30 eval 'child=$(pgrep -P $depctl sleep)' || fail "the program did not start: $(cat err)"
running="$running $child"
wait_for 60 eval '[ "$(session 0 "s[\"process_count\"] > 0")" = True ]' ||
	fail "no session: $(cat err)"
"$DEPCTL" stop "$(session 0 's["id"]')" >/dev/null
wait_for 60 has_ended 0 || fail "the session goes on"
calm "$child"
wait $depctl 2>/dev/null
[ -e stopped ] && pass "a session that was stopped keeps its store" || fail "its store is gone"

# ---- another depd keeps what --keep-if wants ----
# restart HOW: replace depd
restart() {
	if [ "$1" = killed ]; then
		kill_recorder
	else
		kill -USR2 "$depd_pid"
		wait "$depd_pid" 2>/dev/null
	fi
	start
}
for how in killed restarted; do
	for status in 0 3; do
		rm -rf again
		mkfifo go
		"$DEPCTL" record -q --keep-if=failure -o again -- sh -c "read x <go; exit $status" \
			>out 2>err &
		depctl=$!
		wait_for 60 eval '[ "$(session 0 "s[\"process_count\"] > 0")" = True ]' ||
			fail "no session: $(cat err)"
		restart $how
		wait_for 60 eval '[ "$(session 0 "s[\"is_adopted\"]")" = True ]' ||
			fail "the next depd has no session: $(tail -n 2 log)"
		echo >go
		wait $depctl
		is "depd was $how, status $status" \
			"$? $([ -e again ] && echo kept || echo removed)" \
			"$([ $status = 0 ] && echo "0 removed" || echo "3 kept")"
		rm -f go
	done
done

# Killed while it removes a store: the next one removes the rest.
# traced PID: is it traced?
traced() {
	grep -qs '^TracerPid:[ 	]*[1-9]' "/proc/$1/status"
}
mkfifo go
"$DEPCTL" record -q --keep-if=failure -o half -- sh -c "read x <go" >out 2>err &
depctl=$!
wait_for 60 eval '[ "$(session 0 "s[\"process_count\"] > 0")" = True ]' ||
	fail "no session: $(cat err)"
collector=$(instance)
if have strace; then
	strace -qq -o strace.out -p "$collector" -e trace=unlinkat \
		-e inject=unlinkat:signal=SIGKILL:when=2 2>strace.err &
	strace=$!
	running="$running $strace"
	wait_for 30 eval 'traced "$collector" || ! kill -0 $strace 2>/dev/null'
fi
if traced "$collector"; then
	echo >go
	wait_for 60 eval '! kill -0 "$collector" 2>/dev/null || grep -qs "^State:.*Z" \
		"/proc/$collector/status"' && pass "depd was killed while it removed a store" ||
		fail "depd was not killed: $(cat strace.out strace.err)"
	if [ "$(id -u)" != 0 ]; then
		[ -d half ] || fail "nothing of the store is left"
		wait "$depd_pid" 2>/dev/null
		start
	fi
	wait $depctl
	is "the next depd removes the rest" "$? $([ -e half ] && ls half)" "0 "
else
	skip "depd cannot be killed while it removes a store: $(cat strace.err 2>/dev/null)"
	echo >go
	wait $depctl
fi
rm -f go

# ---- requests that no depctl sends ----
# refused NAME OPTIONS MESSAGE: a request to record with these options is refused, and makes nothing
refused() {
	ask '{"v":1,"op":"record","argv":["x"],"cwd":"/","store":"'"$tmp"'/never",
		"options":{'"$2"'}}' >answer
	grep -q "EINVAL.*$3" answer && [ ! -e never ] && pass "refused: $1" ||
		fail "$1: $(cut -c 1-200 answer)"
}
refused "triggers of a session that keeps all" '"triggers":[{"glob":"f"}]' 'need last_bytes'
refused "no trigger" '"last_bytes":10000000,"triggers":[]' '1 to 8'
refused "nine triggers" '"last_bytes":10000000,"triggers":['"$(
	printf '{"glob":"f"},%.0s' 1 2 3 4 5 6 7 8)"'{"glob":"g"}]' '1 to 8'
refused "a long pattern" '"last_bytes":10000000,"triggers":[{"glob":"'"$(printf '%0100d' 1)"'"}]' \
	'1 to 55 bytes'
refused "a pattern with a set" '"last_bytes":10000000,"triggers":[{"glob":"[a]"}]' '1 to 55 bytes'
refused "33 offsets" '"last_bytes":10000000,"trigger_file":{"major":1,"minor":1,"inode":"5"},
	"triggers":[
	{"glob":"f","offsets":[0'"$(printf ',%d' $(seq 32))"']}]' 'more than 32'
refused "offsets of no file" '"last_bytes":10000000,"triggers":[{"glob":"f","offsets":[1]}]' \
	'each other'
refused "an inode that is no number" '"last_bytes":10000000,"trigger_file":{"major":1,"minor":1,
	"inode":"18446744073709551616"},"triggers":[{"glob":"f","offsets":[1]}]' 'string of digits'
refused "too many snapshots" '"last_bytes":10000000,"snapshots":1000001' '1 to 1000000'
refused "another end" '"keep_if":"success"' 'always'
for request in '"session":1,"event":"a\\u001b[2J","count":1' '"session":1,"event":"","count":1' \
	'"session":1,"event":"page-faults","count":0' '"session":1,"event":"page-faults"' \
	'"session":1,"count":1'; do
	ask '{"v":1,"op":"trigger",'"$request"'}' >answer
	grep -q EINVAL answer && pass "refused: $request" || fail "$request: $(cat answer)"
done
ask '{"v":1,"op":"trigger","session":4000000000,"event":"page-faults","count":1}' >answer
grep -q ENOENT answer && pass "a trigger of no session" || fail "no session: $(cat answer)"

# ---- who may pull ----
run_flight
"$DEPCTL" attach --background --last=8M --snapshots=1 -o mine $child >answer 2>err ||
	fail "attach: $(cat err)"
id=$(session 0 's["id"]')
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp"
	pull='{"v":1,"op":"trigger","session":'$id',"event":"page-faults","count":1}'
	printf '%s\n' "$pull" >pull
	chmod 644 pull
	setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(open(sys.argv[2], "rb").read())
print(s.makefile("r").readline(), end="")' "$ADEPT_SOCKET" "$tmp/pull" >answer 2>&1
	grep -q ENOENT answer && [ ! -e mine.1 ] && pass "another user's trigger makes nothing" ||
		fail "another user: $(cat answer)"
else
	skip "another user: not root"
fi
ask '{"v":1,"op":"trigger","session":'"$id"',"event":"page-faults","count":7}' >answer
wait_for 60 test -e mine.1/catalog.db
is "the owner's makes one" "$(kept mine.1)" "perf_event page-faults value -"
"$DEPCTL" detach -q $child 2>err || fail "detach: $(cat err)"
calm $child
wait_for 60 has_ended 0 || fail "the session goes on"

# ---- another user's instance ----
if [ "$(id -u)" = 0 ]; then
	mkdir user
	chown 65534 user
	as_user() {
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			env HOME=/nonexistent ADEPT_SOCKET="$ADEPT_SOCKET" "$@"
	}
	cp "$program" user/flight
	as_user "$DEPCTL" record -o user/s --last=8M --on-call=handle_request --snapshots=2 \
		-- user/flight 300 >out 2>err
	is "a user's triggers below root's depd" "$? $(made user/s) $(kept user/s.1)" \
		"0 2 call handle_request - tid"
	is "the snapshots are the user's" "$(stat -c %u user/s.1 user/s.1/manifest.json |
		paste -s -d ' ')" "65534 65534"
	as_user "$DEPCTL" record -o user/p --last=8M --on-perf=page-faults:50 --snapshots=1 \
		-- user/flight 2000 >out 2>err
	[ $? = 0 ] || fail "a user's events: $(cat out err)"
	if grep -q 'cannot be counted' err; then
		skip "a user's events: $(grep counted err)"
	else
		is "a user's events" "$(kept user/p.1)" "perf_event page-faults value -"
	fi
	as_user "$DEPCTL" record -o user/k --keep-if=failure -- true >out 2>err
	is "a user's --keep-if" "$? $([ -e user/k ] && echo kept)" "0 "
else
	skip "another user: not root"
fi

term_depd
depd_pid=
finish
