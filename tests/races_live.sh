#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Live analysis: its report equals that of a later query, suspected races are printed at once, and
# the recording continues whatever happens to the analysis: races_live.sh [KIND...]
. "$(dirname "$0")/lib.sh"
. "$tests/races/cases.sh"
need_depctl
have gcc && have g++ || finish
unset ADEPT_SOCKET TMPDIR
out=$build/races
again="live analysis failed"
mkdir -p "$out"

# live PROGRAM DIR OPTION...: record into DIR; the live report is DIR.live, that of a query
# DIR.later
live() {
	local program=$1 dir=$2
	shift 2
	timeout -k 5 60 "$DEPCTL" record -q --alone --transport=shm -o "$dir" --races --live \
		--json --report "$dir.live" "$@" -- $program >"$dir.out" 2>"$dir.err"
}

# same SOURCE VARIANT RING JOBS
same() {
	set -- "$races/$1" "${@:2}"
	local name=${1##*/} what program dir need
	what="$name, $2, rings of $3, $4 jobs"
	program=$out/${name%.*}.$2.O2
	dir=$tmp/${name%.*}.$2.$3.$4
	if need=$(unfit "$1"); then
		echo "SKIP $what: the processor has no $need"
	elif ! "$races/build.sh" "$1" "$2" O2 "$program" 2>"$dir.err"; then
		echo "FAIL $what: does not compile: $(worst "$dir.err")"
	elif ! live "$program" "$dir" --ring-size="$3" -j "$4"; then
		echo "FAIL $what: the recording ended badly: $(worst "$dir.err")"
	elif ! timeout -k 5 60 "$DEPCTL" query races --json -j "$4" "$dir" \
		>"$dir.later" 2>"$dir.err2"; then
		echo "FAIL $what: query races: $(worst "$dir.err2")"
	elif ! cmp -s "$dir.live" "$dir.later"; then
		echo "FAIL $what: the answers differ"
	elif grep -q "$again" "$dir.err"; then
		echo "FAIL $what: it was not followed to the end"
	# races between processes are only found at the end
	elif [ "${name#process_}" = "$name" ] && grep -q '"kind":"race"' "$dir.later" &&
		! grep -q "suspected race" "$dir.err"; then
		echo "FAIL $what: nothing was reported at once"
	else
		echo "ok $what"
	fi
	rm -rf "$dir" "$dir".*
}

cases() {
	local src ring jobs
	for src in $(chosen "$@"); do
		for ring in 64K 4M; do
			for jobs in 1 2; do
				echo "$src racy $ring $jobs"
				echo "$src right $ring $jobs"
			done
		done
	done
}

[ $# != 0 ] || set -- mutex_plain mutex_robust rwlock_write cond_signal sem_unnamed barrier_wait \
	tls_own c11_once atomic_exchange spin_lock heap_free_early kernel_pipe kernel_futex \
	kernel_epoll cpp_mutex process_fork
known "$@"
spread same < <(cases "$@")

cd "$tmp" || exit 1
gcc -O1 -g -pthread -o prog "$tests/programs/race_live.c" || exit 1

# ---- while all threads sleep ----
"$DEPCTL" record --alone --transport=shm -o early.dep --races --live -- ./prog 4 \
	>early.out 2>early.err &
recorder=$!
reported=
for ((i = 0; i < 60 && ${reported:-0} == 0; i++)); do
	sleep 0.1
	grep -q "suspected race.*counter" early.err && reported=1
done
if [ -n "$reported" ] && ! grep -q over early.out; then
	pass "a race is reported while all threads wait"
else
	fail "a race is reported while all threads wait: $(worst early.err)"
fi
wait $recorder
if grep -q "^race: .*counter" early.err && ! grep -q "$again" early.err; then
	pass "the report comes at the end"
else
	fail "the report comes at the end: $(worst early.err)"
fi
timeout 60 "$DEPCTL" query races early.dep >early.later 2>&1
if [ -s early.later ] && sed '1,/^over/d' early.err | grep -Fvx -f early.later |
	grep -q "^race"; then
	fail "text is that of a query"
else
	pass "text is that of a query"
fi

# ---- sleeping threads are followed to their end ----
gcc -O1 -g -pthread -o asleep "$tests/programs/race_asleep.c" || exit 1
# asleep HOW: the program ends in this way
asleep() {
	local dir=asleep.$1
	live "./asleep $1" "$dir" --ring-size=64K
	"$DEPCTL" query races --json "$dir" >"$dir.later" 2>"$dir.err2"
	if ! cmp -s "$dir.live" "$dir.later"; then
		fail "asleep, $1: the answers differ"
	elif ! grep -q '"kind":"race"' "$dir.later"; then
		fail "asleep, $1: there is no race: $(worst "$dir.err")"
	elif grep -q "$again" "$dir.err"; then
		fail "asleep, $1: it was not followed to the end"
	else
		pass "asleep, $1"
	fi
}
for how in return _exit abort killed exec message; do
	asleep $how
done 2>/dev/null

# ---- failures ----
# child: pid of the analysis of the recorder, which is a depctl, too
child() {
	local pid
	for pid in $(cat "/proc/$1/task/$1/children"); do
		[ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$DEPCTL")" ] &&
			[ "$(cat "/proc/$pid/comm")" = depctl ] && echo "$pid"
	done
}

"$DEPCTL" record --alone --transport=shm -o killed.dep --races -- ./prog 2 \
	>killed.out 2>killed.err &
recorder=$!
sleep 0.7
searcher=$(child $recorder)
kill -KILL "$searcher"
wait $recorder
if grep -q over killed.out && grep -q "was killed by signal 9" killed.err &&
	grep -q "^race: .*counter" killed.err; then
	pass "the search is killed: the recording goes on, and is searched at its end"
else
	fail "the search is killed: $(worst killed.err)"
fi

# ---- temporary stores of recorders that were killed ----
mkdir left
ln -s "$tmp/left" left/adept-races-linked
mkdir -m 700 left/adept-races-foreign
touch left/adept-races-foreign/file
TMPDIR=$PWD/left setsid "$DEPCTL" record --alone --transport=shm --races -- sleep 60 \
	>/dev/null 2>&1 &
killed=$!
for _ in $(seq 200); do
	ls left/adept-races-*/races.dep/fragments >/dev/null 2>&1 && break
	sleep 0.05
done
TMPDIR=$PWD/left "$DEPCTL" record --alone --transport=shm --races -- true >/dev/null 2>&1
[ "$(ls left/adept-races-*/races.dep/fragments | wc -l)" = 1 ] &&
	pass "the temporary store of a recorder that runs stays" ||
	fail "the temporary store of a recorder that runs: $(ls -R left)"
kill -9 -- "-$killed"
wait "$killed" 2>/dev/null
for _ in $(seq 100); do
	"$build/tests/store_lock" "$(ls -d left/adept-races-*/races.dep)/fragments" 0 && break
	sleep 0.05
done
TMPDIR=$PWD/left "$DEPCTL" record --alone --transport=shm --races -- true >/dev/null 2>&1
[ "$(ls left | tr '\n' ' ')" = "adept-races-foreign adept-races-linked " ] &&
	pass "the temporary store of a recorder that was killed is removed by the next one" ||
	fail "the temporary store of a recorder that was killed: $(ls -R left)"

mkdir orphan
TMPDIR=$tmp/orphan "$DEPCTL" record --alone --transport=shm --races --json --report orphan.live -- \
	./prog 2 >orphan.out 2>orphan.err &
recorder=$!
wait_for 60 eval '[ -e orphan/adept-races-*/races.dep/manifest.json ] &&
	[ -n "$(child $recorder)" ]'
sleep 0.5
searcher=$(child $recorder)
kill -KILL $recorder
wait $recorder 2>/dev/null
wait_for 60 [ ! -e "/proc/$searcher" ]
if grep -q "the recorder was killed" orphan.err &&
	grep -q '"complete":false' orphan.live && [ -z "$(ls -A orphan)" ]; then
	pass "the recorder is killed: its data is analysed, and the store is removed"
else
	fail "the recorder is killed: $(worst orphan.err)"
fi

{ live "./prog 1 killed" dead.dep; } 2>/dev/null
"$DEPCTL" query races --json dead.dep >dead.later
if cmp -s dead.dep.live dead.later && grep -q counter dead.later; then
	pass "a program that is killed"
else
	fail "a program that is killed: $(worst dead.dep.err)"
fi

live "./prog 1" small.dep --max-size=20K
"$DEPCTL" query races --json small.dep >small.later
if cmp -s small.dep.live small.later && grep -q '"complete":false' small.later; then
	pass "a store of bounded size: the same, and not complete"
else
	fail "a store of bounded size: $(worst small.dep.err)"
fi

# on_small_disk DIR COMMAND...: run it with a file system of 100 KB
on_small_disk() {
	# shellcheck disable=SC2016
	unshare -Urm bash -c 'mount -t tmpfs -o size=100k small "$0" && exec "$@"' "$@"
}

# fill: record onto it, and query there
fill() {
	timeout -k 5 60 "$DEPCTL" record -q --alone --transport=shm -o full/s.dep --races --json \
		--report full.live -- ./prog 1 >full.out 2>full.err
	"$DEPCTL" query races --json full/s.dep >full.later
}
export -f fill
export DEPCTL

mkdir full
if ! on_small_disk full true 2>full.err; then
	skip "a full disk: $(worst full.err)"
elif on_small_disk full bash -c fill
	grep -q over full.out && grep -q "recording has stopped, the command goes on" full.err &&
	cmp -s full.live full.later && grep -q '"complete":false' full.later; then
	pass "a full disk: the command goes on, and what is missing is said"
else
	fail "a full disk: $(worst full.err)"
fi

mkdir temporary
if TMPDIR=$PWD/temporary timeout 60 "$DEPCTL" record --alone --transport=shm --races -- ./prog 0 \
	>tmp.out 2>tmp.err && rmdir temporary; then
	pass "a temporary store goes"
else
	fail "a temporary store goes: $(worst tmp.err)"
fi
# ---- depd's ----
DEPD=${DEPD:-$build/depd}
if [ ! -x "$DEPD" ]; then
	skip "no depd at $DEPD"
	finish
fi
export ADEPT_SOCKET=$tmp/run/depd.sock
touch conf
"$DEPD" --config=conf --rundir="$tmp/run" --store="$tmp/stores" 2>depd.log &
depd=$!
for ((i = 0; i < 100; i++)); do
	"$DEPCTL" status >/dev/null 2>&1 && break
	sleep 0.05
done

if timeout 60 "$DEPCTL" record -q --transport=shm -o by_depd.dep --races --live --json \
	--report by_depd.live -- ./prog 0 >by_depd.out 2>by_depd.err &&
	"$DEPCTL" query races --json by_depd.dep >by_depd.later &&
	cmp -s by_depd.live by_depd.later && grep -q counter by_depd.later &&
	! grep -q "$again" by_depd.err; then
	pass "through depd"
else
	fail "through depd: $(worst by_depd.err)"
fi

"$DEPCTL" record -q --transport=shm -o session.dep -- ./prog 3 >session.out 2>session.err &
recorder=$!
sleep 0.7
id=$("$DEPCTL" sessions --json | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
timeout 60 "$DEPCTL" query races --json --live "$id" >session.live 2>session.suspects &
query=$!
reported=
for ((i = 0; i < 20 && ${reported:-0} == 0; i++)); do
	sleep 0.1
	grep -q "suspected race.*counter" session.suspects && reported=1
done
if [ -n "$reported" ] && ! grep -q over session.out; then
	pass "a session that is under way"
else
	fail "a session that is under way: $(worst session.suspects)"
fi
wait $query
status=$?
wait $recorder
"$DEPCTL" query races --json session.dep >session.later
if [ $status = 0 ] && cmp -s session.live session.later && ! grep -q "$again" session.suspects; then
	pass "its report when it has ended"
else
	fail "its report when it has ended: $(worst session.suspects)"
fi
timeout 60 "$DEPCTL" query races --live "${id:-1}" >none.out 2>none.err
if [ $? = 1 ] && grep -q "session" none.err; then
	pass "a session that has ended"
else
	fail "a session that has ended: $(worst none.err)"
fi

"$DEPCTL" record -q --transport=shm -o gone.dep -- ./prog 2 >gone.out 2>gone.err &
recorder=$!
sleep 0.7
id=$("$DEPCTL" sessions --json | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
timeout 60 "$DEPCTL" query races --json --live "$id" >gone.live 2>gone.suspects &
query=$!
sleep 0.5
kill -9 $depd
wait $query
if [ $? = 0 ] && grep -q "analysing what is stored" gone.suspects &&
	grep -q '"complete":false' gone.live; then
	pass "depd is killed: what is there is looked at, and not said to be all"
else
	fail "depd is killed: $(worst gone.suspects)"
fi
"$DEPD" --config=conf --rundir="$tmp/run" --store="$tmp/stores" 2>depd.log &
depd=$!
wait $recorder
if grep -q over gone.out; then
	pass "and recorded on"
else
	fail "and recorded on: $(worst gone.err)"
fi
kill $depd
wait $depd 2>/dev/null

# ---- live analysis by depd ----
# searching: start a depd that does it
searching() {
	"$DEPD" --config=conf --rundir="$tmp/run" --store="$tmp/stores" --races=2 2>>searching.log &
	depd=$!
	for ((i = 0; i < 100; i++)); do
		"$DEPCTL" status >/dev/null 2>&1 && break
		sleep 0.05
	done
}

# searched STORE: wait for the report; it must equal that of a query
searched() {
	for ((i = 0; i < 100; i++)); do
		tail -n 1 "$1/races.txt" 2>/dev/null | grep -q "^complete" && break
		sleep 0.1
	done
	"$DEPCTL" query races "$1" >searched.later 2>/dev/null
	cmp -s "$1/races.txt" searched.later
}

searching
"$DEPCTL" record -q --transport=shm -o search.dep -- ./prog 1 >search.out 2>search.err
if searched search.dep && grep -q counter search.dep/races.txt &&
	grep -q "session [0-9]*: suspected race.*counter" searching.log; then
	pass "depd searches: it logs what it suspects, and the report is in the store"
else
	fail "depd searches: $(worst searching.log) $(worst search.err)"
fi
if "$DEPCTL" record -q --transport=shm -o short.dep -- /bin/true 2>search.err &&
	searched short.dep; then
	pass "it searches what ends at once"
else
	fail "it searches what ends at once: $(worst searching.log)"
fi
for n in 1 2 3; do
	"$DEPCTL" record -q --transport=shm -o many.$n.dep -- ./prog 1 >many.$n.out 2>&1 &
	recorder[n]=$!
	sleep 0.2
done
wait "${recorder[@]}"
if searched many.1.dep && searched many.2.dep && [ ! -e many.3.dep/races.txt ] &&
	grep -q "session [0-9]*: no race detection: it runs for 2 sessions" searching.log; then
	pass "no more at a time than it may"
else
	fail "no more at a time than it may: $(worst searching.log 20)"
fi
"$DEPCTL" record -q --transport=shm -o goes_on.dep -- ./prog 3 >goes_on.out 2>goes_on.err &
recorder=$!
sleep 1
kill -9 $depd
wait $depd 2>/dev/null
sleep 0.3
first=$(wc -c <goes_on.dep/races.txt)
searching
wait $recorder
if [ "$first" = 0 ] && searched goes_on.dep && grep -q counter goes_on.dep/races.txt; then
	pass "depd is killed: the next one searches"
else
	fail "depd is killed: the next one searches: $(worst searching.log 20)"
fi
if [ "$(id -u)" != 0 ] || ! have setpriv; then
	skip "another user's session: only as root"
else
	chmod 711 "$tmp" "$tmp/run"
	mkdir -m 777 other
	cp prog other
	setpriv --reuid=65534 --regid=65534 --clear-groups "$DEPCTL" record -q --transport=shm \
		-o "$tmp/other/s.dep" -- other/prog 2 >other.out 2>other.err &
	recorder=$!
	sleep 1
	rights=$(for pid in $(grep -lz -e --tail-fds= /proc/[0-9]*/cmdline 2>/dev/null |
		cut -d/ -f3); do
		tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "$tmp/other/s.dep" || continue
		sed -n 's/^[UG]id:\t//p; s/^Groups:\t//p; s/^CapEff:\t//p' "/proc/$pid/status"
	done | tr -s '\t\n ' ' ')
	wait $recorder
	if searched other/s.dep && [ "$(stat -c %u other/s.dep/races.txt)" = 65534 ] &&
		[ "$rights" = "65534 65534 65534 65534 65534 65534 65534 65534 0000000000000000 " ]
	then
		pass "another user's session: with that user's rights only"
	else
		fail "another user's session: ($rights) $(worst other.err) $(worst searching.log)"
	fi
fi
kill $depd
wait $depd 2>/dev/null
finish
