#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real depd: recordings through it equal those without it; depd is killed and continues; programs
# that corrupt their session, full disks, users without permission.
. "$(dirname "$0")/lib.sh"
need_depctl
DEPD=${DEPD:-$build/depd}
[ -x "$DEPD" ] || {
	skip "no depd at $DEPD"
	finish
}
run=$tmp/run
export ADEPT_SOCKET=$run/depd.sock
depd_pid=

# start ARGUMENT...: start a depd for this suite
start() {
	"$DEPD" --config="$tmp/conf" --rundir="$run" --store="$tmp/stores" "$@" 2>>"$tmp/log" &
	depd_pid=$!
	ready
}

ready() {
	for _ in $(seq 600); do
		"$DEPCTL" status >/dev/null 2>"$tmp/status" && return 0
		sleep 0.05
	done
	fail "depd does not answer: $(cat "$tmp/status"); $(tail -n 1 "$tmp/log");" \
		"it waits in $(cat "/proc/$depd_pid/wchan")"
}

kill_depd() {
	kill -9 "$depd_pid"
	wait "$depd_pid" 2>/dev/null
}

end() {
	kill "$depd_pid" 2>/dev/null
	wait "$depd_pid" 2>/dev/null
}
clean_up() {
	kill -9 "$depd_pid" 2>/dev/null
	helpers | xargs -r kill -9 2>/dev/null
	rm -rf "$tmp"
}
trap clean_up EXIT

# helpers: pids of depd's helper processes, whose last argument is in the run directory
helpers() {
	grep -lazE "^$run(/user/[-0-9a-f]+)?\$" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
}

# children_of PID: children of depctl, except the signal witness
children_of() {
	local pid
	for pid in $(cat "/proc/$1/task/$1/children"); do
		[ "$(cat "/proc/$pid/comm")" = depctl-witness ] || echo "$pid"
	done
}

# refs STORE: its references, without the numbers of threads
refs() {
	"$DEPCTL" dump --refs --fields=pc,address,size,type "$1" 2>&1
}

# by_depd OPTION... -- COMMAND...: depctl record with a fixed environment
by_depd() {
	clean ADEPT_SOCKET="$ADEPT_SOCKET" "$DEPCTL" record -q --no-aslr "$@"
}

# images STORE: a checksum of each program that a shell executed, sorted; the order of their starts
# and ends varies
images() {
	local threads=$1.threads
	rm -rf "$threads"
	mkdir "$threads"
	"$DEPCTL" dump --refs "$1" 2>&1 |
		awk -v threads="$threads" -v shell="$("$DEPCTL" ls "$1" |
			sed -n 's/^process \([0-9]*\) *launch.*/\1/p')" \
			'$1 != shell { f = threads "/" $1; $1 = ""; print > f }'
	md5sum "$threads"/* | cut -d' ' -f1 | sort
	rm -rf "$threads"
}

# good NAME STORE
good() {
	timeout 120 "$DEPCTL" verify -q "$2" >"$tmp/verify" 2>&1 && return 0
	fail "$1: $(head -n 1 "$tmp/verify")"
	return 1
}

# check STATUS NAME [WHY]: pass $? as STATUS, before a command substitution in WHY changes it
check() {
	if [ "$1" = 0 ]; then
		pass "$2"
	else
		fail "$2: ${3:-}"
	fi
}

# field NAME FILE: print a number of depctl's JSON
field() {
	sed -n "s/.*\"$1\":\([-0-9]*\).*/\1/p" "$2" | head -n 1
}

touch "$tmp/conf"
text 1000000 >"$tmp/text"
head -c 20000 "$tmp/text" >"$tmp/small"
head -c 20000 "$tmp/text" >"$tmp/tiny"
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
start

# A recording by depd equals one by depctl.
for size in 64K 4M; do
	by_depd --alone -o a.dep -- gzip -c small >a.out 2>a.err
	by_depd --ring-size=$size \
		-o b.dep -- gzip -c small >b.out 2>b.err
	s=$?
	if [ $s != 0 ] || ! cmp -s a.out b.out; then
		fail "gzip by depd, $size: status $s, $(cat b.err)"
	elif ! cmp -s <(refs a.dep) <(refs b.dep); then
		fail "gzip by depd, $size: the references differ"
	else
		good "gzip, $size" b.dep && pass "gzip by depd, ring of $size"
	fi
	rm -rf a.dep b.dep
done

# Status and output are those of the command.
"$DEPCTL" record -q -o x.dep -- sh -c 'exit 7'
[ $? = 7 ]
check $? "exit status"
"$DEPCTL" record -q -o y.dep -- sh -c 'kill -TERM $$' 2>/dev/null
[ $? = 143 ]
check $? "ended by a signal"
"$DEPCTL" record -q -o z.dep -- /no/such/command 2>err
[ $? = 127 ] && [ ! -e z.dep ]
check $? "no such command, no store" "$(cat err)"
"$DEPCTL" record -q -o x.dep -- true 2>err
[ $? = 1 ] && grep -q "exists" err
check $? "a store that exists" "$(cat err)"
good "exit" x.dep && good "signal" y.dep && pass "both stores"
rm -rf x.dep y.dep
# depctl and depd have the same names for the areas of the engine's log.
DEP_LOG=all "$DEPCTL" record -q -o x.dep -- \
	sh -c 'trap : USR1; kill -USR1 $$; /bin/true; :' 2>err &&
	"$DEPCTL" dump --log x.dep | cut -d ' ' -f 4 | sort -u >areas &&
	[ "$(xargs <areas)" = "exec memory signal thread translate" ]
check $? "DEP_LOG" "$(cat err) $(xargs <areas)"
rm -rf x.dep

# Many recordings at the same time.
for i in $(seq 20); do
	"$DEPCTL" record -q -o "m$i.dep" -- gzip -c small >/dev/null 2>"m$i.err" &
	jobs[i]=$!
done
bad=0
for i in $(seq 20); do
	wait "${jobs[i]}" || bad=$((bad + 1))
	"$DEPCTL" verify -q "m$i.dep" >/dev/null 2>&1 || bad=$((bad + 1))
done
[ $bad = 0 ]
check $? "20 at a time" "$bad went wrong"
rm -rf m*.dep

# If depd is killed before it responds, the request is repeated to the next depd.
# asked_again NAME COMMAND...: COMMAND kills depd, and depctl's recording continues
asked_again() {
	name=$1
	shift
	rm -rf q.dep
	"$DEPCTL" record -q -o q.dep -- echo text >q.out 2>q.err &
	job=$!
	"$@"
	kill_depd
	start
	wait $job
	s=$?
	if [ $s != 0 ] || [ "$(cat q.out)" != text ] || [ -s q.err ]; then
		fail "$name: status $s, $(tail -n 1 q.err)"
	else
		good "$name" q.dep && pass "$name"
	fi
}
kill -STOP "$depd_pid"
asked_again "killed before it has read a request" sleep 0.5
for i in $(seq $([ "$LONG" = 1 ] && echo 50 || echo 3)); do
	asked_again "killed at some time of a request, $i" \
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
done

# instance: pid of the process of root's depd that has root's sessions
instance() {
	for p in $(helpers); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != depd-user ] || echo "$p"
	done
}

# after NAME KILLER: KILLER kills only the instance, and root's depd starts another one
after() {
	rm -rf q.dep
	"$DEPCTL" record -q -o q.dep -- echo text >q.out 2>q.err &
	job=$!
	wait "$2"
	wait $job
	s=$?
	if [ $s != 0 ] || [ "$(cat q.out)" != text ] || [ -s q.err ]; then
		fail "$1: status $s, $(tail -n 1 q.err)"
	else
		good "$1" q.dep
	fi
}

# The same at system calls during and after a request, until the kill is too late.
step=$([ "$LONG" = 1 ] && echo 1 || echo 29)
for whom in depd instance; do
	for ((n = 1 + RANDOM % step; n < 1000; n += step)); do
		before=$failed
		victim=$depd_pid
		# Without a front there is no instance, and depd does all of it.
		[ $whom = depd ] || victim=$(instance)
		[ -n "$victim" ] || break
		"$build/programs/kill_at" "$victim" "$n" >killed_at 2>&1 &
		killer=$!
		for _ in $(seq 200); do
			grep -q ready killed_at && break
			sleep 0.01
		done
		rm -rf q.dep
		if [ $whom = depd ]; then
			QUIET=1 asked_again "killed at system call $n of a request" wait $killer
		else
			after "its instance killed at system call $n of a request" $killer
			# Otherwise it is restarted with a longer delay each time.
			[ $((n / step % 3)) != 2 ] || {
				kill_depd
				start
			}
		fi
		grep -q "was killed" killed_at || break
		[ "$failed" = "$before" ] || break
	done
	if ! grep -q ready killed_at; then
		skip "$whom killed at each system call: $(cat killed_at)"
	elif [ "$failed" = "$before" ]; then
		pass "$whom killed at system calls up to number $n of a request"
	fi
done
rm -rf q.dep

# recording: wait until k.dep is being recorded
recording() {
	for _ in $(seq 400); do
		"$DEPCTL" sessions --json 2>&1 | grep -q '"state":"recording"' && return
		sleep 0.02
	done
}

# killed NAME KILLS HOW COMMAND..: depd is killed and restarted while COMMAND runs; HOW: refs,
# images
killed() {
	name=$1 kills=$2 how=$3
	shift 3
	rm -rf k.dep
	by_depd -o k.dep -- "$@" \
		>k.out 2>k.err &
	job=$!
	recording
	for _ in $(seq "$kills"); do
		sleep "0.$((RANDOM % 40 + 10))"
		kill_depd
		sleep "0.0$((RANDOM % 9 + 1))"
		start
	done
	wait $job
	s=$?
	by_depd --alone -o w.dep -- "$@" >w.out 2>/dev/null
	if [ $s != 0 ] || ! cmp -s k.out w.out; then
		fail "$name: status $s, $(tail -n 1 k.err)"
	elif [ -z "$($how w.dep | head -c 1)" ]; then
		fail "$name: there are no references"
	elif ! good "$name" k.dep; then
		:
	elif ! cmp -s <($how k.dep) <($how w.dep); then
		fail "$name: the references differ"
	else
		pass "$name: whole after $kills kills of depd"
	fi
	rm -rf w.dep
}
killed "gzip" 3 refs gzip -c text
killed "perl" 4 refs perl -e 'my %h; for (1..400000) { $h{$_ % 1000} += $_ } print $h{7}, "\n"'
# No pipes: the sizes of reads from a pipe depend on timing.
children='for i in 1 2 3 4 5 6 7 8; do gzip -c tiny; wc -c tiny; done'
killed "children" 4 images sh -c "$children"
[ "$LONG" = 1 ] && for i in $(seq 20); do
	killed "gzip $i" 6 refs gzip -c text
	killed "children $i" 4 images sh -c "$children"
done

# A dying depd still holds the store's lock when the next one starts.
rm -rf k.dep
by_depd -o k.dep -- gzip -c text >k.out 2>k.err &
job=$!
recording
! "$build/tests/store_lock" k.dep/fragments 0
check $? "a store in use is locked"
kill_depd
# The lock of the dead depd ends with its last descriptor.
until "$build/tests/store_lock" k.dep/fragments 0; do
	sleep 0.02
done
"$build/tests/store_lock" k.dep/fragments 2 &
sleep 0.1
start
wait $job
s=$?
gzip -c text >w.out
[ $s = 0 ] && cmp -s k.out w.out && ! grep -q 'cannot be adopted' "$tmp/log"
check $? "a lock that outlasts depd" "status $s, $(cmp k.out w.out 2>&1) $(tail -n 1 k.err)" \
	"$(grep 'cannot be adopted' "$tmp/log")"
good "a lock that outlasts depd" k.dep

# Killed while it cleans up an ended session: only the state file is left.
rm -rf k.dep
by_depd -o k.dep -- gzip -c text >k.out 2>k.err &
job=$!
recording
state=$(find "$run" -name 'session-[0-9]*' -type f | head -n 1)
cp -p "$state" state
wait $job
cp k.dep/manifest.json before
kill_depd
until "$build/tests/store_lock" k.dep/fragments 0; do
	sleep 0.02
done
cp -p state "$state"
start
[ -n "$state" ] && [ ! -e "$state" ]
check $? "an ended session's state file is removed" "$(ls "${state%/*}")"
check "$(grep -q 'cannot be adopted' "$tmp/log"; echo $((1 - $?)))" \
	"an ended session is not taken for a lost one" "$(grep 'cannot be adopted' "$tmp/log")"
cmp -s before k.dep/manifest.json
check $? "its manifest is as it was" "$(diff before k.dep/manifest.json)"
good "an ended session's state file is left" k.dep

tracer() {
	for p in $(helpers); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != depd-tracer ] || echo "$p"
	done
}

# Kill the tracer during many execs; a new depd uses the results of the old tracer.
kill_tracer() {
	for p in $(tracer); do
		kill -9 "$p"
	done
}

kill_both() {
	kill_tracer
	kill_depd
	start
}

kill_and_start() {
	kill_depd
	start
}

# storm EXECS KILLS HOW: sets $s, $images (recorded), $native
storm() {
	rm -rf k.dep
	"$DEPCTL" record -q -o k.dep -- sh -c 'i=0; while [ $i -lt '"$1"' ]; do
		/bin/true || echo "true: $?"; i=$((i + 1)); done; exec echo end' >k.out 2>k.err &
	job=$!
	recording
	for _ in $(seq "$2"); do
		sleep "0.$((RANDOM % 40 + 10))"
		"$3"
	done
	wait $job
	s=$?
	images=$("$DEPCTL" ls k.dep | grep -c ^process)
	"$DEPCTL" info --json k.dep >k.json
	native=$(($(field native_images k.json) + $(field lost_processes k.json)))
}
rounds=1
[ "$LONG" = 1 ] && rounds=10
for i in $(seq $rounds); do
	storm 300 10 kill_and_start
	if [ $s != 0 ] || [ "$(cat k.out)" != end ] || [ -s k.err ]; then
		fail "storm of execs: status $s, $(tail -n 1 k.out) $(tail -n 1 k.err)"
	elif [ "$images" != 302 ] || [ "$native" != 0 ]; then
		fail "storm of execs: $images of 302 images, $native native"
	else
		good "storm" k.dep && pass "storm of execs: all recorded after 10 kills of depd"
	fi
done

# good_but_lost NAME: only images that the tracer was handling may be lost
good_but_lost() {
	timeout 120 "$DEPCTL" verify k.dep >"$tmp/verify" 2>&1 && return
	[ "$(field lost_processes k.json)" -gt 0 ] && grep -q "ran unrecorded" "$tmp/verify" &&
		! grep -qvE "ran unrecorded|NOT COMPLETE$" "$tmp/verify" && return
	fail "$1: $(tr '\n' ' ' <"$tmp/verify" | cut -c 1-200)"
	return 1
}

# Kill only the tracer: programs that it is handling may die, others are not affected.
for how in kill_tracer kill_both; do
	storm 100 3 $how
	died=$(grep -c "^true" k.out)
	if [ $s != 0 ] || [ "$(tail -n 1 k.out)" != end ] || [ "$died" -gt 3 ]; then
		fail "$how: status $s, $died died, $(tail -n 1 k.out)"
	elif [ $((images + native + died)) -lt 102 ]; then
		fail "$how: $images of 102 images, $native native, $died died"
	elif [ "$(tracer | wc -l)" != 1 ]; then
		fail "$how: $(tracer | wc -l) tracers"
	else
		good_but_lost "$how" &&
			pass "$how: $images images recorded, $native native, $died died"
	fi
done
grep -q "has ended: programs whose execve" "$tmp/log" || fail "the tracer's end is not logged"

# A hanging tracer is detected and killed.
stop_tracer() {
	kill -STOP "$(tracer)"
}
hung=$(tracer)
storm 100 1 stop_tracer
died=$(grep -c "^true" k.out)
if [ $s != 0 ] || [ "$(tail -n 1 k.out)" != end ] || [ "$died" -gt 1 ]; then
	fail "a tracer that hangs: status $s, $died died, $(tail -n 1 k.out)"
elif [ $((images + native + died)) -lt 102 ]; then
	fail "a tracer that hangs: $images of 102 images, $native native, $died died"
elif [ "$(tracer | wc -l)" != 1 ] || [ "$(tracer)" = "$hung" ]; then
	fail "a tracer that hangs is not replaced"
else
	good_but_lost "a tracer that hangs" &&
		pass "a tracer that hangs: $images images recorded, $native native, $died died"
fi
grep -q "has not answered for" "$tmp/log" || fail "a tracer that hangs is not logged"
rm -rf k.dep

# Programs continue without depd, and the loss is reported.
end
start --give-up=1s
"$DEPCTL" record -q --ring-size=64K -o gap.dep -- perl -e \
	'my $e = time + 6; my $n; while (time < $e) { $n++ } print "done\n"' >gap.out 2>gap.err &
job=$!
sleep 1.5
kill_depd
sleep 3
start --give-up=1s
wait $job
# Thousands of small segments: the store is closed when no session is left.
for _ in $(seq 300); do
	"$DEPCTL" sessions --json 2>&1 | grep -q '"state"' || break
	sleep 0.1
done
if [ "$(cat gap.out)" != done ]; then
	fail "without depd: $(cat gap.err)"
else
	"$DEPCTL" verify gap.dep >gap.verify 2>&1
	"$DEPCTL" info --json gap.dep >gap.json
	if [ "$(field absent_chunks gap.json)" -gt 0 ] && grep -q "no collector ran" gap.verify &&
	   ! grep -qE "seam|corrupt|value" gap.verify; then
		pass "a gap is stated: $(field absent_bytes gap.json) bytes"
	else
		fail "a gap is not stated: $(head -n 3 gap.verify | tr '\n' ' ')"
	fi
fi
rm -rf gap.dep

# Only the holder dies: a new one gets the sessions, and the next depd adopts them.
holder() {
	for p in $(helpers); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != depd-holder ] || echo "$p"
	done
}

kill_holder() {
	holder | xargs -r kill -9
}
end
start
"$DEPCTL" record -q -o keep.dep -- sh -c 'sleep 2; exec gzip -c small' >keep.out 2>keep.err &
job=$!
recording
kill_holder
"$DEPCTL" record -q -o new.dep -- true 2>err
check $? "a recording begins after the holder's death" "$(cat err)"
kill_depd
start
wait $job
s=$?
[ $s = 0 ] && [ ! -s keep.err ] && grep -q "a new one has the session files" "$tmp/log"
check $? "the holder was killed, then depd" "status $s, $(cat keep.err)"
good "the holder was killed, then depd" keep.dep
rm -rf keep.dep new.dep

# No process holds the session: its program does not wait until it gives up.
end
start --give-up=90s
"$DEPCTL" record -q --ring-size=64K -o lost.dep -- perl -e \
	'my $n; for (1 .. 3000000) { $n += $_ } print "done\n"' >lost.out 2>lost.err &
job=$!
recording
# All at once, since otherwise another holder is started.
kill -9 "$depd_pid" $(instance) $(holder)
wait "$depd_pid" 2>/dev/null
begun=$SECONDS
wait $job
s=$?
took=$((SECONDS - begun))
start --give-up=90s
[ $s = 1 ] && [ "$(cat lost.out)" = done ] && grep -q "holder were killed" lost.err &&
	[ $took -lt 60 ]
check $? "the holder was killed as well: the program goes on" \
	"status $s after $took s, $(cat lost.err)"
rm -rf lost.dep
# The same without a store: a session of which nothing is left.
"$DEPCTL" record -q --null -- sh -c 'sleep 3; echo done' >lost.out 2>lost.err &
job=$!
recording
kill -9 "$depd_pid" $(instance) $(holder)
wait "$depd_pid" 2>/dev/null
start --give-up=2s && ! grep -q "signal 11" "$tmp/log"
check $? "lost sessions do not stop the next depd" "$(grep "signal 11" "$tmp/log" | tail -n 1)"
wait $job
end
start

# Programs that corrupt the memory that they share with depd lose their own session only.
for how in head tail page table desc; do
	"$DEPCTL" record -q -o other.dep -- gzip -c small >/dev/null 2>other.err &
	job=$!
	timeout 60 "$DEPCTL" record -q -o bad.dep -- "$build/programs/corrupt_ring" $how \
		>bad.out 2>bad.err
	s=$?
	wait $job
	t=$?
	if [ $s = 124 ] || [ $s = 137 ]; then
		fail "corrupted $how: it hangs"
	elif ! kill -0 "$depd_pid" 2>/dev/null; then
		fail "corrupted $how: depd died: $(tail -n 1 "$tmp/log")"
		start
	elif [ $t != 0 ] || ! good "in parallel with $how" other.dep; then
		fail "corrupted $how: another session suffered: $(cat other.err)"
	elif "$DEPCTL" info bad.dep >/dev/null 2>&1; then
		pass "corrupted $how: $(head -n 1 bad.err | cut -c 1-60)"
	else
		fail "corrupted $how: its store cannot be read"
	fi
	rm -rf bad.dep other.dep
done
"$DEPCTL" record -q -o stop.dep -- "$build/programs/corrupt_ring" stop >/dev/null 2>&1 &
job=$!
sleep 0.7
"$DEPCTL" record -q -o other.dep -- true && good "with a stopped one" other.dep &&
	pass "in parallel with a stopped program"
children_of $job | xargs -r kill -CONT
wait $job
good "stopped" stop.dep && pass "a program that was stopped"
rm -rf other.dep stop.dep

# The store's disk is full.
mkdir -p full
if mount -t tmpfs -o size=600k none full 2>/dev/null; then
	"$DEPCTL" record -q -o full/f.dep -- \
		perl -e 'my $n; for (1..9000000) { $n += $_ % 7 } print $n' >f.out 2>f.err
	s=$?
	"$DEPCTL" record -q -o free.dep -- gzip -c small >/dev/null 2>free.err
	t=$?
	if [ $s != 1 ] || [ ! -s f.out ] || ! grep -q "stopped" f.err; then
		fail "disk full: status $s, $(cat f.err)"
	elif [ $t != 0 ] || ! good "with a full disk" free.dep; then
		fail "disk full: another session suffered"
	else
		"$DEPCTL" info full/f.dep >/dev/null 2>f.info
		check $? "disk full: $(head -n 1 f.err)" "$(cat f.info)"
	fi
	umount full
else
	skip "disk full: no file system can be mounted here"
fi
rm -rf free.dep

# Listing and stopping sessions.
"$DEPCTL" record -q -o s.dep -- sleep 30 2>s.err &
job=$!
for _ in $(seq 100); do
	"$DEPCTL" sessions --json >s.json 2>&1
	grep -q '"state":"recording"' s.json && break
	sleep 0.05
done
id=$(field id s.json)
if "$DEPCTL" sessions | grep -q sleep && "$DEPCTL" status | grep -q . &&
   "$DEPCTL" metrics | grep -q '^# EOF'; then
	pass "status, sessions, metrics"
else
	fail "status, sessions or metrics: $(cat s.json)"
fi
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp" "$run"
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	$nobody "$DEPCTL" sessions >other 2>&1
	! grep -q sleep other
	check $? "another user does not see the session"
	! $nobody "$DEPCTL" stop "$id" >other 2>&1
	check $? "another user cannot stop the session"
fi
"$DEPCTL" stop "$id" >stop.out 2>&1 || fail "stop: $(cat stop.out)"
for _ in $(seq 100); do
	[ "$(field id <("$DEPCTL" sessions --json))" = "$id" ] || break
	sleep 0.05
done
sleeper=$(children_of $job)
[ -n "$sleeper" ] && kill -0 "$sleeper"
check $? "stopped, and the program goes on"
[ -z "$sleeper" ] || kill "$sleeper"
wait $job
good "stopped session" s.dep && pass "the store of a stopped session"
rm -rf s.dep

# depd is ended: it closes stores, and programs continue.
"$DEPCTL" record -q -o e.dep -- sh -c 'sleep 2; echo went on' >e.out 2>e.err &
job=$!
sleep 0.7
end
"$DEPCTL" verify e.dep >e.verify 2>&1
s=$?
grep -q unclean e.verify && fail "depd ended and left a store open"
wait $job
grep -q "went on" e.out && [ $s -le 1 ]
check $? "depd ends: the program goes on, the store is closed" "$(cat e.out e.verify | head -n 2)"
rm -rf e.dep
! ls -R "$run" | grep -q session-
check $? "nothing is left" "$(ls -R "$run")"
finish
