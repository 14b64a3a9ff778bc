#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# If depd is stopped, is killed late or has forgotten the session, depctl record does not wait
# forever after the end of its command, and does not end before depd's time limit either.
. "$(dirname "$0")/lib.sh"
need_depctl
. "$tests/depd.sh"
trap 'kill -CONT $depd_pid 2>/dev/null; kill -9 $depd_pid $jobs 2>/dev/null; sleep 0.3
	rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
start
jobs=

# begin STORE COMMAND: record COMMAND in a shell; $job is the pid of depctl.  Background processes
# of the command end when the file `over' exists, or after a minute.
begin() {
	"$DEPCTL" record -q -o "$1" -- sh -c "$2" >out 2>err &
	job=$!
	jobs="$jobs $job"
}
stay='(i=0; while [ ! -e over ] && [ $i -lt 300 ]; do sleep 0.2; i=$((i + 1)); done) & '

until_there() {
	for _ in $(seq 200); do
		[ ! -e "$1" ] || return
		sleep 0.05
	done
}

# ends SECONDS: wait up to SECONDS for the end of depctl; sets $s to its status
ends() {
	local begun=$SECONDS
	while kill -0 "$job" 2>/dev/null && [ $((SECONDS - begun)) -lt "$1" ]; do
		sleep 0.1
	done
	took=$((SECONDS - begun))
	if kill -0 "$job" 2>/dev/null; then
		kill -9 "$job"
		wait "$job" 2>/dev/null
		s=hangs
		return 1
	fi
	wait "$job"
	s=$?
}

# ---- stopped ----
begin stopped.dep "$stay touch begun"
until_there begun
sleep 1
kill -STOP "$depd_pid" $(instance)
ends 40
touch over
[ "$s" = 1 ] && grep -q "depd does not answer; stopped.dep contains the data stored" err &&
	[ $took -ge 10 ] &&
	pass "depd is stopped after the end of the command: status 1 after $took s" ||
	fail "depd is stopped after the end of the command: $s after $took s: $(cat err)"
kill -CONT "$depd_pid" $(instance)

# Signals are forwarded while depd is stopped; the command ends when depd continues.
rm -f over begun
# The command must not call execve, which would wait for depd for some seconds.
cat >wait.pl <<'END'
sub touch { open(my $f, ">", shift); }
$SIG{USR1} = sub { touch("caught") };
touch("begun");
select(undef, undef, undef, 0.1) while !-e "over";
END
begin signals.dep 'exec perl wait.pl'
until_there begun
sleep 0.5
kill -STOP "$depd_pid" $(instance)
# By now the request that depctl sends every 5 s was sent.
sleep 7
begun=$(date +%s%N)
kill -USR1 "$job"
until_there caught
took_ms=$((($(date +%s%N) - begun) / 1000000))
[ -e caught ] && [ $took_ms -lt 1500 ] && pass "a signal while depd is stopped: $took_ms ms" ||
	fail "a signal while depd is stopped: $took_ms ms"
kill -CONT "$depd_pid" $(instance)
touch over
ends 20
[ "$s" = 0 ] && [ ! -s err ] && pass "depd goes on, and the recording is whole" ||
	fail "depd goes on: status $s, $(cat err)"

# ---- killed long after the command has ended ----
rm -f over begun
begin late.dep "$stay touch begun"
until_there begun
# Longer than depctl waits for a depd that has ended.
sleep 17
kill_depd
sleep 1
start
sleep 3
touch over
ends 20
[ "$s" = 0 ] && [ ! -s err ] && "$DEPCTL" verify -q late.dep &&
	pass "killed long after the end of the command: the next depd goes on" ||
	fail "killed long after the end of the command: status $s, $(cat err)"

# ---- forgotten ----
# between HOW ENDED-FILE: a proxy between depctl and depd that, after some time, drops the event of
# the session's end, or reports that there is no session
between() {
	python3 - "$run/depd.sock" "$tmp/$1.sock" "$1" "$2" <<-'END' &
	import array, os, select, socket, sys
	real, path, how, begins = sys.argv[1:]
	server = socket.socket(socket.AF_UNIX)
	server.bind(path + ".new")
	server.listen()
	os.rename(path + ".new", path)
	a, _ = server.accept()
	b = socket.socket(socket.AF_UNIX)
	b.connect(real)
	while True:
	    for s in select.select([a, b], [], [])[0]:
	        data, fds, _, _ = socket.recv_fds(s, 1 << 20, 4)
	        if not data:
	            sys.exit()
	        other = b if s is a else a
	        if s is a and how == "unknown" and os.path.exists(begins):
	            a.sendall(b'{"v":1,"ok":false,"error":"ENOENT","message":"none"}\n')
	            continue
	        lines = [l for l in data.splitlines(True) if b'"event":"ended"' not in l]
	        if not lines:
	            continue
	        socket.send_fds(other, [b"".join(lines)], fds)
	        for fd in fds:
	            os.close(fd)
	END
	jobs="$jobs $!"
	for _ in $(seq 200); do
		[ ! -S "$tmp/$1.sock" ] || return
		sleep 0.05
	done
}

if have python3; then
	rm -f over begun
	touch over
	between lost none
	"$DEPCTL" record -q --socket="$tmp/lost.sock" -o lost.dep -- true >out 2>err &
	job=$!
	ends 30
	[ "$s" = 0 ] && [ ! -s err ] && pass "the event of the end is lost: it is asked for" ||
		fail "the event of the end is lost: $s, $(cat err)"
	rm -f over
	between unknown begun
	"$DEPCTL" record -q --socket="$tmp/unknown.sock" -o unknown.dep -- \
		sh -c "touch begun; sleep 8; echo went on" >out 2>err &
	job=$!
	ends 40
	[ "$s" = 1 ] && grep -q "could not go on with the recording" err &&
		grep -q "went on" out &&
		pass "depd has forgotten the session: the command goes on, status 1" ||
		fail "depd has forgotten the session: $s, $(cat out err)"
fi
term_depd && pass "depd ends" || fail "depd ends: $(tail -n 1 "$tmp/log")"
finish
