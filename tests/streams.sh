#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl query streams: rows against an implementation of its own over the printed references, a
# list that is known to be hot, several grammars, selections, the table of HPS, damaged stores, and
# one that is emptied while it is read.
. "$(dirname "$0")/lib.sh"
need_depctl
cd "$tmp" || exit 1

# checked NAME STORE CHECK OPTION...: as streams.py describes
checked() {
	local name=$1 status word text
	shift
	timeout 120 /usr/bin/python3 "$tests/streams.py" "$DEPCTL" "$@" >checks 2>why
	status=$?
	while read -r word text; do
		case $word in
		ok) pass "$name: $text" ;;
		FAIL) fail "$name: $text" ;;
		esac
	done <checks
	[ $status = 0 ] && [ ! -s why ] || fail "$name: status $status: $(tail -n 1 why)"
}

# streams OPTION...: rows into `rows', messages into `why'
streams() {
	timeout 60 "$DEPCTL" query streams "$@" >rows 2>why
}

gcc -g -O1 -pthread -static -o streams "$tests/programs/streams.c" || fail "compiling streams.c"
recorded s.dep -- ./streams || exit 1
checked list s.dep exact
checked "list, pc" s.dep exact --symbol=pc --threshold=0.3%
checked "list, lengths" s.dep exact --min-length=5 --max-length=40 --threshold=0.2%

# ---- the list ----
streams --json s.dep
/usr/bin/python3 - rows >known <<'END'
import json, sys
rows = [json.loads(x) for x in open(sys.argv[1])]
total = rows[-1]["references"]
nodes = {f"node[{i}].{m}" for i in range(16) for m in ("value", "next")}
first = rows[0]
print("nodes", nodes <= {w["variable"] for w in first["stream"]})
# Both threads, four times in each of 300 walks, but for the ends of some.
print("share", 0.7 < first["share"] * total / (2 * 4 * 300 * 32) <= 1.1)
print("code", {w["at"]["function"] for w in first["stream"]} <= {"walk", "walks"})
END
for what in nodes share code; do
	is "the list is the hottest stream: $what" "$(sed -n "s/^$what //p" known)" True
done

# ---- forms ----
streams s.dep
is "columns" "$(head -n 1 rows | tr -s ' ')" "share times length words functions data"
is "end" "$(tail -n 1 rows)" "complete: yes"
all=$(grep -c '^ *[0-9.]*%' rows)
streams --csv s.dep
is "rows of CSV" "$(tail -n +2 rows | wc -l)" "$all"
streams --json s.dep
is "rows of JSON" "$(grep -c '"stream":' rows)" "$all"
streams --top=1 s.dep
is "--top" "$(grep -c '^ *[0-9.]*%' rows)" 1

# ---- selections ----
tid=$("$DEPCTL" dump --refs s.dep | cut -d' ' -f1 | uniq | tail -n 1)
refs=$("$DEPCTL" dump --refs --thread="$tid" s.dep | wc -l)
streams --json --thread="$tid" s.dep
if grep -q "\"references\":$refs,.*\"grammars\":1," rows; then
	pass "--thread"
else
	fail "--thread: $(tail -n 1 rows)"
fi
streams --process=1 --json s.dep && tail -n 1 rows >one && streams --json s.dep &&
	is "--process" "$(cat one)" "$(tail -n 1 rows)"
streams --json --from=10m s.dep
is "nothing selected" "$(cut -d, -f1-4 rows)" \
	'{"references":0,"covered":0,"streams":0,"grammars":0'
streams --process=77 s.dep && fail "an unknown process" || pass "an unknown process"

# ---- other thresholds ----
streams --json --threshold=100% s.dep
is "--threshold=100%" "$(grep -c '"stream":' rows)" 0
streams --json --jobs=1 s.dep && cp rows one && streams --json --jobs=4 s.dep &&
	cmp -s rows one && pass "--jobs" || fail "--jobs: other rows"

# ---- several grammars ----
recorded perl.dep --ring-size=64K -- perl -e 'my %h; $h{$_ % 7} .= $_ for 1..3000; print %h' &&
	checked perl perl.dep places --memory=1M
# A segment in the middle cannot be read: all others are, and a grammar ends there.
cp -r perl.dep cut.dep
flip cut.dep/segments.000 $(($(stat -c %s cut.dep/segments.000) / 2))
checked "a segment is damaged" cut.dep damaged
streams --memory=1M --threshold=0.00001% --max-length=1000000 perl.dep
is "too many streams: status" $? 1
if grep -q "larger --memory or --threshold" why; then
	pass "too many streams"
else
	fail "too many streams: $(cat why)"
fi

# ---- the table of the paper on HPS ----
# hps NAME STORE OPTION...: each number against the rows of other queries and the references
hps() {
	local name=$1
	shift
	streams --table=hps --json "$@"
	is "$name: table" "$? $(/usr/bin/python3 - rows "$DEPCTL" "$@" <<'END'
import json, subprocess, sys
row = json.loads(open(sys.argv[1]).readline())
depctl, store, options = sys.argv[2], sys.argv[3], sys.argv[4:]
def lines(*args):
    done = subprocess.run([depctl, *args, *options, store], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()
def query(kind):
    return [json.loads(x) for x in lines("query", kind, "--json")][:-1]
def at(site):
    return site["module"], site["build_id"], site["module_offset"], site["linked_address"]
pairs, edges, methods = query("pairs"), query("edges"), query("methods")
refs = [x.split() for x in lines("dump", "--refs")]
jumps = ("taken", "not-taken", "jump", "jump-indirect")
want = {
    "call_sites": len({at(r["site"]) for r in pairs}), "call_pairs": len(pairs),
    "calls": sum(r["calls"] for r in pairs),
    "branches": sum(r["executions"] for r in edges if r["branch"] in jumps),
    "references": len(refs), "addresses": len({r[2] for r in refs}),
    "instructions": sum(r["instructions"] for r in methods),
}
print(*(f"{k} is {row[k]}, not {v}" for k, v in want.items() if row[k] != v),
      "functions" if 0 < row["methods"] <= len(methods) else f"{row['methods']} functions")
END
)" "0 functions"
}
hps list s.dep
hps thread s.dep --thread="$tid"
hps perl perl.dep
streams --table=hps --csv s.dep
is "table: CSV" "$(head -n 1 rows | cut -d, -f1-3) $(cut -d, -f9 rows | tail -n 1)" \
	"methods,call_sites,call_pairs streams"
streams --table=hps cut.dep
is "table: a segment is damaged: status" $? 1
is "table: a segment is damaged" "$(tail -n 1 rows | cut -d: -f1,2)" "complete: no"
# A byte in each of 10000 pages needs 5 MB.
gcc -x c -O1 -o pages - <<'END' && recorded pages.dep -- ./pages
#include <stdlib.h>
int main(void)
{
	volatile char *p = malloc(10000 * 4096);

	for (int i = 0; p && i < 10000; i++)
		p[i * 4096] = 1;
	return !p;
}
END
streams --table=hps --memory=2M pages.dep
is "table: too many pages: status" $? 1
grep -q "larger --memory" why && pass "table: too many pages" ||
	fail "table: too many pages: $(cat why)"
hps pages pages.dep

# ---- damage ----
# damaged OFFSET: a byte of the segments is changed
damaged() {
	rm -rf bad.dep
	cp -r s.dep bad.dep
	flip "$(echo bad.dep/segments.0*)" "$1"
}
size=$(stat -c %s s.dep/segments.0*)
crashes=0 noticed=0 whole=0
for i in $(seq 1 20); do
	damaged $((size * i / 21))
	streams --json bad.dep
	status=$?
	[ $status -le 1 ] || crashes=$((crashes + 1))
	[ $status = 1 ] && noticed=$((noticed + 1))
	tail -n 1 rows | grep -q '^{"references":[1-9]' && whole=$((whole + 1))
done
is "damaged segments: crashes" $crashes 0
is "damaged segments: the others are searched" $whole 20
if [ $noticed -ge 15 ]; then
	pass "damaged segments are noticed"
else
	fail "damaged segments: $noticed of 20 noticed"
fi
streams --json nothing.dep
is "no store" $? 1
# The second pass does not find what the first one read.
damaged $((size - 100))
is "changed while it is read" "$("$build/tests/streams_check" bad.dep bad.dep/segments.0* |
	tr -s 0-9 N)" "segment N of thread N is damaged or incomplete"

# ---- arguments ----
# refused TEXT OPTION...
refused() {
	local text=$1
	shift
	streams "$@" s.dep
	is "$*: status" $? 2
	grep -q -- "$text" why && pass "$*" || fail "$*: $(cat why)"
}
refused "must be 'hps'" --table=7
refused "must be a share" --threshold=0
refused "must be a share" --threshold=101%
refused "must be a share" --threshold=nan
refused "at least 1M" --memory=1000
refused "must be 'address' or 'pc'" --symbol=line
refused "must not exceed" --min-length=101
refused "must not exceed" --max-length=1
refused "must be a number" --max-length=0
refused "only one of --json and --csv" --json --csv
finish
