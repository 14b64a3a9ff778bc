#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stress-ng checks what its stressors do (--verify): when it is recorded, and while one of its
# processes is attached to and detached from.  LONG=1: all stressors, for longer.  Arguments are
# names of stressors.
. "$(dirname "$0")/lib.sh"
need_depctl
have stress-ng || finish
cd "$tmp" || exit 1
all="cpu fork futex signal sigq timer epoll pipe mmap vm clone pthread sigsegv context rseq"
names="${*:-fork futex signal sigsegv context}"
seconds=1 cycles=1 seed=${ADEPT_TEST_SEED:-1} load=''
[ "$LONG" != 1 ] || { seconds=5 cycles=20 && names=${*:-$all}; }
# Some stressors give up root's capabilities, and what has fewer than depctl is not attached to.
as=''
chmod 755 "$tmp"
mkdir theirs
if [ "$(id -u)" = 0 ] && have setpriv; then
	as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chown 65534:65534 theirs
fi
cp "$DEPCTL" "$tests/servers/cycles.py" theirs
trap 'pkill -KILL -P "${load:-0}"; kill -9 $load 2>/dev/null; wait; drop_tmp' EXIT

# stressor NAME SECONDS: the command
stressor() {
	stress=($as stress-ng "--$1" 1 --verify --vm-bytes 16m --mmap-bytes 16m --pthread-max 64
		--clone-max 64 --fork-max 4 -t "$2" --temp-path "$tmp/theirs")
}

# verified NAME STATUS FILE: it has succeeded, and says nothing of failures
verified() {
	[ "$2" = 0 ] && grep -q "successful run completed" "$3" && ! grep -q "fail:" "$3" &&
		pass "$1" ||
		fail "$1: status $2: $(grep -v "info:" "$3" | head -n 3 | paste -s -d '|')"
}

# attached NAME: its worker, and the worker's child that works for it if it has one
attached() {
	local worker status said
	stressor "$1" 10000
	"${stress[@]}" >attached.out 2>&1 &
	load=$!
	wait_for 20 eval 'worker=$(pgrep -P $load)' && sleep 0.2
	worker=$(pgrep -P $load | head -n 1)
	case $1 in
	vm | mmap | sigsegv) worker="$worker $(pgrep -P "$worker" | head -n 1)" ;;
	esac
	# shellcheck disable=SC2086
	said=$($as timeout 1500 /usr/bin/python3 theirs/cycles.py "$tmp/theirs/depctl" \
		"$tmp/theirs/store" "$seed" $cycles $worker 2>&1) &&
		pass "$1: $said" || fail "$1: $said"
	kill -INT $load
	wait $load
	status=$?
	load=''
	verified "$1, after the cycles" $status attached.out
}

for name in $names; do
	stressor "$name" $seconds
	"${stress[@]}" >native.out 2>&1
	status=$?
	if [ $status != 0 ] || grep -q "unsupported" native.out; then
		skip "$name does not run here: status $status: $(tail -n 1 native.out)"
		continue
	fi
	rm -rf recorded
	timeout 1000 "$DEPCTL" record -q --alone -o recorded -- \
		"${stress[@]}" >recorded.out 2>&1
	verified "$name, recorded" $? recorded.out
	attached "$name"
done
finish
