#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A hostile user against root's depd: what is done to one user's instance, directory, store or
# connections neither stops depd nor delays another user.  As root only, since depd must be root's.
#
# Both users are numbers without a name.  The victim records a small program again and again; of
# the times that takes the 95th percentile is compared with that in quiet, with LONG=1: on a machine
# that has nothing else to do.
. "$(dirname "$0")/../lib.sh"
need_depctl
if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "a hostile user against root's depd: only as root"
	finish
fi
. "$tests/depd.sh"
evil=64331 victim=64332
rounds=${ROUNDS:-$([ "$LONG" = 1 ] && echo 200 || echo 20)}
slow=${SLOW:-1}

clean_up() {
	touch "$tmp/over"
	# Processes that attackers left: all with their uid.
	for p in $(of_user $evil) $(of_user $victim); do
		kill -9 "$p" 2>/dev/null
	done
	kill -9 "$depd_pid" 2>/dev/null
	sleep 0.3
	# Root's instances have the run directory in their command line.
	grep -lazE "^$run(/user/[-0-9a-f]+)?\$" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 |
		xargs -r kill -9 2>/dev/null
	rm -rf "$tmp"
}
trap clean_up EXIT

of_user() {
	grep -l "^Uid:	$1	" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3
}

as() {
	setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"
}

# one: the victim records a program; prints milliseconds
one() {
	rm -rf v/s.dep
	since=${EPOCHREALTIME/./}
	as $victim timeout 60 "$DEPCTL" record -q -o v/s.dep -- /bin/true >v/out 2>&1 ||
		echo "status $?: $(tail -n 1 v/out)" >>bad
	echo $(((${EPOCHREALTIME/./} - since) / 1000))
}

# p95: 95th percentile of the times of the victim's recordings
p95() {
	for _ in $(seq "$rounds"); do
		one
		# A user may start eight sessions per second.
		sleep 0.2
	done | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR * 95 + 99) / 100)] }'
}

# unharmed NAME: during the attack the victim is as fast as before, and depd is unchanged
unharmed() {
	rm -f bad
	now=$(p95)
	# Clock granularity and scheduling are not depd's fault.
	most=$((2 * quiet + 30 * slow))
	anon=$(resident "$depd_pid" RssAnon)
	fds=$(ls "/proc/$depd_pid/fd" | wc -l)
	if ! kill -0 "$depd_pid" 2>/dev/null; then
		fail "$1: depd is dead: $(tail -n 1 "$tmp/log")"
		start
	elif [ -e bad ]; then
		fail "$1: the victim: $(sort bad | uniq -c | head -n 1)"
	elif [ "$LONG" = 1 ] && [ "$now" -gt $most ]; then
		fail "$1: 95th percentile $now ms, $quiet ms in quiet"
	elif [ "$anon" -gt $anon_max ] || [ "$fds" -gt $fds_max ]; then
		fail "$1: depd has $anon KiB and $fds descriptors"
	else
		pass "$1: 95th percentile $now ms, $quiet ms in quiet; $anon KiB, $fds descriptors"
	fi
}

# hers: wait for the attacker's instance, and print its pid
hers() {
	for _ in $(seq 100); do
		found=$(instance $evil)
		[ -n "$found" ] && echo "$found" && return
		sleep 0.05
	done
}

cd "$tmp" || exit 1
chmod 755 "$tmp"
mkdir v e
chown $victim:$victim v
chown $evil:$evil e
start || finish
chmod 755 "$run"
one >/dev/null
quiet=$(p95)
[ ! -e bad ] || fail "the victim, in quiet: $(head -n 1 bad)"
anon_max=$(($(resident "$depd_pid" RssAnon) + 8192))
fds_max=$(($(ls "/proc/$depd_pid/fd" | wc -l) + 200))

# ---- rights of the front and of an instance ----

as $evil "$DEPCTL" record -q -o e/a.dep -- /bin/true
pid=$(hers)
creds=$(sed -n 's/^\(Uid\|Gid\|CapPrm\|CapEff\|NoNewPrivs\|Seccomp\):[ 	]*//p' "/proc/$pid/status" |
	tr '\n\t' '; ')
all="$evil $evil $evil $evil" none=0000000000000000
[ "$creds" = "$all;$all;$none;$none;1;2;" ] &&
	pass "an instance has its user's credentials and no others" ||
	fail "an instance has the credentials $creds"
! ls -l "/proc/$depd_pid/fd" | grep -qE 'adept-session|/(v|e)/|\.dep' &&
	! grep -qE 'adept-session|\.dep' "/proc/$depd_pid/maps" &&
	pass "root's depd has no session and no store open" ||
	fail "root's depd has open: $(ls -l "/proc/$depd_pid/fd" | grep -m 2 -E 'session|dep')"
dir=$(echo "$run"/user/$evil-*)
dir=${dir%.who*}
[ "$(stat -c '%a %u' "${dir%% *}" "$run/user" | tr '\n' ' ')" = "700 $evil 700 0 " ] &&
	! as $evil sh -c 'cd "$1"' sh "${dir%% *}" 2>/dev/null &&
	pass "directories of instances" ||
	fail "directories of instances: $(stat -c '%n %a %u' "$run/user" $dir | tr '\n' ' ')"

# ---- other files under names that depd uses ----

# A FIFO in place of a file that is written at the end of a recording: opening it blocks.
as $evil sh -c '
	"$1" record -q -o e/fifo.dep -- sh -c "sleep 1; rm -f e/fifo.dep/catalog.db;
		for i in 1 2 3 4; do mkfifo e/fifo.dep/catalog.db 2>/dev/null; done; true" &
	n=0
	while [ $n -lt 200 ]; do
		n=$((n + 1))
		[ -d e/race.dep ] && mkfifo e/race.dep/manifest.json.tmp && break
	done &
	"$1" record -q -o e/race.dep -- /bin/true' sh "$DEPCTL" >/dev/null 2>&1 &
job=$!
unharmed "FIFOs in a store"
kill $job 2>/dev/null

# ---- the attacker's own instance ----

as $evil "$DEPCTL" record -q -o e/stopped.dep -- sleep 60 >/dev/null 2>&1 &
sleep 1
pid=$(hers)
as $evil kill -STOP "$pid"
# Clients that the instance does not accept are refused in the end, without effect on others.
for i in $(seq 100); do
	as $evil timeout 30 "$DEPCTL" sessions >/dev/null 2>&1 &
done
unharmed "a stopped instance with a hundred clients"
start_s=$SECONDS
"$DEPCTL" sessions >sessions 2>sessions.err
[ $((SECONDS - start_s)) -le 5 ] && grep -q "user $evil does not answer" sessions.err &&
	pass "root's depctl does not wait for it" ||
	fail "root's depctl: $((SECONDS - start_s)) s, $(head -n 1 sessions.err)"
as $evil kill -CONT "$pid"

touch killing
while [ -e killing ]; do
	pid=$(instance $evil)
	[ -z "$pid" ] || as $evil kill -9 "$pid"
	as $evil timeout 5 "$DEPCTL" sessions >/dev/null 2>&1
	sleep 0.05
done &
job=$!
unharmed "an instance that is killed all the time"
rm -f killing
wait $job
# It is not restarted as often as it is killed.
starts=$(grep -c "instance of user $evil, process" "$tmp/log")
[ "$starts" -gt 2 ] && [ "$starts" -lt 60 ] && pass "it was started $starts times" ||
	fail "it was started $starts times"

# ---- the attacker's directory ----

# Only an instance that she has taken over can write there.
(cd "$(ls -d "$run"/user/$evil-*[0-9a-f] | head -n 1)" && as $evil sh -c '
	rm -f depd.sock lock holder.sock tracer
	mkfifo depd.sock lock tracer; ln -s /etc/shadow session-7; ln -s / holder.sock
	mkdir -p session-8/x')
pid=$(instance $evil)
[ -z "$pid" ] || kill -9 "$pid"
unharmed "rubbish in the directory of an instance"
kill_depd
start
unharmed "the same when depd begins"
rm -rf "$run"/user/$evil-*[0-9a-f]/*

# depctl does not connect to another user's socket that her directory names.
(cd "$(ls -d "$run"/user/$evil-*[0-9a-f] | head -n 1)" &&
	as $evil sh -c 'rm -rf depd.sock && ln -s "$1" depd.sock' sh "$run/metrics.sock")
timeout 20 "$DEPCTL" sessions >sessions 2>sessions.err &&
	! grep -q "invalid answer" sessions.err && pass "links in the place of a socket" ||
	fail "links in the place of a socket: $(head -n 1 sessions.err)"

# ---- floods ----

cat >flood.pl <<'END'
use IO::Socket::UNIX;
my ($path, $procs, $say) = @ARGV;
for (1 .. $procs) {
	next if fork();
	my @all;
	while (!-e "over-flood") {
		my $s = IO::Socket::UNIX->new(Peer => $path);
		if ($s && $say) {
			$s->blocking(0);
			syswrite($s, "{\"v\":1,\"op\":\"status\"}\n" x 50);
		}
		push @all, $s if $s;
		@all = () if @all > 20;
		select(undef, undef, undef, $procs > 50 ? 0.5 : 0.002);
	}
	exit 0;
}
1 while wait() > 0;
END
as $evil perl flood.pl "$ADEPT_SOCKET" 4 1 2>/dev/null &
job=$!
unharmed "a flood of connections and requests"
touch over-flood
wait $job
rm -f over-flood
as $evil perl flood.pl "$ADEPT_SOCKET" "${CLIENTS:-1000}" 0 2>/dev/null &
job=$!
sleep 3
unharmed "${CLIENTS:-1000} clients of one user"
touch over-flood
wait $job
rm -f over-flood
"$DEPCTL" status --users >users
awk -v u=$evil '$1 == u && $NF > 0 { found = 1 } END { exit !found }' users &&
	pass "what was refused is counted: $(awk -v u=$evil '$1 == u { print $NF }' users)" ||
	fail "what was refused is not counted: $(tr '\n' ' ' <users)"

# ---- limits ----

# Restore her directory.
rm -rf "$run"/user/$evil-*[0-9a-f]/*
kill_depd
start

for i in $(seq 40); do
	as $evil timeout 60 "$DEPCTL" record -q -o "e/l$i.dep" -- sleep 8 >/dev/null 2>"e$i.err" &
	sleep 0.15
done
sleep 2
open=$("$DEPCTL" status --users | awk -v u=$evil '$1 == u { print $3 }')
[ "${open:-99}" -le 32 ] && [ "${open:-0}" -ge 8 ] &&
	grep -q "too many sessions\|too often" e*.err && pass "at most 32 sessions: $open" ||
	fail "sessions: $open, $(cat e*.err | head -n 1)"
unharmed "a user with all sessions that there may be"

term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
finish
