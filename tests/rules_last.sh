#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules with last-on-disk and keep-if: the window of a rule's session is in files, which depctl
# snapshot stores when depd is killed; a store stays as the process ends, whose status depd gets
# although the process is no child of it, also when another depd has adopted the session.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
. "$tests/depd.sh"
running=
trap 'end_depd_and $running' EXIT
cd "$tmp" || exit 1
mkdir window whole
cp "$build/programs/flight" window/flight
for copy in window/shell whole/shell whole/crash; do
	cp "$(readlink -f /bin/bash)" $copy
done

# stores: the stores of rules
stores() {
	find stores -name '*.dep' | sort
}

# forget: remove them
forget() {
	rm -rf $(stores)
}

# status_of: how the process of the only store ended
status_of() {
	"$DEPCTL" info --quick --json "$(stores)" | sed -n 's/.*"exit":\({[^}]*}\|null\).*/\1/p'
}

printf '[depd]\nstore = %s\n[rule w]\npath = %s\nlast = 30s,4M\nlast-on-disk = yes\n%s\n%s\n' \
	"$tmp/stores" "$tmp/window/*" "keep-if = failure" "ring-size = 256K" >conf
printf '[rule c]\npath = %s\nkeep-if = crash\n[rule k]\npath = %s\nkeep-if = failure\n' \
	"$tmp/whole/crash" "$tmp/whole/*" >>conf
is "depctl policy check" "$("$DEPCTL" policy check --json conf |
	grep -o '"last_on_disk":[a-z]*\|"keep_if":"[a-z]*"' | paste -s -d ' ')" \
	'"last_on_disk":true "keep_if":"failure" "keep_if":"crash" "keep_if":"failure"'
"$DEPCTL" policy check conf | grep -q 'the last 4.00 MiB are kept.*, in files, if the process f' &&
	pass "it explains the rule" || fail "it says: $("$DEPCTL" policy check conf)"
start || finish
if ! "$DEPCTL" status --json 2>/dev/null | grep -q '"active":true'; then
	skip "rules do not work here"
	finish
fi

# ---- how the process ends ----
# ends NAME STATUS EXIT COMMAND..: the command ends with STATUS; its store is gone, or has EXIT
ends() {
	local name=$1 want=$2 code=$3 status
	shift 3
	("$@") >out 2>err
	status=$?
	wait_for 60 has_ended 0 || fail "$name: the session does not end"
	if [ "$status" != "$want" ]; then
		fail "$name: status $status, not $want: $(cat err)"
	elif [ -z "$code" ]; then
		is "$name" "$(stores)" ""
	else
		is "$name" "$(stores | wc -l) $(status_of)" "1 $code"
	fi
}

ends "success: the store is removed" 0 "" window/flight 300
ends "without a window" 0 "" whole/shell -c 'exit 0'
ends "a failure" 3 '{"code":3}' window/shell -c 'exit 3'
is "why it is kept" "$(last "$(stores)" 'last["kept"]["reason"], last["kept"]["value"]')" \
	"('exit', 3)"
forget
ends "a crash" 139 '{"signal":"SIGSEGV"}' window/shell -c 'kill -SEGV $$'
is "why it is kept" "$(last "$(stores)" 'last["kept"]["reason"], last["kept"]["value"]')" \
	"('signal', 11)"
is "no files stay" "$(find stores -name 'window.*')" ""
forget
ends "keep-if = crash, and a failure" 2 "" whole/crash -c 'exit 2'
ends "keep-if = crash, and a crash" 134 '{"signal":"SIGABRT"}' whole/crash -c 'kill -ABRT $$'
forget
ends "keep-if = failure" 2 '{"code":2}' whole/shell -c 'exit 2'
forget

# A parent that does not wait for the process: its status is not known.
python3 -c '
import signal, subprocess
child = subprocess.Popen(["whole/shell", "-c", "exit 0"])
signal.pause()' &
parent=$!
running="$running $parent"
has_one() {
	[ -n "$(stores)" ] && has_ended 0
}
wait_for 60 has_one || fail "the session of a zombie does not end"
is "a status that is not known: the store" "$(stores | wc -l) $(status_of)" "1 null"
"$DEPCTL" info "$(stores)" | grep -q 'parent has not waited' && pass "it says why" ||
	fail "it does not say why: $("$DEPCTL" info "$(stores)")"
kill "$parent"
wait $parent 2>/dev/null
forget

# ---- the window is in files, and depd is killed ----
window/flight 600000 >out 2>&1 &
child=$!
running="$running $child"
wait_for 60 eval 'filled "$(stores)"' && pass "the window is in files" ||
	fail "no files: $(find stores)"
"$DEPCTL" snapshot -q -o shot $child 2>err && good "a snapshot" shot ||
	fail "snapshot: $(cat err)"
store=$(stores)
kill_recorder
start
is_closed() {
	"$DEPCTL" verify "$store" >verify.out 2>&1
	grep -q "no other recorder could continue.*of which .depctl snapshot'" verify.out
}
wait_for 60 is_closed && pass "the next depd closes its store" || fail "$(cat verify.out)"
"$DEPCTL" snapshot -q -o left "$store" 2>err || fail "left: $(cat err)"
refs=$("$DEPCTL" dump --refs left 2>/dev/null | wc -l)
[ "$refs" -gt 1000 ] && pass "depctl snapshot makes a store of the files" ||
	fail "$refs references"
kill -9 $child
wait $child 2>/dev/null
forget

# ---- another depd adopts a session, and gets the status ----
for code in 0 5; do
	mkfifo go.$code
	whole/shell -c "read x <go.$code; exit $code" >out 2>&1 &
	child=$!
	running="$running $child"
	# With its number, which the next depd needs.
	wait_for 30 eval '"$DEPCTL" sessions --json | grep -q "\"pid\":$child,"' ||
		fail "the process is not recorded"
	kill_recorder
	start
	wait_for 30 eval '"$DEPCTL" sessions --json | grep -q "\"is_adopted\":true"' ||
		fail "the session is not adopted: $(tail -n 3 log)"
	echo >go.$code
	wait $child
	is "adopted: status $code" $? $code
	wait_for 60 has_ended 0 || fail "the session does not end"
	if [ $code = 0 ]; then
		is "adopted and not wanted" "$(stores)" ""
	else
		is "adopted and kept" "$(stores | wc -l) $(status_of)" '1 {"code":5}'
	fi
done

# ---- another process has its number when another depd adopts the session ----
# adoptions: how often depd has adopted a session
adoptions() {
	grep -c 'adopted from an earlier depd' log
}
forget
mkfifo go.reused stay
whole/shell -c 'read x <go.reused; exit 3' >out 2>&1 &
child=$!
running="$running $child"
wait_for 30 eval '"$DEPCTL" sessions --json | grep -q "\"pid\":$child,"' ||
	fail "the process is not recorded"
kill_recorder
echo >go.reused
wait $child
before=$(adoptions)
python3 -c '
import os, sys
want = int(sys.argv[1])
for i in range(1000):
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(want - 1))
    child = os.fork()
    if not child:
        if os.getpid() == want:
            print("reused", flush=True)
            open("stay").read()
        os._exit(0)
    os.waitpid(child, 0)
    if child == want:
        break' $child >reused 2>err &
reuser=$!
running="$running $reuser"
wait_for 30 eval '[ -s reused ] || ! kill -0 $reuser 2>/dev/null'
start
if [ -s reused ]; then
	wait_for 30 eval '[ "$(adoptions)" -gt "$before" ]' || fail "the session is not adopted"
	: >stay
	wait $reuser
	wait_for 60 has_ended 0 || fail "the session does not end"
	is "the status of another process is not taken" "$(stores | wc -l) $(status_of)" "1 null"
else
	skip "no process can get a number again: $(tail -n 1 err)"
fi

term_depd
depd_pid=
finish
