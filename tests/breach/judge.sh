#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Privileges that execve gives: an image that has more of them than its session's first process
# runs natively, whichever way it was executed and whatever the program wrote to shared memory.
# It gets the privileges that it gets without Adept, and is counted.
#
# As a plain user, through a depd of root's and with `record --alone', and as root.  OLD=1 is for
# builds that do not count these images yet.
. "$(dirname "$0")/../lib.sh"
need_depctl
if [ "$(id -u)" != 0 ]; then
	skip "breach-judge: takes root, who makes set-uid files and a depd for all"
	finish
fi
have setpriv && have setcap || finish
. "$tests/depd.sh"
trap 'touch "$tmp/over"; kill -9 $depd_pid 2>/dev/null; sleep 0.2; rm -rf "$tmp"' EXIT
rounds=200
[ "$LONG" = 1 ] && rounds=3000
flags="-O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -pthread -I$top/include"
user=1 group=1 other=2
chmod 755 "$tmp"
bin=$tmp/bin
work=$tmp/work
mkdir "$bin" "$work"
for p in judged judge_exec judge_client judge_member judge_take; do
	gcc $flags -o "$bin/$p" "$tests/breach/$p.c" || {
		fail "$p cannot be built"
		finish
	}
done
chown $user:$group "$work"
cd "$work" || exit 1

# copy NAME OWNER MODE [CAPABILITIES]: copy the program that prints its privileges
copy() {
	cp "$bin/judged" "$bin/$1" && chown "$2" "$bin/$1" && chmod "$3" "$bin/$1" &&
		{ [ -z "${4:-}" ] || setcap "$4" "$bin/$1"; }
}
copy plain 0:0 755
copy suid 0:0 4755
copy suid-own $user:$group 4755
copy suid-other $other:$other 4755
copy sgid 0:0 2755
copy cap-ep 0:0 755 cap_net_raw=ep
copy cap-p 0:0 755 cap_net_raw=p
copy unreadable 0:0 711
copy changes 0:0 755
printf '#!%s\n' "$bin/suid" >"$bin/script"
chmod 755 "$bin/script"
printf '#!%s\n' "$bin/plain" >"$bin/suid-script"
chmod 4755 "$bin/suid-script"

# as WHO COMMAND...
as() {
	local who=$1
	shift
	if [ "$who" = root ]; then
		"$@"
	else
		setpriv --reuid=$user --regid=$group --clear-groups \
			env HOME=/nonexistent ADEPT_SOCKET="$ADEPT_SOCKET" "$@"
	fi
}

# natively WHO COMMAND..., recorded WHO HOW COMMAND...: native or recorded .out, .err and status
natively() {
	as "$@" >native.out 2>native.err </dev/null
	native=$?
}

recorded() {
	local who=$1 option=
	[ "$2" = alone ] && option=--alone
	shift 2
	rm -rf "$work/dep"
	as "$who" timeout 120 "$DEPCTL" record -q $option -o "$work/dep" -- "$@" \
		>recorded.out 2>recorded.err </dev/null
	status=$?
}

# counted NAME: print a number of the store
counted() {
	"$DEPCTL" info --json "$work/dep" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" | head -n 1
}

# same: the recorded run equals the native one, except for the engine
same() {
	sed 's/engine no$/engine/' native.out >native.cmp
	sed 's/engine [a-z]*$/engine/' recorded.out >recorded.cmp
	if [ $status != $native ]; then
		why="status $status, natively $native: $(tail -n 1 recorded.err)"
	elif ! cmp -s native.cmp recorded.cmp; then
		why="$(diff native.cmp recorded.cmp | tail -n 1)"
	else
		return 0
	fi
	return 1
}

# check WHO HOW EXPECT COMMAND...: EXPECT says whether the executed program must have an engine
check() {
	local who=$1 by=$2 expect=$3 name want=0
	shift 3
	name="$who, $by: $(echo "$*" | sed "s,$bin/,,g")"
	[ "$expect" = yes ] || want=1
	natively "$who" "$@"
	recorded "$who" "$by" "$@"
	if ! same; then
		fail "$name: $why"
	elif ! grep -q "engine $expect\$" recorded.out; then
		fail "$name: $(tail -n 1 recorded.out)"
	elif [ "${OLD:-}" != 1 ] && [ "$(counted native_privileged)" != $want ]; then
		fail "$name: $(counted native_privileged) counted as privileged, not $want"
	else
		pass "$name"
	fi
}

# never NAME RECORDED...: no program that gained privileges has an engine
never() {
	local name=$1
	shift
	recorded "$@"
	n=$(grep -c 'uid [0-9]* 0 .*engine yes$' recorded.out)
	all=$(grep -c 'uid [0-9]* 0 ' recorded.out)
	if [ "$n" != 0 ]; then
		fail "$name: an engine in $n of $all:" \
			"$(grep -m 1 'uid [0-9]* 0 .*engine yes$' recorded.out)"
	elif [ "$all" = 0 ] && [ "$2" = depd ]; then
		fail "$name: nothing was raised in $(wc -l <recorded.out) runs"
	elif grep -v ': uid [0-9 ]* gid .* engine ' recorded.out >odd || [ $status != 7 ]; then
		fail "$name: status $status, $(head -n 1 odd) $(tail -n 1 recorded.err)"
	else
		pass "$name: $all of $(wc -l <recorded.out) raised, none with an engine"
	fi
}

start || finish
e=$bin/judge_exec
for by in depd alone; do
	# Directly: as the first process.
	check user $by no "$bin/suid"
	check user $by yes "$bin/plain"
	for file in suid sgid cap-ep cap-p script suid-other unreadable; do
		check user $by no "$e" path 1 "$bin/$file"
	done
	check user $by no "$e" fd 1 "$bin/suid"
	check user $by no "$e" opath 1 "$bin/suid"
	check user $by yes "$e" path 1 "$bin/plain"
	check user $by yes "$e" path 1 "$bin/suid-own"
	check user $by yes "$e" path 1 "$bin/suid-script"
	check user $by yes "$e" memfd 1 "$bin/suid"
	check user $by yes "$e" nnp 1 "$bin/suid"
	check user $by yes "$e" userns 1 "$bin/plain"
	# Capabilities of a file have no effect there, which the check before execve cannot know.
	# The tracer has the user's rights, and none in that namespace.
	check user $by no "$e" userns 1 "$bin/cap-ep"
	# The process that created the namespace has kept the whole session.
	check user $by no "$e" vfork 1 "$bin/plain"
	check root $by no setpriv --bounding-set=-all "$bin/plain"
	check user $by yes unshare -Ur "$bin/plain"
	check user $by yes unshare -U "$bin/plain"
	check user $by yes setpriv --no-new-privs "$bin/suid"
	check root $by no "$e" path 1 "$bin/suid-other"
	check root $by yes "$e" path 1 "$bin/suid"
	check root $by yes "$e" path 1 "$bin/unreadable"
	check root $by no setpriv --reuid=$user --clear-groups "$bin/plain"
	never "user, $by: a request that is scribbled over" user $by "$e" zero $rounds "$bin/suid"
	never "user, $by: a link that is swapped" user $by "$e" swap $rounds "$bin/suid" \
		"$bin/plain"
	(
		while [ ! -e "$tmp/over" ]; do
			chmod 4755 "$bin/changes"
			chmod 755 "$bin/changes"
		done
	) &
	never "user, $by: a file made set-uid meanwhile" user $by "$e" path $rounds \
		"$bin/changes"
	touch "$tmp/over"
	wait $!
	rm "$tmp/over"
done

# Mapping the memory of a session does not make a process a member of it.  When the request was
# handled, the slot is soon free (0).
"$bin/judge_member" "$ADEPT_SOCKET" $user "$work/member" "$bin/judged" >member.out 2>&1
if ! grep -q 'client: answer [03], traced no' member.out; then
	fail "a server of root's that maps a session: $(head -n 1 member.out)"
elif ! grep -q 'server: uid 0 .* engine no$' member.out; then
	fail "a server of root's that maps a session: $(tail -n 1 member.out)"
else
	pass "a server of root's that maps a session is not recorded in it"
fi

# Privileges that a client gets after it has connected do not count as its own.
cp "$(readlink -f "$(command -v sleep)")" "$bin/suid-sleep" && chmod 4755 "$bin/suid-sleep"
as user "$bin/judge_client" "$ADEPT_SOCKET" "$work/client" "$bin/suid-sleep" 2 \
	>client.out 2>&1
if grep -q '"ok":false,"error":"EACCES","message":"[^"]*privileged' client.out; then
	pass "a client that has become privileged"
else
	fail "a client that has become privileged: $(head -n 1 client.out)"
fi

# System programs: output and status equal those of a native run.
name=$(getent passwd $user | cut -d: -f1)
for by in depd alone; do
	for command in 'passwd -S' "su $name -c id" 'sudo -n true' \
		'ping -q -c 1 127.0.0.1 | sed "s/time .*//; /^rtt/d"' \
		'su root -c id'; do
		have "${command%% *}" || continue
		natively user sh -c "$command; echo \$?"
		recorded user $by sh -c "$command; echo \$?"
		if ! diff native.out recorded.out >diff ||
			! diff native.err recorded.err >diff; then
			fail "user, $by: $command: $(tail -n 1 diff)"
		elif [ "${OLD:-}" != 1 ] && [ "$(counted native_privileged)" != 1 ]; then
			fail "user, $by: $command: $(counted native_privileged) counted"
		else
			pass "user, $by: $command"
		fi
	done
done
# A program that matches a rule executes a set-uid program before depd attaches to it.
wanted=wanted$$
cp "$bin/judge_take" "$bin/$wanted"
printf '[rule taken]\ncomm = %s\nring-size = 1M\n' "$wanted" >"$tmp/conf"
kill -HUP "$depd_pid"
for _ in $(seq 100); do
	"$DEPCTL" status --json >status 2>&1
	grep -q '"rule_count":1[,}]' status && break
	sleep 0.1
done
if grep -q '"active":true' status; then
	as user timeout 120 "$bin/judge_take" 60 "$bin/$wanted" "$bin/suid" >take.out 2>&1
	s=$?
	n=$(grep -c '^take: uid 1 0 0 .* engine no$' take.out)
	if [ $s = 7 ] && [ "$n" = 60 ]; then
		pass "a held program executes a set-uid one: $n without an engine"
	else
		fail "a held program executes a set-uid one: status $s, $n of 60 without an" \
			"engine: $(grep -m 1 'engine yes' take.out)"
	fi
else
	skip "rules do not work here: $(sed 's/.*"policy_error":\("[^"]*"\).*/\1/' status)"
fi
term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
finish
