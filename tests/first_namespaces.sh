#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs in other pid and mount namespaces than their collector: output and exit status equal the
# native ones, nothing hangs, and the store is complete.
. "$(dirname "$0")/lib.sh"
need_depctl
have unshare || finish
if ! timeout 10 unshare -pf true 2>/dev/null; then
	skip "a pid namespace cannot be made here (not root, or it is forbidden)"
	finish
fi
unset ADEPT_SOCKET
gcc -O1 -o "$tmp/new_pidns" "$tests/programs/new_pidns.c" || exit 1
cd "$tmp" || exit 1

# same NAME PROCESSES COMMAND...: runs as natively, and PROCESSES processes are recorded completely
same() {
	local name=$1 processes=$2 s native n
	shift 2
	timeout -k 5 60 "$@" >native.out 2>native.err </dev/null
	native=$?
	rm -rf s.dep
	timeout -k 5 60 "$DEPCTL" record $alone -q -o s.dep -- "$@" >out 2>err </dev/null
	s=$?
	# The number is 0 if the process ended before the collector found its pid.
	n=$("$DEPCTL" ls s.dep 2>/dev/null |
		awk '/^process/ && ($2 == 0 || !seen[$2]++) { n++ } END { print n + 0 }')
	if [ $s != $native ] || ! cmp -s out native.out; then
		fail "$name: status $s instead of $native: $(tail -n 1 err) $(tail -n 1 out)"
	elif ! cmp -s err native.err; then
		fail "$name: messages differ: $(tail -n 1 err)"
	elif ! timeout 60 "$DEPCTL" verify s.dep >verify 2>&1; then
		fail "$name: verify: $(tail -n 1 verify)"
	elif [ "$n" -ne "$processes" ]; then
		fail "$name: $n processes are recorded instead of $processes"
	else
		pass "$name: $n processes"
	fi
}

children='echo one; (echo two); /bin/echo three; sleep 0.2 & wait; exec sh -c "echo four; exit 6"'
# all WHO: run all cases with $alone
all() {
	same "unshare -pf, $1" 5 unshare -pf sh -c "$children"
	if timeout 10 unshare -Upf true 2>/dev/null; then
		same "unshare -Upf, $1" 5 unshare -Upf sh -c "$children"
	else
		skip "a user namespace cannot be made here"
	fi
	same "a namespace in a namespace, $1" 5 unshare -pf unshare -pf \
		sh -c "(echo one); /bin/echo two"
	same "unshare -p without -f, $1" 3 unshare -p sh -c 'sh -c "echo one; (echo two)"'
	same "clone(CLONE_NEWPID), $1" 9 ./new_pidns
	same "hidepid=2, $1" 3 unshare -m sh -c \
		'mount -t proc -o hidepid=2 proc /proc; /bin/echo one; exit 3'
	# The end of a namespace's first process kills all others in it.
	timeout -k 5 60 "$DEPCTL" record $alone -q -o killed.dep -- unshare -pf --kill-child sh -c \
		'sleep 100 & sleep 100 & sleep 0.3; echo end' >out 2>err
	s=$?
	[ $s = 0 ] && [ "$(cat out)" = end ] && pass "the first process of a namespace ends, $1" ||
		fail "the first process of a namespace ends, $1: status $s, $(tail -n 1 err)"
	rm -rf killed.dep
}

alone=--alone
all alone

. "$tests/depd.sh"
alone=
start || finish
all "by depd"
if [ "$(id -u)" = 0 ]; then
	rm -rf inner.dep
	timeout -k 5 60 unshare -pf --mount-proc "$DEPCTL" record -o inner.dep -- \
		sh -c '(echo one); /bin/echo two' >out 2>err
	s=$?
	if [ $s = 0 ] && grep -q "another pid namespace.*without depd" err &&
		timeout 60 "$DEPCTL" verify inner.dep >verify 2>&1; then
		pass "depctl in another namespace than depd: $(head -n 1 err)"
	else
		fail "depctl in another namespace than depd: status $s: $(head -n 1 err)"
	fi
fi
timeout 10 "$build/depd" --config="$tmp/missing" --rundir="$tmp/other" 2>err
s=$?
[ $s = 1 ] && grep -q "missing: .*No such file" err && pass "depd: $(tail -n 1 err)" ||
	fail "depd with a configuration that is missing: status $s: $(tail -n 1 err)"
term_depd
finish
