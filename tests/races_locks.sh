#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The locks that both threads of a race held: depctl query races names them, and no others.
. "$(dirname "$0")/lib.sh"
need_depctl
have python3 || finish
cd "$tmp" || exit 1
source=$tests/programs/race_locks.c

# asked PROGRAM EXPRESSION: record PROGRAM once, and print the value of a Python expression
asked() {
	[ -d "$1.dep" ] || timeout 60 "$DEPCTL" record -q -o "$1.dep" -- "./$1" || return
	timeout 60 "$DEPCTL" query races --json "$1.dep" >"$1.json" || return
	python3 - "$1.json" "$source" "$2" <<-'END' 2>&1 | tail -n 1
		import json, re, sys
		def held(a):
		    return ", ".join(l["kind"] + " " + (l["variable"] or "in a block of %d" %
		        l["block"]["size"]) + (" for reading" if l["shared"] else "")
		        for l in a["locks"]) or ("maybe " + a["last_atomic"]["variable"]
		        if "last_atomic" in a else "none")
		races = json.load(open(sys.argv[1]))["races"]
		by = {r["variable"]: r["accesses"] for r in races}
		text = open(sys.argv[2]).read()
		lines = dict(re.findall(r"\b(v_\w+)\+\+;\s*/\* (.*) \*/", text))
		print(eval("(" + sys.argv[3] + ")"))
	END
}

for level in O0 O2; do
	gcc -$level -g -pthread -o locks.$level "$source" || exit 1
	is "$level: the locks of each access" "$(asked locks.$level \
		'len(lines), ["%s: %s" % (v, held(by[v][0]) if v in by else "missing")
			for v, k in lines.items() if v not in by or held(by[v][0]) != k]')" \
		"(16, [])"
done
is "none where there is none" "$(asked locks.O2 '{held(a[1]) for a in by.values()},
	{x["locks_known"] for a in by.values() for x in a}')" "({'none'}, {True})"
line=$(grep -n "the wait" "$source" | cut -d : -f 1)
is "a wait takes the lock again" "$(asked locks.O0 '[f["line"]
	for f in by["v_wait"][0]["locks"][0]["stack"]
	if f["function"] == "wait_for_it"]')" "[$line]"
"$DEPCTL" query races locks.O2.dep >text
place="$source:[0-9]+"
for what in "    holding mutex outer \($place\) at 0x[0-9a-f]+, locked in nested $place:[0-9]+" \
	"    holding read-write lock table .*, for reading, locked in others" \
	"    holding mutex 0x[0-9a-f]+, byte 8 of a block of 48, locked" \
	"    holding no lock of pthreads" "    its last locked instruction, .* accessed own \("; do
	grep -Eq "^$what" text && pass "text: $what" || fail "text: no $what"
done
"$DEPCTL" query races --sarif locks.O2.dep >sarif
python3 "$tests/races/check_sarif.py" sarif 16 >why && pass "SARIF" ||
	fail "SARIF: $(head -n 3 why)"
grep -q 'holding mutex outer, mutex plain' sarif && grep -q 'takes read-write lock table' sarif &&
	pass "SARIF has locks" || fail "SARIF has no locks"

# Each lock belongs to the process that held it.
gcc -O0 -g -D_GNU_SOURCE -pthread -o processes "$tests/programs/race_locks_processes.c" || exit 1
is "two processes" "$(asked processes 'sorted({held(a) for r in races for a in r["accesses"]}),
	sorted({len({a["process"] for a in r["accesses"]}) for r in races})')" \
	"(['maybe childs_own', 'maybe parents_own', 'mutex childs', 'mutex in a block of 48', \
'mutex parents'], [2])"

# Calls of functions in a static program are not recorded.
if ! echo 'int main(void) { return 0; }' | gcc -static -x c -o nothing - 2>/dev/null; then
	skip "a static program: the compiler makes none"
elif ! gcc -static -O1 -g -pthread -o static "$source" 2>err; then
	fail "a static program: does not compile: $(head -n 1 err)"
else
	# The locked instructions of its locks order threads as they happened to run, sometimes all.
	for _ in 1 2 3 4 5; do
		rm -rf static.dep
		got=$(asked static 'len(by) > 0,
			{x["locks_known"] for a in by.values() for x in a}')
		[ "$got" = "(False, set())" ] || break
	done
	is "a static program" "$got" "(True, {False})"
	"$DEPCTL" query races static.dep | grep -q "locks held are not known: calls of lock" &&
		pass "it says so" || fail "it does not say so"
fi
finish
