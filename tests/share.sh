#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl record --share: who can read a store that is recorded with depd or without, while it is
# written, after another depd has adopted it, and when files are added later; groups with which a
# store cannot be shared.
. "$(dirname "$0")/lib.sh"
need_depctl
. "$tests/depd.sh"
trap 'kill -9 $depd_pid 2>/dev/null; sleep 0.3; drop_tmp' EXIT
cd "$tmp" || exit 1
umask 0

# check STATUS NAME [WHY]: pass $? as STATUS, before a command substitution in WHY changes it
check() {
	if [ "$1" = 0 ]; then
		pass "$2"
	else
		fail "$2: ${3:-}"
	fi
}

# access STORE DIR-MODE FILE-MODE [UID [GID]]: check the directory and each of its files
access() {
	local want="$3${4:+ $4}${5:+ $5}" what="%a${4:+ %u}${5:+ %g}" bad
	[ "$(stat -c "$what" "$1")" = "$2${4:+ $4}${5:+ $5}" ] || {
		stat -c "%n %a %u %g" "$1"
		return 1
	}
	[ -e "$1/manifest.json" ] && [ -e "$1/segments.000" ] || {
		echo "$1 is no store"
		return 1
	}
	bad=$(stat -c "$what %n" "$1"/* | grep -v "^$want ")
	[ -z "$bad" ] || {
		echo "$bad"
		return 1
	}
}

# closed STORE: wait until it is closed and has its catalog
closed() {
	for _ in $(seq 200); do
		[ ! -e "$1/catalog.db" ] || return 0
		sleep 0.05
	done
	return 1
}

# both NAME DIR-MODE FILE-MODE UID GID COMMAND...: depctl record with depd and without; COMMAND ends
# before the store
both() {
	local name=$1 dir=$2 file=$3 uid=$4 gid=$5 how
	shift 5
	for how in "" --alone; do
		rm -rf s.dep
		"$@" ${how:+"$how"} -o s.dep -- true 2>err && why=$(access s.dep "$dir" "$file" \
			$uid $gid)
		check $? "$name${how:+ (alone)}" "$why $(cat err)"
	done
}

# refused NAME STATUS MESSAGE OPTION...: there is no store, and nothing runs
refused() {
	local name=$1 status=$2 message=$3 s
	shift 3
	rm -rf no.dep ran
	"$@" -o no.dep -- touch ran >/dev/null 2>err
	s=$?
	[ $s = "$status" ] && grep -Eq -- "$message" err && [ ! -e no.dep ] && [ ! -e ran ]
	check $? "$name" "status $s, $(head -n 1 err)"
}

start
both "not shared" 700 600 "$(id -u)" "" "$DEPCTL" record -q
both "--share" 750 640 "$(id -u)" "$(id -g)" "$DEPCTL" record -q --share
both "a number" 750 640 "$(id -u)" "$(id -g)" "$DEPCTL" record -q --share="$(id -g)"
both "a name" 750 640 "$(id -u)" "$(id -g)" "$DEPCTL" record -q --share="$(id -gn)"
# The umask has no effect.
umask 0377
both "umask 377" 750 640 "$(id -u)" "$(id -g)" "$DEPCTL" record -q --share
umask 0

for how in "" --alone; do
	record=("$DEPCTL" record -q ${how:+"$how"})
	refused "no such group $how" 2 "there is no group 'no-such-group'" \
		"${record[@]}" --share=no-such-group
	refused "an empty group $how" 2 "share= needs a group" "${record[@]}" --share=
	refused "group -1 $how" 2 "there is no group '-1'" "${record[@]}" --share=-1
	refused "group 4294967295 $how" 2 "at most 4294967294" "${record[@]}" --share=4294967295
	refused "group 2^64 $how" 2 "at most 4294967294" \
		"${record[@]}" --share=18446744073709551616
	refused "no number $how" 2 "there is no group '0x1'" "${record[@]}" --share=0x1
	refused "no store $how" 2 "makes no store" "${record[@]}" --no-record --share
done
"$DEPCTL" record -q --races --share -- touch ran 2>err
[ $? = 2 ] && grep -q "share needs -o" err && [ ! -e ran ]
check $? "temporary stores are not shared" "$(cat err)"
"$DEPCTL" record -q --races --share -o r.dep -- true 2>err && why=$(access r.dep 750 640)
check $? "a store of --races that is kept is" "$why $(cat err)"

# During the recording, and after the next depd has adopted it; with existing files of the writer.
rm -rf k.dep
"$DEPCTL" record -q --share -o k.dep -- sh -c 'sleep 1.5; true' 2>err &
job=$!
for _ in $(seq 100); do
	[ "$("$DEPCTL" sessions --json | grep -c '"state":"recording"')" = 0 ] || break
	sleep 0.05
done
why=$(access k.dep 750 640)
check $? "while it is recorded" "$why"
kill_depd
start
wait $job
closed k.dep && why=$(access k.dep 750 640)
check $? "adopted" "$why $(cat err)"
rm k.dep/catalog.db
"$DEPCTL" verify -q --rebuild k.dep && why=$(access k.dep 750 640)
check $? "rebuilt" "$why"

# ---- other users ----

if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "other users: only as root"
	term_depd
	finish
fi
team=64400
owner() {
	setpriv --reuid=64321 --regid=64321 --groups $team "$@"
}
member() {
	setpriv --reuid=64322 --regid=64322 --groups $team "$@"
}
stranger() {
	setpriv --reuid=64323 --regid=64323 --clear-groups "$@"
}
chmod 755 "$tmp" "$run"
cp "$DEPCTL" "$tmp/depctl" || exit 1
mkdir -m 777 shared && cd shared || exit 1
DEPCTL=$tmp/depctl

both "not shared, a user" 700 600 64321 64321 owner "$DEPCTL" record -q
both "--share, a user" 750 640 64321 64321 owner "$DEPCTL" record -q --share
both "another group of the user" 750 640 64321 $team owner "$DEPCTL" record -q --share=$team
both "root may share with any group" 750 640 0 $team "$DEPCTL" record -q --share=$team
for how in "" --alone; do
	refused "a group of others $how" 2 "you are not in the group 64400" \
		stranger "$DEPCTL" record -q ${how:+"$how"} --share=$team
	refused "root's group $how" 2 "you are not in the group root" \
		owner "$DEPCTL" record -q ${how:+"$how"} --share=root
done

# depd does not trust clients: it checks groups with the kernel.
# ask GROUP: send a request for a session, as specified in depd(8)
ask() {
	python3 - "$ADEPT_SOCKET" "$PWD/ask.dep" "$1" <<-'END'
	import json, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[1])
	s.sendall(json.dumps({"v": 1, "op": "record", "argv": ["x"], "cwd": "/",
		"store": sys.argv[2], "options": {"share": int(sys.argv[3])}}).encode() + b"\n")
	print(s.makefile().readline())
	END
}
if have python3; then
	for group in 0 $team; do
		stranger bash -c "$(declare -f ask); ask $group" >answer 2>&1
		grep -q '"error":"EPERM".*user 64323 cannot share a store' answer &&
			[ ! -e ask.dep ]
		check $? "depd refuses group $group" "$(cat answer)"
	done
	owner bash -c "$(declare -f ask); ask $team" >answer 2>&1
	grep -q '"ok":true' answer
	check $? "depd takes a group of the user's" "$(cat answer)"
fi

# The group can read everything that the owner can; others can read nothing.
rm -rf s.dep
owner "$DEPCTL" record -q --share=$team -o s.dep -- sh -c 'true | cat' 2>err
address=$(owner "$DEPCTL" dump --refs s.dep | awk 'NR == 1 { print $2 }')
for c in ls info "info --json" "verify -q" "dump --refs" "where -- s.dep $address" "query races"; do
	# shellcheck disable=SC2086
	owner "$DEPCTL" ${c/ -- s.dep/ s.dep} $([[ $c = where* ]] || echo s.dep) >own 2>&1
	s=$?
	# shellcheck disable=SC2086
	member "$DEPCTL" ${c/ -- s.dep/ s.dep} $([[ $c = where* ]] || echo s.dep) >members 2>&1
	[ $? = $s ] && [ $s = 0 ] && cmp -s own members
	check $? "the group: ${c%% -- *}" "$(head -n 1 members)"
done
! stranger "$DEPCTL" info s.dep >err 2>&1 && grep -q "Permission denied" err
check $? "nobody else" "$(cat err)"
! member "$DEPCTL" verify --rebuild s.dep >err 2>&1 &&
	why=$(access s.dep 750 640 64321 $team)
check $? "the group cannot rebuild it" "$(cat err) $why"
rm s.dep/catalog.db
"$DEPCTL" verify -q --rebuild s.dep && why=$(access s.dep 750 640 64321 $team)
check $? "rebuilt by root: still the owner's, and the group's" "$why"

# The memory that programs and collector share is private, too: a read-only descriptor cannot be
# used to open it again.
# session_file PID: find its descriptor in this process or a descendant, as /proc/PID/fd/N
session_file() {
	local fd child
	for fd in /proc/"$1"/fd/*; do
		[[ $(readlink "$fd") != */memfd:adept-session* ]] || {
			echo "$fd"
			return 0
		}
	done
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		session_file "$child" && return
	done
	return 1
}
for how in "" --alone; do
	who=$([ -n "$how" ] || echo "$depd_pid")
	owner "$DEPCTL" record -q --null ${how:+"$how"} -- sleep 20 2>err &
	job=$!
	# Found twice: depctl has others open for a moment while it starts.
	before=none
	for _ in $(seq 50); do
		file=$(session_file "${who:-$job}") && [ "$file" = "$before" ] && break
		before=$file
		sleep 0.2
	done
	name="the session file${how:+ (alone)}"
	[ -e "$file" ]
	check $? "$name is found" "$(cat err)"
	[ "$(stat -L -c %a "$file")" = 600 ]
	check $? "$name has mode 600" "$file $(stat -L -c %a "$file")"
	! stranger sh -c ": <$file" 2>err
	check $? "$name cannot be opened by others"
	stranger sh -c 'cat <&9 | head -c 1 | wc -c >got; : 8<>/proc/self/fd/9' 9<"$file" 2>err
	[ $? != 0 ] && [ "$(cat got)" = 1 ] && grep -q "Permission denied" err
	check $? "$name cannot be opened again" "$(cat got err)"
	pkill -P $job
	wait $job 2>/dev/null
done

# The report of a live analysis by depd is in the store, too.
term_depd
start --races=1
rm -rf t.dep u.dep
owner "$DEPCTL" record -q --share=$team --transport=shm -o t.dep -- true 2>err
owner "$DEPCTL" record -q --transport=shm -o u.dep -- true 2>err
for s in t u; do
	for _ in $(seq 200); do
		tail -n 1 $s.dep/races.txt 2>/dev/null | grep -q "^complete" && break
		sleep 0.05
	done
done
[ -s t.dep/races.txt ] && why=$(access t.dep 750 640 64321 $team)
check $? "depd's report of races is shared" "$why $(tail -n 1 "$tmp/log")"
[ -s u.dep/races.txt ] && why=$(access u.dep 700 600 64321)
check $? "depd's report of races is not shared" "$why $(tail -n 1 "$tmp/log")"
term_depd
check $? "depd ends"
finish
