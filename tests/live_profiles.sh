#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl query KIND --live alongside a recording: when it ends, the rows are those of a query of the
# finished store, byte for byte, also if the recorder is killed.
. "$(dirname "$0")/lib.sh"
need_depctl
. "$tests/depd.sh"
cd "$tmp" || exit 1
trap 'touch "$tmp/go"; end_depd_and $pids' EXIT
pids=
kinds="methods edges calls pairs coverage blocks"

# begin STORE COMMAND...: a command that records into the store, in the background
begin() {
	local store=$1
	shift
	rm -rf "$store" go
	"$@" >"$store.out" 2>"$store.err" </dev/null &
	recorder=$!
	pids+=" $recorder"
	wait_for 60 test -e "$store/fragments" ||
		fail "$store: no store: $(tail -n 1 "$store.err")"
}

# watch STORE: follow the store by one process for each kind
watch() {
	local kind
	watchers=
	for kind in $kinds; do
		timeout 400 "$DEPCTL" query $kind --live "${2:-$1}" >"$1.$kind.live" \
			2>"$1.$kind.err" &
		watchers+=" $!"
		pids+=" $!"
	done
}

# opened STORE: all that watch it have opened it
opened() {
	local w
	for w in $watchers; do
		ls -l "/proc/$(pgrep -P "$w")/fd" | grep -q "/$1" || return 1
	done
}

# same STORE NAME [STATUS]: all kinds have printed what a query prints now, with the same status
same() {
	local kind status later set=($watchers) n=0
	for kind in $kinds; do
		wait "${set[n]}"
		status=$?
		n=$((n + 1))
		timeout 200 "$DEPCTL" query $kind "$1" >"$1.$kind.later" 2>>"$1.$kind.err"
		later=$?
		if [ $status -ne $later ] || [ $later -ne "${3:-$later}" ]; then
			fail "$2: $kind: status $status live, $later later:" \
				"$(tail -n 1 "$1.$kind.err")"
		elif [ -s "$1.$kind.later" ] && cmp -s "$1.$kind.live" "$1.$kind.later"; then
			pass "$2: $kind"
		else
			fail "$2: $kind: $(diff "$1.$kind.live" "$1.$kind.later" | head -n 3)"
		fi
	done
}

# The programs work until the file "go" exists, so that there is a recording to follow.  They rest
# in between, or else the recording grows faster than it can be followed on a busy machine.
script='my %h; while (!-e "go") { $h{$_ % 97} .= "x" for 1..20000; %h = () if $n++ % 9 == 0;
	select(undef, undef, undef, 0.005) }'
cat >threads.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sum[5];

__attribute__((noinline)) static int add(int n, int i)
{
	return n % 3 ? n + i : n - i;
}

static void *work(void *arg)
{
	int i, me = (int)(long)arg;

	while (access("go", F_OK)) {
		for (i = 0; i < 20000; i++)
			sum[me] = add(sum[me], i);
		usleep(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[4];
	long i, round;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (round = 0; access("go", F_OK); round++) {
		if (fork() == 0) {
			for (i = 0; i < 20000; i++)
				sum[4] = add(sum[4], (int)i);
			_exit(0);
		}
		wait(NULL);
		usleep(1000 * (round < 100 ? 1 : 100));
	}
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
gcc -g -O1 -pthread -o threads threads.c || fail "compiling threads.c"

# grown STORE: segments of the store are large enough to be followed
grown() {
	[ "$(cat "$1"/segments.* | wc -c)" -gt 300000 ]
}

recording="timeout 400 $DEPCTL record -q --alone --ring-size=64K"

# ---- a program that ends ----
begin perl.dep $recording -o perl.dep -- perl -e "$script"
watch perl.dep
wait_for 60 grown perl.dep || fail "perl: the store does not grow"
touch go
wait "$recorder"
same perl.dep "perl" 0

begin threads.dep $recording -o threads.dep -- ./threads
watch threads.dep
wait_for 60 grown threads.dep || fail "threads: the store does not grow"
touch go
wait "$recorder"
same threads.dep "threads and children" 0

# ---- rows so far ----
# sets FILE: each set of rows so far says so
sets() {
	[ "$(grep -c '^complete: no: the recording is still running' "$1")" -ge 2 ]
}
begin every.dep $recording -o every.dep -- perl -e "$script"
timeout 400 "$DEPCTL" query methods --live --every=200ms every.dep >every.live 2>every.why &
watcher=$!
timeout 400 "$DEPCTL" query edges --live --every=200ms --json every.dep >every.json 2>>every.why &
json=$!
"$DEPCTL" query methods --live --every=200ms every.dep >every.int 2>>every.why &
stopped=$!
pids+=" $watcher $json $stopped"
wait_for 60 sets every.live && pass "--every: rows so far" ||
	fail "--every: rows so far: $(tail -n 1 every.live every.why)"
wait_for 60 grep -q '"complete":false' every.json || fail "--every --json: no rows so far"
wait_for 60 sets every.int || fail "a signal: no rows so far"
kill -TERM "$stopped"
wait "$stopped"
is "a signal: status" $? 1
is "a signal: the rows so far" "$(tail -n 1 every.int)" \
	"complete: no: the recording is still running"
touch go
wait "$recorder"
wait "$watcher"
is "--every: status" $? 0
wait "$json"
"$DEPCTL" query methods every.dep >every.later
tail -n "$(wc -l <every.later)" every.live | cmp -s - every.later && pass "--every: last rows" ||
	fail "--every: the last rows differ"
"$DEPCTL" query edges --json every.dep >every.later
tail -n "$(wc -l <every.later)" every.json | cmp -s - every.later &&
	pass "--every --json: last rows" || fail "--every --json: the last rows differ"

# ---- parts of a recording ----
begin part.dep $recording -o part.dep -- ./threads
part="--function=a* --process=1 --from=20ms --top=3 --csv"
timeout 400 "$DEPCTL" query methods --live $part part.dep >part.live 2>part.why &
watcher=$!
pids+=" $watcher"
wait_for 60 grown part.dep || fail "parts: the store does not grow"
touch go
wait "$recorder"
wait "$watcher"
"$DEPCTL" query methods $part part.dep >part.later 2>>part.why
cmp -s part.live part.later && grep -q add part.later && pass "a part of the recording" ||
	fail "a part of the recording: $(diff part.live part.later | head -n 2)"

# ---- the recorder is killed ----
begin killed.dep "$DEPCTL" record -q --alone --ring-size=64K -o killed.dep -- ./threads
watch killed.dep
wait_for 60 grown killed.dep || fail "killed: the store does not grow"
{
	kill -9 "$recorder" $(pgrep -P "$recorder" depctl)
	wait "$recorder"
} 2>/dev/null
touch go
same killed.dep "the recorder is killed"
is "the recorder is killed: it is said" "$(tail -n 1 killed.dep.edges.live | cut -c 1-13)" \
	"complete: no:"

# ---- the store is renamed, and has its name again when the recording ends ----
begin renamed.dep $recording -o renamed.dep -- perl -e "$script"
watch renamed.dep
wait_for 60 grown renamed.dep || fail "renamed: the store does not grow"
wait_for 60 opened renamed.dep || fail "renamed: the store is not opened"
mv renamed.dep other.dep
sleep 1
mv other.dep renamed.dep
running=$(for w in $watchers; do kill -0 "$w" && echo yes; done 2>&1 | grep -c yes)
is "renamed: the recording is still followed" "$running" "$(wc -w <<<"$kinds")"
touch go
wait "$recorder"
same renamed.dep "renamed" 0

# ---- through depd ----
start || finish
# session: the number and the store of the only session
session() {
	"$DEPCTL" sessions --json >sessions && id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' sessions) &&
		store=$(sed -n 's/.*"store":"\([^"]*\)".*/\1/p' sessions) && [ -n "$store" ] &&
		[ -n "$id" ]
}
rm -f go
timeout 400 "$DEPCTL" record -q --ring-size=64K -- ./threads >depd.out 2>depd.err </dev/null &
recorder=$!
pids+=" $recorder"
if wait_for 60 session && wait_for 60 test -e "$store/fragments"; then
	ln -s "$store" depd.dep
	watch depd.dep "$id"
	wait_for 60 grown depd.dep || fail "depd: the store does not grow"
	touch go
	wait "$recorder"
	same depd.dep "a session of depd" 0
else
	fail "depd: no session: $(tail -n 1 depd.err sessions)"
	touch go
fi

# ---- complete stores, and what is refused ----
"$DEPCTL" query methods perl.dep >complete
is "a complete store" "$("$DEPCTL" query methods --live perl.dep 2>&1)" "$(cat complete)"
# refused TEXT ARGUMENT...
refused() {
	local text=$1
	shift
	"$DEPCTL" query "$@" perl.dep >out 2>err
	[ $? -eq 2 ] && grep -q -- "$text" err && pass "refused: $*" ||
		fail "refused: $*: $(tail -n 1 err)"
}
refused "cannot be followed" contexts --live
refused "cannot be combined with --per" methods --live --per=10ms
refused "cannot be combined with --inclusive" methods --live --inclusive
refused "cannot be combined with --thread" methods --live --thread=1
refused "cannot be combined with --csv" methods --live --every=1s --csv
refused "needs --live" methods --every=1s
kill "$depd_pid"
wait "$depd_pid"
depd_pid=
finish
