#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings with --last through depd, and their snapshots: each store verifies, has references and
# no races, and says why it was kept; memory is bounded; nobody but those with all rights of a
# session gets a snapshot; a depd that is killed or restarted loses or stores what it had.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
. "$tests/depd.sh"
program=$build/programs/flight
running=
trap 'end_depd_and $running' EXIT
cd "$tmp" || exit 1

# has_dropped [ID]: has the window been full?
has_dropped() {
	[ "$(session "${1:-0}" 's["raw_bytes"] > 3 * s["last"]["max_bytes"]')" = True ]
}

start

# ---- record: a snapshot while the program runs on, and its end ----
record_flight main --last=4M --ring-size=256K
[ "$id" -gt 0 ] && pass "the session is depd's" || fail "no session: $(cat err)"
is "depd says what it keeps" "$(session "$id" 's["last"]["max_bytes"]')" 4194304
wait_for 60 has_dropped "$id" && pass "more was recorded than is kept" ||
	fail "too little was recorded: $(session "$id" s)"
[ "$(session "$id" 's["last"]["chunk_bytes"] <= s["last"]["max_bytes"]')" = True ] &&
	pass "the bound holds" || fail "$(session "$id" 's["last"]')"
for of in "--session=$id" "$child" main; do
	"$DEPCTL" snapshot $of >snapshot.out 2>&1
	is "a snapshot of $([ "$of" = "$child" ] && echo a process || echo "$of")" $? 0
done
grep -q "main\.3: 4 threads, .* stored; nothing is missing in the last" snapshot.out &&
	pass "the command says what was kept" || fail "it says: $(cat snapshot.out)"
"$DEPCTL" snapshot --session="$id" -q -o other >snapshot.out 2>&1
is "-o and -q" "$? $(wc -c <snapshot.out)" "0 0"
"$DEPCTL" snapshot --session="$id" -o other >snapshot.out 2>&1
is "a store that exists" "$? $(grep -c 'exists' snapshot.out)" "1 1"
"$DEPCTL" snapshot --session="$id" -o main/other >snapshot.out 2>&1
is "the recording's own store" "$? $(ls main/other/segments.000 2>/dev/null)" \
	"0 main/other/segments.000"
rm -rf main/other
"$DEPCTL" snapshot --session=$((id + 1)) >snapshot.out 2>&1
is "no such session" "$? $(grep -c 'no session' snapshot.out)" "1 1"
kill -0 "$child" && pass "the program runs on" || fail "the program has ended"
kill -SEGV "$child"
wait $depctl
is "status" $? 139
grep -q 'dropped all but the last .* (--last)' err && pass "the summary" || fail "$(cat err)"
good "a snapshot" main.1
good "with -o" other
verifies_killed main && pass "the store of the recording" || fail "the recording: $(unverified)"
is "the reasons" "$(last main.1 'last["kept"]["reason"]') $(last main '
last["kept"]["reason"], last["kept"]["value"]')" "asked ('signal', 11)"
is "something was dropped" "$(last main 'int(last["from_ns"]) > 0')" True
"$DEPCTL" snapshot --session="$id" >snapshot.out 2>&1
is "a session that has ended" "$? $(grep -c 'has ended' snapshot.out)" "1 1"

# ---- depctl stop ----
record_flight stopped --last=30s,8M --ring-size=256K
wait_for 60 eval '[ "$(session "$id" "s[\"raw_bytes\"] > 1000000")" = True ]'
"$DEPCTL" stop "$id" >/dev/null
wait_for 30 has_ended "$id" && pass "depctl stop" ||
	fail "depctl stop: $(session "$id" s)"
kill -0 "$child" && pass "the program runs on natively" || fail "the program has ended"
kill -9 "$child"
wait $depctl
good "its store" stopped
is "both bounds" "$(last stopped 'last["max_bytes"], int(last["max_ns"])')" "(8388608, 30000000000)"

# ---- a session that keeps all ----
record_flight all --max-size=100M
"$DEPCTL" snapshot --session="$id" >snapshot.out 2>&1
is "a session without --last" "$? $(grep -c 'keeps all that it records' snapshot.out)" "1 1"
kill -9 "$child"
wait $depctl

# ---- attach, with depctl and without ----
run_flight
"$DEPCTL" attach --background --last=4M -o attached $child >answer 2>err ||
	fail "attach --background --last: $(cat err)"
wait_for 60 eval '[ "$(session 0 "s[\"raw_bytes\"] > 100000")" = True ]'
"$DEPCTL" snapshot -q -o shot $child 2>err && pass "a snapshot of an attach" ||
	fail "snapshot of an attach: $(cat err)"
"$DEPCTL" detach -q $child 2>err || fail "detach: $(cat err)"
wait_for 30 has_ended 0 && pass "detach ends it" ||
	fail "after detach: $(session 0 s)"
good "the snapshot" shot
good "its store" attached

# ---- depd --attach ----
"$DEPD" --attach=$child --last=4M -o by_depd >out 2>err &
depctl=$!
# It becomes depctl attach, whose command line has the socket.
wait_for 30 eval 'socket=$(tr "\0" "\n" <"/proc/$depctl/cmdline" | grep "/depd.sock$")'
wait_for 60 "$DEPCTL" snapshot -q -o by_depd.shot --socket="$socket" $child &&
	pass "its snapshot" || fail "no snapshot: $(cat err)"
kill -TERM $depctl
wait $depctl
is "depd --attach" "$(last by_depd 'last["max_bytes"]')" 4194304
good "its store" by_depd
kill -9 $child
wait $child 2>/dev/null

# ---- who may ask ----
if [ "$(id -u)" = 0 ]; then
	record_flight rooted --last=8M
	chmod 755 "$tmp"
	chmod -R a+rX "$tmp/run" 2>/dev/null
	for of in "--session=$id" "$child"; do
		setpriv --reuid=65534 --regid=65534 --clear-groups "$DEPCTL" snapshot \
			-o "$tmp/stolen" $of >snapshot.out 2>&1
		is "another user" "$? $([ -e stolen ] && echo made)" "1 "
	done
	# The same user without the rights that the session has.
	setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \
		"$DEPCTL" snapshot -o "$tmp/stolen" --session="$id" >snapshot.out 2>&1
	status=$?
	is "fewer rights" "$status $([ -e stolen ] && echo made)" "1 "
	grep -q 'not permitted' snapshot.out && pass "depd says so" || fail "$(cat snapshot.out)"
	kill -9 "$child"
	wait $depctl
else
	skip "another user: not root"
fi

# ---- limits and wrong usage ----
"$DEPCTL" record --last=900G -- /bin/true >out 2>&1
is "more than the machine has" $? 2
for with in --races --max-size=1G --null --no-record --transport=kmod; do
	"$DEPCTL" record --last=8M $with -- /bin/true >out 2>&1
	is "--last with $with" "$? $(grep -c 'excludes' out)" "2 1"
done
printf '[depd]\nmax-last = 6M\n' >conf
term_depd
start
"$DEPCTL" record -o little --last=8M -- /bin/true >out 2>&1
is "more than max-last" "$? $(grep -c 'max-last' out) $([ -e little ] && echo made)" "1 1 "

# ---- depd is restarted: what it had is stored, and the program runs on ----
if [ "$(id -u)" != 0 ]; then
	record_flight restarted --last=4M --ring-size=256K
	wait_for 60 eval '[ "$(session "$id" "s[\"raw_bytes\"] > 1000000")" = True ]'
	kill -USR2 "$depd_pid"
	wait "$depd_pid"
	is "the status of a depd to be restarted" $? 75
	good "its store" restarted
	start
	kill -0 "$child" && pass "the program runs on" || fail "the program has ended"
	kill -9 "$child"
	wait $depctl
else
	skip "a restart of root's depd loses what is in memory"
fi

# ---- depd is killed: what it had is lost, the program runs on, and the store says so ----
record_flight lost --last=4M --ring-size=256K
wait_for 60 eval '[ "$(session "$id" "s[\"raw_bytes\"] > 1000000")" = True ]'
kill_recorder
start
# is_lost: does verify say so?
is_lost() {
	"$DEPCTL" verify lost >verify.out 2>&1
	grep -q "no other recorder could continue" verify.out
}
wait_for 60 is_lost && pass "verify says that it is lost" || fail "verify: $(cat verify.out)"
kill -0 "$child" && pass "the program runs on" || fail "the program has ended"
kill -9 "$child"
wait $depctl

# ---- a rule ----
term_depd
printf '[depd]\nstore = %s\n[rule r]\ncomm = flight\nlast = 30s,4M\nring-size = 256K\n' \
	"$tmp/stores" >conf
start
if "$DEPCTL" status --json 2>/dev/null | grep -q '"active":true'; then
	is "the rule" "$("$DEPCTL" policy check --json conf | grep -o '"last_[a-z]*":[0-9]*' |
		paste -s -d ' ')" '"last_bytes":4194304 "last_ns":30000000000'
	"$program" 600000 >out 2>&1 &
	child=$!
	running="$running $child"
	wait_for 60 has_dropped
	"$DEPCTL" snapshot -q $child 2>err && pass "a snapshot of a rule's session" ||
		fail "snapshot: $(cat err)"
	kill -9 $child
	wait $child 2>/dev/null
	wait_for 30 has_ended 0
	shot=$(find stores -name '*.1.dep')
	[ -n "$shot" ] && good "it" "$shot" || fail "no snapshot: $(find stores -maxdepth 2)"
else
	skip "rules do not work here"
fi

term_depd
depd_pid=
finish
