#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --last-on-disk through depd, by record, attach, attach --background and depd --attach: the window
# is in files of the session's user in the store's directory; when depd is killed, depctl snapshot
# makes the same store of them before and after the next depd has started; when a recording ends,
# no files stay.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
. "$tests/depd.sh"
program=$build/programs/flight
running=
trap 'end_depd_and $running' EXIT
cd "$tmp" || exit 1

# record STORE OPTION..: record the program in the background, with a window in files
record() {
	local store=$1
	shift
	record_flight "$store" --last=4M --ring-size=256K --last-on-disk "$@"
}

start || finish

# ---- record: what depd says, snapshots, and a crash ----
record main
wait_for 60 filled main && pass "the window is in files" || fail "no files: $(ls main)"
is "depd says where it is" "$(session "$id" 's["last"]["is_on_disk"], s["last"]["limit_bytes"]')" \
	"(True, 4194304)"
for of in "--session=$id" main; do
	"$DEPCTL" snapshot $of >snapshot.out 2>&1
	is "a snapshot of $([ "$of" = main ] && echo the store || echo the session)" \
		"$? $(grep -c 'nothing is missing' snapshot.out)" "0 1"
done
kill -SEGV "$child"
wait $depctl
is "the status of a crash" $? 139
good "a snapshot" main.1
good "another one" main.2
verifies_killed main && pass "the store" || fail "the store: $(unverified)"
is "no files stay" "$(windows main)" 0
is "the reason" "$(last main 'last["kept"]["reason"]')" signal

# ---- a store that is not wanted ----
"$DEPCTL" record -o unwanted --last=4M --ring-size=256K --last-on-disk --keep-if=crash -- \
	/bin/true >out 2>err
is "--keep-if removes it with its files" "$? $([ -e unwanted ] && echo kept)" "0 "

# ---- depd is killed: the same store can be made before and after the next one ----
record lost
wait_for 60 filled lost || fail "the window is not filled: $(ls lost)"
kill_recorder
# made NAME: make a store of what the killed depd left
made() {
	wait_for 20 "$DEPCTL" snapshot -q -o "$1" lost || fail "$1: $("$DEPCTL" snapshot lost 2>&1)"
}
made before
left before && pass "without a depd" || fail "without a depd: $(unverified)"
start
is_lost() {
	"$DEPCTL" verify lost >verify.out 2>&1
	grep -q "no other recorder could continue" verify.out
}
wait_for 60 is_lost && pass "the next depd closes the store" || fail "verify: $(cat verify.out)"
is "verify says what to do" "$(grep -c "of which .depctl snapshot' makes a store" verify.out)" 1
grep -q "of which .depctl snapshot .*lost' makes a store" log && pass "so does depd" ||
	fail "depd says nothing: $(tail -n 3 log)"
made after
left after && pass "with the next depd" || fail "with the next depd: $(unverified)"
for store in before after; do
	"$DEPCTL" dump --refs $store >$store.refs 2>/dev/null
done
cmp before.refs after.refs && [ "$(wc -l <after.refs)" -gt 1000 ] && pass "the same references" ||
	fail "$(wc -l <before.refs) and $(wc -l <after.refs) references"
kill -0 "$child" && pass "the program runs on" || fail "the program has ended"
kill -9 "$child"
wait $depctl
grep -q "depctl snapshot .*lost' makes a store of what was kept" err && pass "so does depctl" ||
	fail "depctl says: $(cat err)"

# ---- attach ----
run_flight
"$DEPCTL" attach --background --last=4M --last-on-disk -o attached $child >answer 2>err ||
	fail "attach --background: $(cat err)"
wait_for 60 filled attached || fail "attach: the window is not filled: $(ls attached)"
"$DEPCTL" detach -q $child 2>err || fail "detach: $(cat err)"
wait_for 30 has_ended 0
good "attach --background" attached
"$DEPCTL" attach --last=4M --last-on-disk --for=1 -o again $child >answer 2>err ||
	fail "attach: $(cat err)"
good "attach" again
is "attach: no files stay" "$(windows attached) $(windows again)" "0 0"

# ---- depd --attach, and its depd is killed ----
"$DEPD" --attach=$child --last=4M --last-on-disk -o by_depd >out 2>err &
depctl=$!
# It becomes depctl attach, whose command line has the socket.
wait_for 30 eval 'socket=$(tr "\0" "\n" <"/proc/$depctl/cmdline" | grep "/depd.sock$")'
wait_for 60 filled by_depd || fail "depd --attach: the window is not filled"
only=$("$DEPCTL" status --socket="$socket" --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
kill -9 "$only"
wait_for 20 "$DEPCTL" snapshot -q -o by_depd.of by_depd || fail "no snapshot of depd --attach"
left by_depd.of && pass "depd --attach is killed" || fail "depd --attach: $(unverified)"
kill -9 $child
wait $child 2>/dev/null
wait $depctl
rm -rf "${socket%/depd.sock}"

# ---- another user, whose files they are ----
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp"
	mkdir theirs
	chown 65534:65534 theirs
	setpriv --reuid=65534 --regid=65534 --clear-groups "$DEPCTL" record -o theirs/store \
		--last=4M --ring-size=256K --last-on-disk -- "$program" 600000 >out 2>err &
	depctl=$!
	wait_for 60 filled theirs/store || fail "another user: $(cat err)"
	is "another user: owner and mode of the files" \
		"$(stat -c '%u %a' theirs/store/window.* | sort -u)" "65534 600"
	child=$(pgrep -P $depctl flight)
	running="$running $child"
	kill -9 "$(instance 65534)"
	# its: a store of theirs
	its() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$DEPCTL" snapshot -q \
			-o theirs/of theirs/store
	}
	wait_for 30 its && left theirs/of && pass "another user: the instance is killed" ||
		fail "another user: $(cat verify.out)"
	kill -9 "$child"
	wait $depctl
else
	skip "another user: not root"
fi

# ---- limits and wrong usage ----
printf '[depd]\nmax-last = 80M\n' >conf
term_depd
start
"$DEPCTL" record -o little --last=900M -- /bin/true >out 2>&1
is "more than max-last" "$? $(grep -c 'max-last' out) $([ -e little ] && echo made)" "1 1 "
"$DEPCTL" record -q -o much --last=900M --last-on-disk -- /bin/true >out 2>&1
is "files are not in max-last" "$? $(cat out)" "0 "
"$DEPCTL" record -o huge --last=9G --last-on-disk -- /bin/true >out 2>&1
is "but their memory is" "$? $(grep -c 'max-last' out) $([ -e huge ] && echo made)" "1 1 "
"$DEPD" --attach=1 --last-on-disk >out 2>&1
is "depd --attach without --last" "$? $(grep -c 'needs --last' out)" "2 1"

term_depd
depd_pid=
finish
