#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl record --last-on-disk and depctl attach: the window is in files of the store. What is
# stored at the end is what a window in memory has; the files stay within the bound; when the
# collector is killed, depctl snapshot makes a store of them, also of damaged ones; a full disk
# makes the window smaller.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
program=$build/programs/last_part
forever=$build/programs/code_forever
running=
# The disk is a small tmpfs that only this script and its children see.
disk=
if [ -z "${LAST_DISK:-}" ] && unshare -rm true 2>/dev/null; then
	drop_tmp
	LAST_DISK=1 exec unshare -rm bash "$0"
fi
if [ -n "${LAST_DISK:-}" ]; then
	mkdir "$tmp/disk"
	mount -t tmpfs -o size=16m tmpfs "$tmp/disk" 2>"$tmp/err" && disk=$tmp/disk
fi
end() {
	[ -z "$running" ] || kill -9 $running 2>/dev/null
	[ -z "$disk" ] || umount -l "$disk"
	drop_tmp
}
trap end EXIT
cd "$tmp" || exit 1

# record STATUS STORE OPTION... -- COMMAND...: record; depctl ends with STATUS
record() {
	local want=$1 store=$2 status
	shift 2
	rm -rf "$store"
	(exec "$DEPCTL" record -o "$store" "$@") >out 2>err
	status=$?
	[ $status = "$want" ] || fail "status $status, not $want: $(paste -s -d '|' err)"
}

# collector PID: that of depctl PID
collector() {
	pgrep -P "$1" depctl-collect
}

# ---- the same as in memory ----
small="--no-aslr --ring-size=256K"
record 139 whole --alone $small -- "$program" 200 same
record 139 memory $small --alone --last=64M -- "$program" 200 same
record 139 all $small --last=64M --last-on-disk -- "$program" 200 same
record 139 part $small --last=1M --last-on-disk -- "$program" 200 same
verifies_killed part && [ "$(last part 'int(last["dropped_chunks"])')" -gt 0 ] &&
	pass "a crash" || fail "a crash: $(unverified)"
is "no files of the window stay" "$(windows all) $(windows part)" "0 0"
base=0x555555554000
symbol() {
	nm -S "$program" | awk -v s="$1" '$4 == s { print $1, $2 }'
}
read -r work work_size < <(symbol work)
read -r workers workers_size < <(symbol worker)
at() {
	printf '%x' $((base + 0x$1 + ${2:-0}))
}
for store in whole memory all part; do
	"$DEPCTL" dump --refs --fields=thread,pc,address,size,type $store >$store.refs
done
# compare WHOLE PART: the references of the workers
compare() {
	python3 "$tests/last.py" $1.refs $2.refs "$(at "$work")" "$(at "$work" 0x"$work_size")" \
		"$(at "$workers")" "$(printf '%x' $((0x$workers_size / 4)))"
}
compare whole part >compared
[ "$(grep -c ': equal$\|: dropped$' compared)" = 4 ] && grep -q ': equal$' compared &&
	pass "the last references of four threads" || fail "references: $(paste -s -d , compared)"
compare memory all >compared
is "nothing dropped: as many references as in memory" \
	"$(awk '$3 == $6 && $3 > 1000' compared | wc -l)" 4
python3 - "$(at "$work")" "$(at "$work" 0x"$work_size")" <<'END' &&
import sys
def refs(name):
    start, end = (int(n, 16) for n in sys.argv[1:])
    threads = {}
    for line in open(name):
        thread, pc, *rest = line.split()
        if start <= int(pc, 16) < end:
            threads.setdefault(thread, []).append((pc, *rest))
    return sorted(threads.values())
sys.exit(refs("memory.refs") != refs("all.refs"))
END
	pass "the same references as in memory" || fail "the references differ from memory's"

# ---- the bound, and a collector that is killed, with code that is generated for ever ----
# record_forever NAME: begin to record the program
record_forever() {
	rm -rf "$1" stop out
	"$DEPCTL" record -o "$1" --last=8M --ring-size=128K --last-on-disk -- "$forever" rewrite \
		stop >out 2>err &
	running=$!
}
# watch ROUNDS: see how much of the disk is used until so many thousand rounds are printed
watch() {
	local blocks free bytes
	most=0
	samples=0
	while kill -0 $running 2>/dev/null &&
	      { [ $samples -lt 20 ] || [ "$(grep -c . out)" -lt "$1" ]; }; do
		samples=$((samples + 1))
		[ -n "$disk" ] || continue
		read -r blocks free bytes < <(stat -f -c '%b %f %S' "$disk")
		bytes=$(((blocks - free) * bytes))
		[ "$bytes" -le $most ] || most=$bytes
	done
}
rounds=4
[ "$LONG" != 1 ] || rounds=200
kept=${disk:-.}/kept
record_forever "$kept"
watch $rounds
if [ -n "$disk" ]; then
	# Besides: the other files of the store, the ends of blocks, and what describes removed code
	# until it is found that nothing names it, which takes longer on a busy machine.
	[ $most -gt 4194304 ] && [ $most -le $((12 << 20)) ] &&
		pass "the files with --last=8M have at most 12M" ||
		fail "the files have $most bytes with --last=8M"
fi
anonymous=$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$(collector $running)/status")
[ "${anonymous:-99999}" -lt 24576 ] && pass "the collector's memory has no chunks" ||
	fail "the collector has $anonymous KiB"
"$DEPCTL" snapshot -q -o kept.live "$kept" 2>err2 && verifies kept.live &&
	pass "a snapshot while it goes on" || fail "snapshot: $(cat err2) $(unverified)"
touch stop
wait $running
is "the program's status and output" "$? $(tail -n 1 out)" "0 all sums are good"
running=
verifies "$kept" && pass "its store" || fail "its store: $(unverified)"
grep -q 'disk is full' err && fail "the disk was full: $(cat err)"
rm -rf "$kept"

record_forever killed
watch 1
kill -9 "$(collector $running)"
touch stop
wait $running
is "the collector is killed: the program goes on" "$(tail -n 1 out)" "all sums are good"
running=
"$DEPCTL" verify killed >verify.out 2>&1
is "verify" "$? $(grep -c "of which .depctl snapshot' makes a store" verify.out)" "1 1"
"$DEPCTL" snapshot killed >snapshot.out 2>&1 && grep -q '^[^ ]*killed\.1: ' snapshot.out ||
	fail "snapshot: $(cat snapshot.out)"
left killed.1 && pass "the store of what it left" || fail "killed.1: $(unverified)"
refs=$("$DEPCTL" dump --refs killed.1 2>dump.err | wc -l)
[ "$refs" -gt 100000 ] && ! grep -qv 'NOT COMPLETE: the recorder was killed' dump.err &&
	pass "its references" ||
	fail "$refs references: $(head -n 1 dump.err)"
[ "$(last killed.1 'int(last["dropped_chunks"])')" -gt 0 ] && pass "what was dropped is known" ||
	fail "nothing was dropped"
"$DEPCTL" snapshot -q -o again killed && "$DEPCTL" dump --refs again 2>/dev/null |
	cmp - <("$DEPCTL" dump --refs killed.1 2>/dev/null) && pass "again, as -o says" ||
	fail "again, as -o says"

# ---- a killed collector of several threads; races ----
rm -rf lost
"$DEPCTL" record -o lost --last=8M --last-on-disk -- "$program" 100000 exit >out 2>err &
running=$!
wait_for 30 filled lost || fail "the window is not filled"
"$DEPCTL" record -q -o lost --last=8M -- true 2>/dev/null && fail "a store was made twice"
kill -9 "$(collector $running)"
pkill -9 -P $running last_part
wait $running 2>/dev/null
running=
"$DEPCTL" snapshot -q -o lost.of lost || fail "no snapshot of four threads"
left lost.of && pass "four threads" || fail "four threads: $(unverified)"
"$DEPCTL" query races lost.of >races.out 2>&1
is "their races" "$(grep -c '^race:' races.out)" 0

# ---- damage: what is left is stored, and what is not is counted ----
# damaged NAME: copy the files of the killed collector
damaged() {
	rm -rf "$1" "$1.of"
	cp -r lost "$1"
	file=$(find "$1" -name 'window.[0-9]*' | sort | head -n 2 | tail -n 1)
}
# counts NAME: a store is made of the damaged files, and verify says what is lost
counts() {
	"$DEPCTL" snapshot -q -o "$1.of" "$1" 2>err || {
		fail "$1: $(cat err)"
		return
	}
	verifies "$1.of"
	grep -q '^loss: [0-9]* bytes were not stored' verify.out && pass "damage: $1" ||
		fail "damage: $1: $(paste -s -d '|' verify.out)"
}
damaged body
flip "$file" 5000
counts body
damaged header
flip "$file" 60
counts header
damaged shorter
truncate -s -1000 "$file"
counts shorter
damaged missing
rm "$file"
counts missing
damaged foreign
rm "$file"
ln -s /dev/zero "$file"
"$DEPCTL" snapshot -q -o foreign.of foreign >err 2>&1
is "damage: a link" "$? $(grep -c 'no snapshot was made' err) $(find . -name foreign.of)" "1 1 "
damaged log
truncate -s 100 log/window.log
"$DEPCTL" snapshot -q -o log.of log >err 2>&1
is "damage: no log" "$? $(grep -c 'no snapshot was made' err) $(find . -name log.of)" "1 1 "
damaged other
cp -r killed/window.log other/
"$DEPCTL" snapshot -q -o other.of other >err 2>&1
is "damage: another store's log" "$? $(grep -c 'belongs to another store' err)" "1 1"

# ---- attach ----
"$program" 1000000000 exit >out 2>&1 &
running=$!
wait_for 10 test -e /proc/$running/fd/1
"$DEPCTL" attach --last=4M --last-on-disk --for=1 -o attached $running 2>err ||
	fail "attach: $(cat err)"
kill -9 $running
wait $running 2>/dev/null
running=
good "attach" attached
is "attach: no files stay" "$(windows attached)" 0

# ---- a full disk ----
if [ -n "$disk" ]; then
	record 0 "$disk/full" --ring-size=256K --last=64M --last-on-disk -- "$program" 3000 exit
	grep -q 'the disk is full: less than --last asks for is kept' err && pass "the warning" ||
		fail "no warning: $(cat err)"
	verifies "$disk/full" && pass "a full disk: the store" ||
		fail "a full disk: $(unverified) $(paste -s -d '|' err)"
	is "a full disk: no files stay" "$(windows "$disk/full")" 0
	"$DEPCTL" info --quick "$disk/full" | grep -q 'the disk is full: from now on at most' &&
		pass "the store says so" || fail "the store does not say that the disk was full"
	rm -rf "$disk/full"
	# It fills up meanwhile. What then does not fit into the store is stored later.
	"$DEPCTL" record -o "$disk/none" --last=8M --last-on-disk -- "$program" 20000 exit \
		>out 2>err &
	running=$!
	wait_for 30 filled "$disk/none" || fail "the window is not filled"
	dd if=/dev/zero of="$disk/other" bs=64K 2>/dev/null
	wait $running
	running=
	is "the disk fills up: the program" "$(cat out)" "$("$program" 20000 exit)"
	rm -f "$disk/other"
	if verifies "$disk/none"; then
		is "the disk fills up: the store" "$(windows "$disk/none")" 0
	else
		grep -q 'No space left' err || fail "no error: $(cat err)"
		"$DEPCTL" snapshot -q -o none.of "$disk/none" 2>err || fail "later: $(cat err)"
		"$DEPCTL" verify none.of 2>/dev/null | grep -q ' [1-9][0-9]* references: NOT' &&
			pass "the disk fills up: a snapshot later" || fail "a snapshot later"
	fi
	rm -rf "$disk/none"
	# No room at all.
	dd if=/dev/zero of="$disk/other" bs=64K 2>/dev/null
	truncate -s -16K "$disk/other"
	(exec "$DEPCTL" record -o "$disk/none" --last=64M --last-on-disk -- "$program" 300 exit) \
		>out 2>err
	is "no room at all" "$? $(grep -c 'No space left' err)" "1 1"
	rm -f "$disk/other"
else
	skip "no tmpfs in a user namespace: $(tail -n 1 "$tmp/err" 2>/dev/null)"
fi

# ---- wrong usage ----
for wrong in "" "--last=1K"; do
	"$DEPCTL" record $wrong --last-on-disk -- /bin/true >out 2>&1
	is "--last-on-disk with '$wrong'" "$? $(grep -c -- --last out)" "2 1"
done
"$DEPCTL" attach --last-on-disk 1 >out 2>&1
is "attach --last-on-disk without --last" "$? $(grep -c 'needs --last' out)" "2 1"

finish
