#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Temporary stores of `depctl record --races' that depd wrote and whose depctl was killed: depd
# removes them when the recording has ended, and removes nothing else.
. "$(dirname "$0")/lib.sh"
need_depctl
. "$tests/depd.sh"
trap 'kill -9 $depd_pid $killed 2>/dev/null; sleep 0.3; drop_tmp' EXIT
cd "$tmp" || exit 1
chmod 755 "$tmp"
mkdir -m 755 "$run"
killed=
as=()

# begin FOLDER COMMAND...: record into a temporary store there; sets $killed to the process group
begin() {
	TMPDIR=$PWD/$1 setsid "${as[@]}" "$depctl" record --transport=shm --races -- "${@:2}" \
		>out 2>err &
	killed=$!
	for _ in $(seq 200); do
		sleep 0.05
		"$DEPCTL" sessions --json | grep -q '"state":"recording"' && return
	done
	fail "nothing is recorded: $(cat err)"
}

kill_depctl() {
	kill -9 -- "-$killed"
	wait "$killed" 2>/dev/null
}

until_there() {
	for _ in $(seq 200); do
		[ ! -e "$1" ] || return
		sleep 0.05
	done
}

# left FOLDER: print the names of its entries
left() {
	ls "$1" | tr '\n' ' '
}

# Directories that depd must not remove, and those of root.
others="adept-races-1alive adept-races-2other adept-races-3linked adept-races-4foreign "
# gone FOLDER: wait until only these are left
gone() {
	for _ in $(seq 100); do
		[ -n "$(ls "$1" | grep -vxF "$(printf '%s\n' $others adept-races-2root)")" ] ||
			return 0
		sleep 0.1
	done
	return 1
}

# folder NAME: make a directory with everything that must not be removed
folder() {
	mkdir -m 777 "$1"
	mkdir -m 700 "$1/adept-races-1alive" "$1/adept-races-4foreign" "$1.kept" "$1.kept/races.dep"
	touch "$1.kept/races.dep/manifest.json" "$1/adept-races-4foreign/file"
	mkdir -m 755 "$1/adept-races-2other"
	ln -s "$PWD/$1.kept" "$1/adept-races-3linked"
	flock -s "$1/adept-races-1alive" sleep 60 &
	alive=$!
}

# untouched NAME FOLDER
untouched() {
	if [ "$(left "$2")" = "$others" ] && [ -e "$2/adept-races-4foreign/file" ] &&
		[ -e "$2.kept/races.dep/manifest.json" ]; then
		pass "$1"
	else
		fail "$1: $(left "$2") $(tail -n 1 "$tmp/log")"
	fi
	kill $alive
}

depctl=$DEPCTL
start

folder a
begin a sleep 30
kill_depctl
gone a
untouched "depctl and its command are killed" a

folder b
begin b setsid -w sh -c 'touch b.begun; sleep 2; echo went on >b.ended'
until_there b.begun
kill_depctl
sleep 1
ls -d b/adept-races-*/races.dep/fragments >/dev/null 2>&1
stays=$?
gone b
[ $stays = 0 ] && [ -e b.ended ] && pass "it stays as long as something is recorded into it" ||
	fail "it stays as long as something is recorded into it: $stays"
untouched "depctl is killed, and its command goes on" b

# The next depd learns the directory from the session that it adopts.
folder c
begin c setsid -w sh -c 'touch c.begun; sleep 2; echo went on >c.ended'
until_there c.begun
kill_depd
kill_depctl
start
gone c
[ -e c.ended ] || fail "a recorded command ended with depctl"
untouched "depctl and depd are killed" c

# Without the holder no process can resume the session.
folder d
begin d sleep 30
# All at once, since otherwise another holder is started.
kill -9 "$depd_pid" $(instance) $(grep -lazE "^$run(/user/[-0-9a-f]+)?\$" /proc/[0-9]*/cmdline \
	2>/dev/null | cut -d/ -f3 | while read -r p; do
		[ "$(cat "/proc/$p/comm")" != depd-holder ] || echo "$p"
	done)
wait "$depd_pid" 2>/dev/null
kill_depctl
start
gone d
grep -q "its session file was not kept" "$tmp/log" || fail "the session was kept"
untouched "depctl, depd and its holder are killed" d

# A living recorder removes its own store.
mkdir e
TMPDIR=$PWD/e "$DEPCTL" record --transport=shm --races -- true >/dev/null 2>err &&
	[ -z "$(left e)" ]
[ $? = 0 ] && pass "depctl removes its own" || fail "depctl removes its own: $(cat err)"

if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "another user's temporary stores: only as root"
else
	cp "$DEPCTL" "$tmp/depctl" || exit 1
	depctl=$tmp/depctl
	folder u
	# The process that searches has only that user's rights: it cannot enter the directory any
	# more.
	as=(setpriv --reuid=64321 --regid=64321 --clear-groups)
	chown 64321 u/adept-races-1alive u/adept-races-4foreign
	# The same as the user's own, but owned by root.
	mkdir -m 700 u/adept-races-2root && mkdir u/adept-races-2root/races.dep
	begin u sleep 30
	kill_depctl
	gone u
	[ -e u/adept-races-2root/races.dep ] && pass "root's stays" || fail "root's is removed"
	rm -r u/adept-races-2root
	untouched "another user's" u
	folder v
	begin v sleep 30
	chmod 700 v
	kill_depctl
	for _ in $(seq 60); do
		grep -q "cannot look for temporary stores of user 64321 in .*/v" "$tmp/log" && break
		sleep 0.1
	done
	[ $? = 0 ] && [ "$(ls v | wc -l)" = 5 ] && pass "with that user's rights only" ||
		fail "with that user's rights only: $(left v) $(tail -n 1 "$tmp/log")"
	kill $alive
fi
term_depd && pass "depd ends" || fail "depd ends: $(tail -n 1 "$tmp/log")"
finish
