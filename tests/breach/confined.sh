#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs and users that are confined, below a depd of root's: subordinate uids, user namespaces,
# no_new_privs, seccomp filters, chroot, 32-bit programs, and a /proc that hides other users'
# processes.  What they print is what they print natively; the store has all of it, or says how
# many processes ran natively and why; and what they have of depd counts for the right person.
. "$(dirname "$0")/../lib.sh"
need_depctl
if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "breach-confined: takes root, who has a depd for all"
	finish
fi
# In a mount namespace with its own /etc/subuid, and later its own /proc.
if [ "${CONFINED:-}" != 1 ]; then
	if ! unshare -m true 2>/dev/null; then
		skip "a mount namespace cannot be made here"
		finish
	fi
	CONFINED=1 exec unshare -m bash "$0" "$@"
fi
. "$tests/depd.sh"
owner=64351 subordinate=265357
trap 'kill -9 $depd_pid 2>/dev/null; sleep 0.2; rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
bin=$tmp/bin
mkdir "$bin" "$tmp/work"
chmod 777 "$tmp/work"
cd "$tmp/work" || exit 1
echo "$owner:265000:1000" >"$tmp/subuid"
mount --bind "$tmp/subuid" /etc/subuid || exit 1
"$tests/programs/build.sh" "$build/programs" || exit 1
cp "$build/programs/no_proc" "$build/programs/hello_static" "$bin"
gcc -O2 -D_GNU_SOURCE -pthread -o "$bin/judged" "$tests/breach/judged.c" || exit 1
cp "$bin/judged" "$bin/suid" && chmod 4755 "$bin/suid"
# It prints "32" without any library, since there may be no 32-bit one.
gcc -m32 -nostdlib -static -no-pie -o "$bin/narrow" -x assembler - 2>"$tmp/narrow.err" <<'END'
	.globl	_start
_start:	movl	$4, %eax
	movl	$1, %ebx
	movl	$text, %ecx
	movl	$3, %edx
	int	$0x80
	movl	$1, %eax
	movl	$5, %ebx
	int	$0x80
	.data
text:	.ascii	"32\n"
END

as() {
	setpriv --reuid="$1" --regid="$1" --clear-groups \
		env HOME=/nonexistent ADEPT_SOCKET="$ADEPT_SOCKET" "${@:2}"
}

# number NAME: print a number of the store
number() {
	"$DEPCTL" info --json s.dep | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" | head -n 1
}

# check NAME UID PROCESSES PRIVILEGED COMMAND...: numbers of recorded images, and of images that run
# natively since they gain privileges
check() {
	local name=$1 who=$2 images=$3 privileged=$4 native status n
	shift 4
	as "$who" timeout 60 "$@" >native.out 2>native.err </dev/null
	native=$?
	rm -rf s.dep
	as "$who" timeout 60 "$DEPCTL" record -q -o s.dep -- "$@" >out 2>err </dev/null
	status=$?
	sed -i 's/engine [a-z]*$/engine/' native.out out
	n=$("$DEPCTL" ls s.dep 2>/dev/null | grep -c '^process')
	if [ $status != $native ] || ! cmp -s out native.out; then
		fail "$name: status $status instead of $native: $(tail -n 1 err) $(tail -n 1 out)"
	elif ! cmp -s err native.err; then
		fail "$name: messages differ: $(diff native.err err | tail -n 1)"
	elif ! timeout 60 "$DEPCTL" verify s.dep >verify 2>&1; then
		fail "$name: verify: $(tail -n 1 verify)"
	elif [ "$n" != "$images" ]; then
		fail "$name: $n images are recorded instead of $images"
	elif [ "$(number native_privileged)" != "$privileged" ]; then
		fail "$name: $(number native_privileged) ran natively for privileges instead" \
			"of $privileged"
	else
		pass "$name: $n images recorded, $privileged native for privileges"
	fi
}

# of_person UID NAME: print a number of the user's row of `status --users'
of_person() {
	"$DEPCTL" status --users --json |
		sed -n "s/.*{\"uid\":$1,\([^}]*\)}.*/\1/p" | sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p"
}

start || finish
check "a subordinate uid" $subordinate 2 0 sh -c '/bin/true; exit 3'
check "a user namespace" $owner 3 0 unshare -Ur sh -c '/bin/echo one; exit 3'
check "no_new_privs" $owner 2 0 setpriv --no-new-privs "$bin/suid"
check "a set-uid program" $owner 1 1 sh -c "$bin/suid; exit 3"
check "seccomp that kills a thread that opens a file" $owner 6 0 "$bin/no_proc" kill
mkdir -p "$tmp/root/bin" && cp "$bin/hello_static" "$tmp/root/bin"
check "chroot" 0 2 0 chroot "$tmp/root" /bin/hello_static

if [ ! -x "$bin/narrow" ]; then
	skip "a 32-bit program: $(tail -n 1 "$tmp/narrow.err")"
elif ! "$bin/narrow" >/dev/null 2>&1 && [ $? != 5 ]; then
	skip "a 32-bit program: this kernel runs none"
else
	rm -rf s.dep
	as $owner timeout 60 "$DEPCTL" record -q -o s.dep -- \
		sh -c "$bin/narrow; echo \$?" >out 2>err
	status=$?
	if [ $status = 0 ] && [ "$(tr '\n' ' ' <out)" = "32 5 " ] &&
	   [ "$(number native_images)" = 1 ]; then
		pass "a 32-bit program runs natively, and is counted"
	else
		fail "a 32-bit program: status $status, $(cat out err)," \
			"$(number native_images) counted"
	fi
fi

# Each of these sessions counts for the same account.
for who in $owner $subordinate; do
	rm -rf "person.$who"
	as $who "$DEPCTL" record -q -o "person.$who" -- sleep 30 >/dev/null 2>&1 &
done
as $owner unshare -Ur "$DEPCTL" record -q -o person.ns -- sleep 30 >/dev/null 2>&1 &
for _ in $(seq 100); do
	[ "$(of_person $owner session_count)" = 3 ] && break
	sleep 0.1
done
if [ "$(of_person $owner session_count)" = 3 ] &&
	[ -z "$(of_person $subordinate session_count)" ]; then
	pass "sessions of a subordinate uid and of a user namespace are those of their owner"
else
	fail "sessions of one person: $("$DEPCTL" status --users --json)"
fi
pkill -u $owner,$subordinate -x sleep
wait $(jobs -p | grep -vx "$depd_pid")

# hidepid=2 applies to all users in this namespace, and to depd.
kill_depd
if mount -t proc -o hidepid=2 proc /proc; then
	start || finish
	check "hidepid=2" $owner 2 0 sh -c '/bin/true; exit 3'
	check "hidepid=2, a set-uid program" $owner 1 1 sh -c "$bin/suid; exit 3"
	check "hidepid=2, a subordinate uid" $subordinate 2 0 sh -c '/bin/true; exit 3'
else
	skip "/proc cannot be mounted here"
fi
term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
finish
