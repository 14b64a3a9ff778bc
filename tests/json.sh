#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The JSON output of every command matches the schemas in Documentation/schema, and depctl-json(5)
# documents each key.
. "$(dirname "$0")/lib.sh"
need_depctl
python=/usr/bin/python3
$python -c 'import jsonschema' 2>/dev/null || {
	skip "python3-jsonschema is not installed"
	finish
}
cd "$tmp" || exit 1

# schema NAME FILE SCHEMA: FILE is JSON that matches the schema
schema() {
	if $python "$tests/json_schema.py" "$2" "$3.json" >why 2>&1; then
		pass "$1"
	else
		fail "$1: $(tail -n 1 why)"
	fi
}

# valid SCHEMA COMMAND...: the command prints JSON that matches the schema
valid() {
	local name=$1
	shift
	timeout 60 "$DEPCTL" "$@" >out 2>err </dev/null
	schema "depctl $*" out "$name"
}

# has WHAT PATTERN: the last command's JSON matches PATTERN
has() {
	if grep -Eq -- "$2" out; then pass "$1"; else fail "$1: $(cut -c 1-300 out)"; fi
}

if $python "$tests/json_schema.py" --keys "$top/Documentation/man/depctl-json.5" >why 2>&1; then
	pass "each key has one type and is in the manual"
else
	fail "keys: $(tail -n 1 why)"
fi

# ---- synthetic stores, for contents that are rare in real recordings ----
for how in good gap unclean drop signal unseen old; do
	"$build/tests/make_store" $how.dep $how || fail "a store with $how"
	valid ls-store ls --json $how.dep
	valid info info --json $how.dep
	valid verify verify --json $how.dep
done
"$DEPCTL" record -q --last=4M -o last.dep -- /bin/true
valid info info --json last.dep
valid ls-directory ls --json
for exit in '"code":3' '"signal":"SIGSEGV"'; do
	has "ls: $exit" "\"exit\":\{$exit\}"
done
has "ls: no exit" '"exit":null'
valid info info --json signal.dep
has "info: a signal" '"exit":\{"signal":"SIGSEGV"\}'
valid info info --json unclean.dep
has "info: unfinished" '"exit":null.*"unfinished_processes":1'
valid verify verify --json unclean.dep
has "verify: unfinished" '"unfinished_processes":1'

# ---- a running process ----
sleep 100 &
valid attach attach --dry --json $!
kill $!

# ---- real recordings ----
cat >racy.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int value;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *thread(void *arg)
{
	int *p = arg;

	pthread_mutex_lock(&lock);
	value++;
	*p = 1;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void handler(int sig)
{
	(void)sig;
}

int main(void)
{
	int *p = malloc(64);
	pthread_t t;

	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	pthread_create(&t, NULL, thread, p);
	value++;
	*p = 2;
	pthread_join(t, NULL);
	if (!fork())
		_exit(0);
	puts("done");
	return 7;
}
END
gcc -O1 -g -pthread -o racy racy.c || exit 1
"$DEPCTL" record -q --alone -o racy.dep ./racy >/dev/null 2>&1
(
	"$DEPCTL" record -q --alone --on-full=drop --self-check -o shell.dep \
		sh -c 'kill -9 $$'
	:
) >/dev/null 2>&1
for store in racy.dep shell.dep; do
	valid ls-store ls --json --modules $store
	valid info info --json --formats $store
	valid info info --json --formats --compress $store
	valid info info --json --quick $store
	valid verify verify --json $store
	for what in refs blocks events timestamps functions segments fragments; do
		valid dump dump --$what --json $store
	done
done
has "an instruction's bytes" '"machine_code":"[0-9a-f]+"'
valid dump dump --segments --json racy.dep
has "a file's number" '"file_index":0'
DEP_LOG=all "$DEPCTL" record -q --alone --keep-translations -o kept.dep ./racy >/dev/null 2>&1
valid dump dump --fragments --json kept.dep
has "a translated instruction" '"translated":\[\{"address":"0x[0-9a-f]+","kind":"'
valid dump dump --log --json kept.dep
has "a line of the log" '"tid":[0-9]+,"area":"signal","text":"signal 10'
for what in refs blocks events timestamps functions; do
	valid dump dump --$what --json --fields=process,pid,thread,tid,program,segment,tsc,pc \
		racy.dep
done
valid dump dump --refs --json --fields=tsc,address,size,type racy.dep
has "when a thread accessed something" '"tsc":"[1-9][0-9]{9,}","address":"0x'
valid dump dump --functions --json --fields=sp,function racy.dep
valid dump dump --timestamps --json --fields=tsc,timestamp,place racy.dep
if "$DEPCTL" dump --refs racy.dep >out && "$DEPCTL" dump --refs --fields=tid,pc,address,size,type \
	racy.dep | cmp -s - out; then
	pass "--fields with the usual columns prints the usual lines"
else
	fail "--fields with the usual columns prints other lines"
fi
if "$DEPCTL" dump --timestamps --fields=tsc,timestamp racy.dep >out && [ -s out ] &&
	awk '$1 != $2 { exit 1 }' out; then
	pass "tsc of a timestamp is the timestamp"
else
	fail "tsc of a timestamp is another one"
fi
valid info info --json shell.dep
has "killed" '"exit":\{"signal":"SIGKILL"\}'
has "a policy for full rings" '"on_full":"drop"'
valid info info --json racy.dep
has "an exit code" '"exit":\{"code":7\}'
has "points in time are strings" '"start_realtime_ns":"[0-9]{19}"'
valid dump dump --refs --json racy.dep
address='"0x[0-9a-f]+"'
has "addresses are strings" "\"pc\":$address,\"address\":$address,\"size\":[0-9]+,\"type\":\"write"
pc=$(sed -n '1s/.*"pc":"\([^"]*\)".*/\1/p' out)
valid where where --json racy.dep "$pc" 0x1 "0x$(nm racy | awk '$3 == "value" { print $1 }')"
has "code" '"functions":\['
valid query-races query races --json --all racy.dep
has "a race of a block" '"block":\{"address":"0x'
has "a thread's creator" '"created_by"'
valid query-races query races --json --predict racy.dep
valid query-races query races --json --all shell.dep
printf 'race:main\nmutex:x\n' >suppressions
valid query-races query races --json --suppressions=suppressions racy.dep
has "entries for something else" '"is_race_suppression":false'
"$DEPCTL" query races --json racy.dep >base
valid query-races query races --json --baseline=base racy.dep
has "all of them are known" '"in_baseline":[1-9]'
"$DEPCTL" record -q --alone --races --json --report=report -o again.dep ./racy >/dev/null 2>&1
schema "depctl record --races --json" report query-races
"$tests/races/build.sh" "$tests/predict/c11.c" racy O2 "$tmp/order"
"$DEPCTL" record -q --alone -o order.dep ./order >/dev/null 2>&1
valid report report --json racy.dep
valid report report --json --paths racy.dep
for kind in methods calls pairs contexts edges blocks coverage; do
	valid query-$kind query $kind --json racy.dep
done
valid query-paths query paths --json --min=0 racy.dep
valid query-paths query paths --json --min=0 --iterations=3 racy.dep
valid query-paths query paths --json --table=paths racy.dep
valid query-paths query paths --json --table=coverage racy.dep racy.dep
valid query-paths query paths --json --table=common --against racy.dep racy.dep
valid query-contexts query contexts --json --table=encoding racy.dep
valid verify verify --json --contexts racy.dep
valid query-streams query streams --json --threshold=0.1% racy.dep
has "references of streams" '"stream":\['
valid query-streams query streams --json --table=hps racy.dep
valid query-methods query methods --json --inclusive racy.dep
for kind in methods calls pairs contexts edges blocks coverage "coverage --files"; do
	valid "query-${kind% *}" query $kind --json --per=1ms racy.dep
	has "$kind: rows of intervals" '"interval_ns":[0-9]'
done
valid query-edges query edges --json --annotate=main racy.dep
valid query-coverage query coverage --json --files racy.dep
valid query-races query races --json --predict order.dep
has "how a predicted race can happen" '"witness":\['

# ---- depd ----
cat >depd.conf <<'END'
[depd]
store = /var/lib/x
[rule gz]
comm = gzip
argv = *-9*
uid = root
at-once = 2
share = root
ring-size = 16M
on-full = drop
null = yes
[rule all]
path = *
last = 30s,1G
[rule sized]
comm = sized
max-size = 1G
END
valid policy-check policy check --json depd.conf
has "options have the names of the file's keys" '"at_once":2.*"on_full":"drop".*"discarded":true'
if [ -e /dev/adept ]; then
	valid module module --json
else
	skip "depctl module --json: there is no /dev/adept"
fi
if [ -x "$build/depd" ]; then
	. "$tests/depd.sh"
	start || finish
	"$DEPCTL" record -q -o by_depd.dep sh -c 'exit 5' >/dev/null 2>&1
	"$DEPCTL" record -q -o long.dep sh -c 'echo $$ >long.pid; exec sleep 60' >/dev/null 2>&1 &
	recorder=$!
	for _ in $(seq 100); do
		"$DEPCTL" sessions --json | grep -q '"state":"recording"' && break
		sleep 0.1
	done
	valid status status --json
	has "counts of sessions" '"session_counts":\{"open":1,"started":2'
	valid sessions sessions --json
	has "how it ended is not known yet" '"exit":null'
	[ "$(id -u)" != 0 ] || valid status-users status --users --json
	valid ls-directory ls --json
	has "a store that is being recorded" '"state":"recording"'
	"$DEPCTL" stop --all
	kill "$(cat long.pid)"
	wait "$recorder"
	term_depd
else
	skip "no depd at $build/depd"
fi
finish
