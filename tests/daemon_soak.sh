#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Thousands of short recordings through one depd: what it has at the end is what it had after
# it had warmed up.  SOAK_SECONDS says how long (20; with LONG=1 7200).
#
# depd remembers a session that has ended for a minute.  So both looks at it come after that
# long without any, if there is time for it; if not, those sessions are allowed for.
. "$(dirname "$0")/lib.sh"
need_depctl
. "$tests/depd.sh"
trap 'touch "$tmp/over"; kill -9 $depd_pid 2>/dev/null; sleep 1; drop_tmp' EXIT
seconds=${SOAK_SECONDS:-20}
[ "$LONG" = 1 ] && seconds=${SOAK_SECONDS:-7200}
forget=62
[ "$seconds" -ge 300 ] || forget=0
loops=${SOAK_LOOPS:-3}
if [ $forget = 0 ]; then
	warm=$((seconds / 3)) each_bytes=4096
else
	warm=$((seconds / 5)) each_bytes=1024
fi
[ "$warm" -le 600 ] || warm=600
# When nothing is open depd returns free memory to the system, except fragments of pages.
slack_kib=2048 slack_maps=32
# ASan keeps freed memory; LSan looks for leaks when depd ends.
[ -z "${SAN:-}" ] || slack_kib=$((256 << 10)) slack_maps=1000

# ---- recordings ----

# record NAME OPTION... -- COMMAND...: record into the store NAME, and remove it
record() {
	store=$1
	shift
	timeout -s KILL 60 "$DEPCTL" record -q -o "$store" "$@" >/dev/null 2>"$store.err" </dev/null
	status=$?
	rm -rf "$store"
	return $status
}

# session_of STORE: wait until its session records, and print "ID PID"
session_of() {
	for _ in $(seq 100); do
		found=$("$DEPCTL" sessions --json 2>/dev/null | tr '{' '\n' | grep "/$1\"" |
			sed -n 's|^"id":\([0-9]*\),.*"pid":\([1-9][0-9]*\),.*"recording".*|\1 \2|p')
		[ -z "$found" ] || break
		sleep 0.05
	done
	echo "$found"
}

bad() {
	echo "$*" >>"$tmp/bad"
}

killed_program() {
	record "$1" -- sh -c 'echo $$ >'"$1.pid"'; exec perl -e "1 while 1"' &
	for _ in $(seq 60); do
		[ -s "$1.pid" ] && break
		sleep 0.05
	done
	sleep "0.$((RANDOM % 5))"
	kill -9 "$(cat "$1.pid")"
	wait $!
	rm -f "$1.pid"
}

# The program outlives its session, or its depctl.
stopped() {
	"$DEPCTL" record -q -o "$1" -- sleep 20 >/dev/null 2>"$1.err" </dev/null &
	read -r id pid <<<"$(session_of "$1")"
	if [ -z "$pid" ]; then
		bad "stop: no session: $(cat "$1.err")"
	elif [ "$2" = client ]; then
		kill -9 $!
		kill "$pid"
	else
		"$DEPCTL" stop "$id" >/dev/null 2>&1 || bad "stop $id"
		kill "$pid"
	fi
	wait $!
	rm -rf "$1"
}

# Clients that connect, send anything, and disconnect.
clients() {
	"$DEPCTL" status >/dev/null 2>&1
	"$DEPCTL" metrics --socket="$run/metrics.sock" >/dev/null 2>&1 || bad "metrics"
	perl -MIO::Socket::UNIX -e '
		for my $say ("", "{\"v\":1,\"op\":\"sta", "no json\n",
			     "{\"v\":1,\"op\":\"status\"}\n" x 50,
			     "{\"v\":1,\"op\":\"watch\",\"session\":1}\n",
			     "{\"v\":1,\"op\":\"record\",\"argv\":[\"x\"],\"cwd\":\"/\"," .
			     "\"options\":{\"null\":true}}\n", "x" x 300000) {
			my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "connect: $!\n";
			$SIG{PIPE} = "IGNORE";
			syswrite($s, $say);
			sysread($s, my $answer, 10000) if rand() < 0.5 && $say =~ /\n/;
		}
		for my $path (@ARGV) {
			my $s = IO::Socket::UNIX->new(Peer => $path);
			syswrite($s, "GET /metrics HTTP/1.1\r\n") if $s;
		}' "$ADEPT_SOCKET" "$run/metrics.sock" || bad "clients"
}

# one N NAME
one() {
	case $(($1 % 12)) in
	0) record "$2" -- gzip -c small || bad "gzip: $(cat "$2.err")" ;;
	1) record "$2" -- sh -c 'echo text | sort | wc -l' || bad "sh: $(cat "$2.err")" ;;
	2) record "$2" --on-full=drop --ring-size=64K -- gzip -9 -c small || bad "drop" ;;
	3) killed_program "$2" ;;
	4) stopped "$2" depd ;;
	5) stopped "$2" client ;;
	6) clients ;;
	7) record "$2" --null -- gzip -c small || bad "null: $(cat "$2.err")" ;;
	8) record "$2" -- /no/such/command && bad "no such command" ;;
	9) record "$2" --max-size=64K -- gzip -c small || bad "max-size: $(cat "$2.err")" ;;
	10) record "$2" -- ./churn || bad "threads: $(cat "$2.err")" ;;
	11)
		record "$2" -o /no/such/directory/s.dep -- true && bad "no directory"
		"$DEPCTL" record --no-record -- true 2>"$2.err" || bad "no-record: $(cat "$2.err")"
		;;
	esac
}

# record_loop N: record repeatedly.  Names are used once, since depd may still be closing the store
# of a killed client.
record_loop() {
	n=$(($1 * 5))
	while [ ! -e "$tmp/pause" ]; do
		one $n "loop$1-$BASHPID-$n"
		rm -f "loop$1-$BASHPID-$n.err"
		n=$((n + 1))
	done
}

# busy SECONDS
busy() {
	rm -f "$tmp/pause"
	for i in $(seq "$loops"); do
		record_loop "$i" 2>>loops.err &
		loop_pid[i]=$!
	done
	end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ] && kill -0 "$depd_pid" 2>/dev/null; do
		sleep 5
		[ $((SECONDS / 5 % 12)) = 0 ] && state
	done
	touch "$tmp/pause"
	wait "${loop_pid[@]}"
	rm -rf loop*-*
}

# ---- depd's resources ----

count() {
	"$DEPCTL" status --json | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# both: pids of root's depd and of the instance that has the sessions
both() {
	printf '%s\n' "$depd_pid" "$(instance)" | sort -u
}

# sum COMMAND...: run the command for each of both, and add the numbers
sum() {
	for p in $(both); do
		"$@" "$p"
	done | awk '{ n += $1 } END { print n + 0 }'
}

anon() { resident "$1" RssAnon; }
shmem() { resident "$1" RssShmem; }
descriptors() { ls "/proc/$1/fd" | wc -l; }
threads() { ls "/proc/$1/task" | wc -l; }
mappings() { wc -l <"/proc/$1/maps"; }

# state: print "RssAnon RssShmem descriptors threads mappings sessions-started"
state() {
	echo "$(sum anon) $(sum shmem) $(sum descriptors) $(sum threads) $(sum mappings)" \
		"$(count started)"
}

# quiet FILE: wait until nothing is open, then write its state
quiet() {
	for _ in $(seq 300); do
		[ "$(count open)" = 0 ] && break
		sleep 0.1
	done
	[ "$(count open)" = 0 ] || fail "sessions stay: $("$DEPCTL" sessions | head -n 3)"
	sleep $((forget + 2))
	for p in $(both); do
		ls -l "/proc/$p/fd" | sed 's/.* \([0-9]* -> \)/\1/'
	done >"$1.fds"
	state >"$1"
	echo "RssAnon, RssShmem, descriptors, threads, mappings, sessions: $(cat "$1")"
}

# at_most WHAT BEFORE AFTER MORE: fail if AFTER exceeds BEFORE by more than MORE
at_most() {
	if [ $(($3 - $2)) -gt "$4" ]; then
		fail "$1: $2 after warming up, $3 at the end"
	else
		pass "$1: $2 after warming up, $3 at the end"
	fi
}

cd "$tmp" || exit 1
text 60000 >small
gcc -O2 -pthread -o churn "$tests/programs/thread_churn.c" || fail "thread_churn.c"
start || finish
busy "$warm"
quiet before
busy $((seconds - warm))
quiet after
read -r anon shmem fds tasks maps begun <before
read -r anon2 shmem2 fds2 tasks2 maps2 begun2 <after
sessions=$((begun2 - begun))
[ "$sessions" -gt 10 ] && pass "$sessions sessions" || fail "only $sessions sessions"
at_most "KiB of memory" "$anon" "$anon2" $((slack_kib + sessions * each_bytes / 1024))
at_most "KiB of rings" "$shmem" "$shmem2" 1024
at_most "descriptors" "$fds" "$fds2" 0
[ "$fds2" -le "$fds" ] || diff before.fds after.fds
at_most "threads" "$tasks" "$tasks2" 0
at_most "mappings" "$maps" "$maps2" $slack_maps
[ -z "$(ls -R "$run" | grep session-)" ] && pass "no session's file is left" ||
	fail "left: $(ls -R "$run" | tr '\n' ' ')"
if [ -s bad ]; then
	fail "$(wc -l <bad) recordings went wrong: $(sort bad | uniq -c | sort -rn | head -n 3)"
else
	pass "all recordings did what they should"
fi
term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
finish
