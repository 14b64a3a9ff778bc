#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Random attackers must not affect other users: one writes random data over all memory that a
# recorded program shares, one forks, executes, freezes, changes ids and dies, one uses everything
# that depd allows a user.  As root only, since depd must be root's.
#
# In parallel with each of them another user, the victim, records a small program repeatedly.  Its
# output and recordings, the memory and descriptors of depd and of the victim's instance, the
# responses of depd and the kernel's log must be the same as without the attacker.
#
# With LONG=1 the attacks take minutes, and the 95th percentile of the victim's times is compared.
# An attacker may use processor time.  So the comparison is with as many busy loops as there were
# running threads at each moment of the attack (attack_load.c), measured alternately.  The same
# applies to `depctl status', which may take at most two seconds, or twice its time with the loops.
#
# SECONDS_EACH: of an attack; ATTACKS: some of scribble, random and flood; ADEPT_TEST_SEED.
. "$(dirname "$0")/../lib.sh"
need_depctl
if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "attacks at random: only as root"
	finish
fi
. "$tests/depd.sh"
evil=64341 victim=64342
seed=${ADEPT_TEST_SEED:-$(date +%s)}
each=${SECONDS_EACH:-$([ "$LONG" = 1 ] && echo 20 || echo 6)}
turns=$([ "$LONG" = 1 ] && echo 6 || echo 1)
# Number of processes that execute all the time; more would use all processor time.
looping=8
# Limit of a response time in milliseconds; with LONG=1 the 95th percentile is checked, too.
status_limit=8000 usual=2000
slow=${SLOW:-1}
# A process name has at most 15 bytes.
wanted=wanted$$

of_user() {
	grep -l "^Uid:	$1	" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3
}

# named PATTERN: pids of the attacker's processes with that name
named() {
	for p in $(of_user $evil); do
		read -r comm <"/proc/$p/comm" && [[ $comm =~ ^($1)$ ]] && echo "$p"
	done 2>/dev/null
}

clean_up() {
	touch "$tmp/over"
	kill -9 $loops 2>/dev/null
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
loops=
trap clean_up EXIT

as() {
	setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"
}

bad() {
	echo "$*" >>bad
}

# ---- the victim ----

# record: the victim records into v/s.dep; prints milliseconds
record() {
	rm -rf v/s.dep
	since=${EPOCHREALTIME/./}
	as $victim env -i PATH=/usr/bin:/bin LC_ALL=C ADEPT_SOCKET="$ADEPT_SOCKET" \
		timeout 60 "$DEPCTL" record -q --no-aslr -o v/s.dep -- cat v/text \
		>v/out 2>v/err </dev/null
	status=$?
	echo $(((${EPOCHREALTIME/./} - since) / 1000))
	return $status
}

# Everything that was recorded, except the pid.
references() {
	"$DEPCTL" dump --refs v/s.dep 2>&1 | cut -d ' ' -f 2- | md5sum
}

# one: record and compare with the result without an attack; prints milliseconds
one() {
	record || bad "status $?: $(tail -n 1 v/err)"
	cmp -s v/out out || bad "the output differs"
	[ ! -s v/err ] || bad "it says $(tail -n 1 v/err)"
	"$DEPCTL" verify v/s.dep 2>&1 | tail -n 1 | grep -q "good$" ||
		bad "verify: $("$DEPCTL" verify v/s.dep 2>&1 | tail -n 1)"
	[ "$(references)" = "$refs" ] || bad "the references differ"
}

stores_of() {
	ls "$tmp/stores/$1" 2>/dev/null | grep -c .
}

# by_rule: a program of the victim's that matches a rule is recorded
by_rule() {
	[ $rules = yes ] || return
	before=$(stores_of $victim)
	as $victim timeout 60 "$bin/$wanted" again 0 || bad "a program that a rule wants: status $?"
	for _ in $(seq 50); do
		[ "$(stores_of $victim)" -gt "$before" ] && return
		sleep 0.1
	done
	bad "a program that a rule wants runs unrecorded:" \
		"$(grep "($wanted)" "$tmp/log" | tail -n 1)"
}

# ---- depd ----

fds_of() {
	ls "/proc/$1/fd" 2>/dev/null | wc -l
}

# within WHAT PID KIB DESCRIPTORS
within() {
	local kib fds
	kib=$(resident "$2" RssAnon)
	fds=$(fds_of "$2")
	[ "${kib:-0}" -le "$3" ] || bad "$1 has $kib KiB, at most $3 are allowed"
	[ "$fds" -le "$4" ] || bad "$1 has $fds descriptors, at most $4 are allowed"
}

# look FILE: append the time of `depctl status' to FILE
look() {
	since=${EPOCHREALTIME/./}
	timeout 60 "$DEPCTL" status >/dev/null 2>status.err ||
		bad "depctl status: $(tail -n 1 status.err)"
	took=$(((${EPOCHREALTIME/./} - since) / 1000))
	echo $took >>"$1"
	[ $took -le $((status_limit * slow)) ] || bad "depctl status took $took ms"
	within depd "$depd_pid" "$anon_most" "$fds_most"
	his=$(instance $victim)
	[ -z "$his" ] || within "the victim's instance" "$his" "$his_anon" "$his_fds"
	# A process that has just ended may not be reaped yet.
	for p in $(zombies "$depd_pid"); do
		for _ in $(seq 50); do
			[ -e "/proc/$p" ] || break
			sleep 0.1
		done
		[ ! -e "/proc/$p" ] || bad "a zombie of depd's: $(cat "/proc/$p/comm")"
	done
	# The victim must not see the attacker's sessions.
	as $victim timeout 60 "$DEPCTL" sessions --json >sessions 2>sessions.err ||
		bad "depctl sessions: $(tail -n 1 sessions.err)"
	! grep -q "$tmp/e/\|/stores/$evil/" sessions || bad "the victim sees: $(cat sessions)"
}

# zombies PID: children of that process that have ended
zombies() {
	for p in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		sed -n 's/^State:.*Z.*/'"$p"'/p' "/proc/$p/status" 2>/dev/null
	done
}

# kernel: the kernel's error messages since $kernel_mark
kernel_now() {
	dmesg 2>/dev/null | tail -n 1 | sed 's/^\[ *\([0-9.]*\)\].*/\1/'
}

kernel_since() {
	dmesg 2>/dev/null | sed -n 's/^\[ *\([0-9.]*\)\] /\1 /p' | awk -v t="$1" '$1 > t' |
		grep -E -e 'BUG:|WARNING:|Oops|Call Trace|blocked for more|lockup|Out of memory' \
			-e 'general protection|depd(-user|-tracer|-holder)?\[[0-9]+\]: segfault'
}

# ---- an attack ----

average() {
	awk '{ n += $1 } END { printf "%d", NR ? n / NR + 0.5 : 0 }' "$1"
}

attack() {
	case $1 in
	scribble) as $evil "$bin/attack_scribble" "$each" "$2" "$ADEPT_SOCKET" "$DEPCTL" "$tmp/e" ;;
	random) as $evil "$bin/attack_random" "$each" "$2" "$ADEPT_SOCKET" "$DEPCTL" "$tmp/e" \
		"$bin/suid" ;;
	flood) as $evil "$bin/attack_flood" "$each" "$2" "$ADEPT_SOCKET" "$bin/$wanted" "$tmp/e" \
		$looping ;;
	esac >>attack.out 2>attack.err </dev/null
}

# in_parallel FILE PID: record victims until that process ends; times go to FILE
in_parallel() {
	local n=0
	while kill -0 "$2" 2>/dev/null; do
		one >>"$1"
		# Slow checks are done every second time.
		if [ $((n++ % 2)) = 0 ]; then
			look status.attack
		else
			by_rule
		fi
		# A user may start eight sessions per second.
		sleep 0.2
	done
}

# loaded FILE N: the same in parallel with the busy loops of that attack, N fewer
loaded() {
	as $evil "$bin/attack_load" replay running "$2" &
	loops=$!
	while kill -0 $loops 2>/dev/null; do
		one >>"$1"
		by_rule
		look status.load
		sleep 0.2
	done
	wait $loops || bad "the busy loops ended with status $?"
	loops=
}

p95() {
	sort -n "$1" | awk '{ t[NR] = $1 } END { print t[int((NR * 95 + 99) / 100)] }'
}

# leftovers: the attacker's processes, except those of depd
leftovers() {
	named '[^d].*|d[^e].*'
}

attacked() {
	rm -f bad times.attack times.load status.attack status.load running attack.out
	mark=$(kernel_now)
	# Repeat on a busy machine that made few recordings.
	for turn in $(seq $((turns + 4))); do
		[ "$turn" -le "$turns" ] || [ "$(wc -l <times.attack)" -lt 5 ] || break
		attack "$1" $((seed + turn)) &
		attacker=$!
		rm -f running
		"$bin/attack_load" sample running &
		sampler=$!
		in_parallel times.attack $attacker
		wait $attacker || bad "the attacker ended with status $?: $(tail -n 1 attack.err)"
		kill $sampler
		wait $sampler 2>/dev/null
		[ "$LONG" != 1 ] || loaded times.load "$(average quiet)"
	done
	for _ in $(seq 100); do
		[ -z "$(leftovers)" ] && break
		sleep 0.1
	done
	[ -z "$(leftovers)" ] || bad "processes are left: $(leftovers | head -n 5 | tr '\n' ' ')"
	# A process with additional privileges has no engine (judge.sh).  In a user namespace the
	# real id is 0, too.
	raised='uid [1-9][0-9]* 0 .* engine yes$|secure 1 engine yes$'
	! grep -qE "$raised" attack.out || bad "an engine in $(grep -m 1 -E "$raised" attack.out)"
	kernel_since "$mark" >kernel && bad "the kernel: $(head -n 1 kernel)"
	kill -0 "$depd_pid" 2>/dev/null || bad "depd is dead: $(tail -n 1 "$tmp/log")"
	rounds=$(wc -l <times.attack)
	if [ -s bad ]; then
		fail "$1 (seed $seed): $(sort bad | uniq -c | sort -rn | head -n 4 | tr '\n' ';')"
	else
		pass "$1: nothing happens to $rounds recordings of another user"
	fi
	[ "$LONG" = 1 ] || return
	now=$(p95 times.attack) load=$(p95 times.load)
	# Clock granularity and scheduling are not depd's fault.
	[ "$now" -le $((2 * load + 30 * slow)) ] &&
		pass "$1: 95th percentile $now ms, with as many busy loops $load ms" ||
		fail "$1: 95th percentile $now ms, with as many busy loops $load ms"
	now=$(p95 status.attack) load=$(p95 status.load)
	[ "$now" -le $((usual * slow)) ] || [ "$now" -le $((2 * load)) ] &&
		pass "$1: status takes $now ms, with as many busy loops $load ms" ||
		fail "$1: status takes $now ms, with as many busy loops $load ms"
}

# hoard: stop the attacker's instance while 400 of her processes are pending.  One user must not use
# all of depd's capacity.
hoard() {
	local missed most=0 n
	[ $rules = yes ] || return
	rm -f bad
	as $evil timeout 60 "$DEPCTL" sessions >/dev/null 2>&1
	pid=$(instance $evil)
	as $evil kill -STOP "$pid"
	kill -STOP "$depd_pid"
	as $evil "$bin/attack_flood" hold 400 "$bin/$wanted" >hold.out 2>&1 &
	job=$!
	for _ in $(seq 200); do
		[ -s hold.out ] && break
		sleep 0.05
	done
	# Wait until each of them has called execve.
	sleep 1
	kill -CONT "$depd_pid"
	for _ in $(seq 30); do
		n=$(fds_of "$depd_pid")
		[ "$n" -le $most ] || most=$n
		sleep 0.05
	done
	[ $most -le $fds_most ] || bad "depd had $most descriptors, at most $fds_most are allowed"
	by_rule
	look status.hoard
	as $evil kill -CONT "$pid"
	kill -9 $(named "attack_flood|$wanted") 2>/dev/null
	wait $job 2>/dev/null
	# Some processes of each user are logged, the others are counted.
	missed=$(grep -c "($wanted) runs unrecorded" "$tmp/log")
	[ "$missed" -le 250 ] || bad "$missed lines in the log"
	[ -s bad ] && fail "400 held processes: $(head -n 2 bad | tr '\n' ';')" ||
		pass "400 held processes of one user: depd had $most descriptors"
}

cd "$tmp" || exit 1
chmod 755 "$tmp"
bin=$tmp/bin
mkdir "$bin" v e
flags="-O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -pthread -I$top/include"
for p in attack_scribble attack_random attack_flood attack_load judged; do
	gcc $flags -o "$bin/$p" "$tests/breach/$p.c" || {
		fail "$p cannot be built"
		finish
	}
done
cp "$bin/judged" "$bin/suid" && chmod 4755 "$bin/suid"
cp "$bin/attack_flood" "$bin/$wanted"
text 3000 >v/text
chown $victim:$victim v v/text
chown $evil:$evil e
printf '[rule attacked]\ncomm = %s\nring-size = 1M\n' "$wanted" >conf
start || finish
chmod 755 "$run"
"$DEPCTL" status --json >status 2>&1
rules=no
if grep -q '"active":true' status; then
	rules=yes
else
	skip "rules do not work here: $(sed 's/.*"policy_error":\("[^"]*"\).*/\1/' status)"
fi
cat v/text >out
echo "seed $seed"

# Without an attack: the expected results.
record >/dev/null || fail "the victim, in quiet: $(tail -n 1 v/err)"
refs=$(references)
"$bin/attack_load" sample quiet &
sampler=$!
for _ in 1 2 3 4 5; do
	one >/dev/null
	sleep 0.2
done
kill $sampler
by_rule
[ ! -e bad ] || fail "the victim, in quiet: $(head -n 1 bad)"
# Maximum that a user can have at the front, by daemon/base/account.h: 64 waiting clients, 128
# pending processes, 4 instances with 4 descriptors; plus 16 for clients that are just being
# refused.
anon_most=$(($(resident "$depd_pid" RssAnon) + 8192))
fds_most=$(($(fds_of "$depd_pid") + 64 + 128 + 16 + 16))
his=$(instance $victim)
his_anon=$(($(resident "$his" RssAnon) + 8192)) his_fds=$(($(fds_of "$his") + 32))

for name in ${ATTACKS:-scribble random flood}; do
	attacked "$name"
done

hoard

if [ "$LONG" = 1 ]; then
	# An idle instance exits after a minute.
	for _ in $(seq 120); do
		[ -z "$(of_user $evil)" ] && break
		sleep 1
	done
	[ -z "$(of_user $evil)" ] && pass "nothing is left of the attacker" ||
		fail "left of the attacker: $(cat /proc/"$(of_user $evil | head -n 1)"/status |
			head -n 3 | tr '\n' ' ')"
fi
since=$SECONDS
term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
# If the machine is too busy for an instance depd waits for 10 seconds; then its holder stays, for
# the next depd.
kept=
[ $((SECONDS - since)) -lt 10 ] || kept=depd-holder
# Tracers and holder notice that their instance has ended.
left() {
	for p in $(of_user $evil) $(of_user $victim); do
		read -r comm <"/proc/$p/comm" && [ "$comm" != "$kept" ] && echo "$comm"
	done 2>/dev/null
}
for _ in $(seq 100); do
	[ -z "$(left)" ] && break
	sleep 0.1
done
[ -z "$(left)" ] && pass "no process is left" || fail "left: $(left | tr '\n' ' ')"
finish
