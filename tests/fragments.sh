#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `depctl dump --fragments` shows the recorded instructions and, with record --keep-translations,
# the code that ran in their place; `depctl dump --log` shows what DEP_LOG asked for.
. "$(dirname "$0")/lib.sh"
need_depctl
cd "$tmp" || exit 1
cat >square.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) int square(int x)
{
	return x * x;
}

static void handler(int sig)
{
	(void)sig;
}

static void *thread(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	int i, sum = 0;
	pthread_t t;

	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	/* What pthread_join does depends on whether the thread has ended. */
	if (argc == 1) {
		pthread_create(&t, NULL, thread, argv);
		pthread_join(t, NULL);
	}
	if (!fork())
		_exit(execl("/bin/true", "true", NULL));
	wait(NULL);
	for (i = 0; i < 100; i++)
		sum += square(i + 1);
	printf("%d\n", sum);
	return 7;
}
END
gcc -O1 -g -pthread -o square square.c || exit 1
line=$(grep -n 'return x \* x' square.c | cut -d: -f1)

# record STORE OPTION...: 0 if all is as natively; $arguments are the program's
arguments=
record() {
	local store=$1 status
	shift
	clean ${DEP_LOG:+DEP_LOG="$DEP_LOG"} "$DEPCTL" record -q --alone --no-aslr "$@" \
		-o "$store" ./square $arguments >out 2>err
	status=$?
	[ $status = 7 ] && [ ! -s err ] && [ "$(cat out)" = 338350 ] &&
		"$DEPCTL" verify -q "$store" >out 2>&1
}

# ---- fragments ----
arguments=one-thread
if record plain.dep && record kept.dep --keep-translations; then
	pass "recordings with and without translations are complete"
else
	fail "recordings with or without translations: $(cat out err)"
fi
for s in plain kept; do
	"$DEPCTL" dump --fragments $s.dep >$s.txt 2>err || fail "dump of $s: $(cat err)"
	"$DEPCTL" dump --fragments --json $s.dep >$s.json 2>err || fail "JSON of $s: $(cat err)"
	"$DEPCTL" dump --refs --fields=pc,address,size,type $s.dep >$s.refs
done
if [ -s plain.refs ] && cmp -s plain.refs kept.refs; then
	pass "keeping translations changes no reference"
else
	fail "keeping translations changes references"
fi
if grep -A 1 "square at .*square.c:$line$" plain.txt | grep -q "imul edi, edi$" &&
	! grep -q '|' plain.txt && ! grep -q '"translated"' plain.json; then
	pass "recorded instructions have functions and lines"
else
	fail "recorded instructions: $(grep -A 2 square plain.txt | head -n 5)"
fi
if grep -A 1 "square at .*square.c:$line$" kept.txt |
	grep -q "imul edi, edi  *| copy  *[0-9a-f]*  imul edi, edi$"; then
	pass "the translation is next to the instructions"
else
	fail "translations: $(grep -A 2 square kept.txt | head -n 5)"
fi
if grep -q '(bad)' kept.txt; then
	fail "not disassembled: $(grep -m 1 '(bad)' kept.txt)"
else
	pass "all of it is disassembled"
fi
cat >check.py <<'END'
import json
import subprocess
import sys

# What is copied says the same as the original; no byte of the cache belongs to two instructions.
square = subprocess.run(["objdump", "-d", "--disassemble=square", "square"], capture_output=True,
                        text=True, check=True).stdout
bytes_of = "".join(line.split("\t")[1].replace(" ", "") for line in square.splitlines()
                   if line.startswith("  "))
copies = others = 0
found = False
for line in open("kept.json", encoding="utf-8"):
    f = json.loads(line)
    text = {s["pc"]: s["text"] for s in f["source"]}
    seen = {}
    for row in f["translated"]:
        size = 8 if row["text"].startswith(".quad") else len(row["machine_code"]) // 2
        at = int(row["address"], 16)
        if any(at + i in seen for i in range(size)):
            sys.exit("two instructions at %x" % at)
        seen.update((at + i, row) for i in range(size))
        if row["kind"] != "copy":
            others += 1
            continue
        copies += 1
        # r15 is in memory.
        if row["text"] != text[row["pc"]] and "r15" not in text[row["pc"]]:
            sys.exit("%s is copied as %s" % (text[row["pc"]], row["text"]))
    if f["source"] and f["source"][0]["function"] == "square":
        found |= bytes_of.startswith("".join(s["machine_code"] for s in f["source"]))
if not found:
    sys.exit("square is not " + bytes_of)
if copies < 1000 or others < 1000:
    sys.exit("%d copies, %d others" % (copies, others))
END
if /usr/bin/python3 check.py >why 2>&1; then
	pass "copies equal their originals; the source is what the file has"
else
	fail "$(tail -n 1 why)"
fi

# ---- the log ----
arguments=
# logged AREA PATTERN: does the log have it?
logged() {
	if grep -Eq "^[0-9]+ [0-9]+ [0-9]+ $1 $2" log; then
		pass "log: $1: $2"
	else
		fail "log: no '$2' of $1: $(head -n 3 log)"
	fi
}

if DEP_LOG=all record log.dep && "$DEPCTL" dump --log log.dep >log 2>err; then
	pass "a recording with DEP_LOG=all is complete, and its output is as natively"
else
	fail "DEP_LOG=all: $(cat out err)"
fi
square=0x5555$(nm square | awk '$3 == "square" { print substr($1, 9) }' |
	awk '{ printf "%08x", strtonum("0x" $1) + 0x55554000 }' 2>/dev/null)
logged translate "fragment [0-9]+ at ${square#0x}, known [0-9a-f]+: [0-9]+ instructions"
logged signal "signal 10, code -6, at [0-9a-f]+: handler [0-9a-f]+"
logged signal "return from a handler to "
logged thread "thread begins at "
logged thread "thread ends"
logged thread "process begins by fork"
logged thread "process ends with status 7"
logged exec "execve: the collector will follow"
logged memory "code from mapping [0-9a-f]+-[0-9a-f]+ of $tmp/square"
if sort -n -c log; then pass "log: in the order of time"; else fail "log: not in order"; fi
if DEP_LOG=signal,exec record some.dep && "$DEPCTL" dump --log some.dep >log 2>err &&
	[ "$(cut -d ' ' -f 4 log | sort -u | xargs)" = "exec signal" ]; then
	pass "log: only the areas that were asked for"
else
	fail "log of signal,exec: $(cut -d ' ' -f 4 log | sort | uniq -c)"
fi
# The log is a part of the store: no more than a batch of lines comes after --max-size.
clean DEP_LOG=all "$DEPCTL" record -q --alone --max-size=200K -o max.dep -- \
	sh -c 'trap : USR1; for i in $(seq 20000); do kill -USR1 $$; done' >/dev/null 2>err
lines=$("$DEPCTL" dump --log max.dep 2>&1 | wc -l)
size=$(stat -c %s max.dep/fragments)
if [ "$lines" -gt 10 ] && [ "$lines" -lt 20000 ] && [ "$size" -lt 2000000 ]; then
	pass "log: it counts towards --max-size"
else
	fail "log: $lines lines, $size bytes with --max-size=200K: $(cat err)"
fi
if record none.dep && "$DEPCTL" dump --log none.dep >log 2>err && [ ! -s log ]; then
	pass "log: nothing without DEP_LOG"
else
	fail "log without DEP_LOG: $(head -n 2 log)"
fi
finish
