#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl diff: equal runs do not differ, and what differs is found, counted and named.
. "$(dirname "$0")/lib.sh"
need_depctl
cd "$tmp" || exit 1

record() {
	clean timeout 60 "$DEPCTL" record -q -o "$1.dep" --no-aslr -- "${@:2}" >printed 2>err || {
		fail "recording ${*:2}: $(tail -n 1 err)"
		finish
	}
}

# differ STATUS ARGUMENT...: depctl diff ends with that status; its output is in out and err
differ() {
	timeout 120 "$DEPCTL" diff "${@:2}" >out 2>err </dev/null
	local status=$?
	if [ $status = "$1" ]; then
		pass "depctl diff ${*:2}: status $1"
	else
		fail "depctl diff ${*:2}: status $status, not $1: $(cat out err | head -n 3)"
	fi
}

# has NAME PATTERN, lacks NAME PATTERN: in the last output
has() {
	if grep -Eq -- "$2" out err; then
		pass "$1"
	else
		fail "$1: no '$2': $(head -n 5 out | tr '\n' '|')$(cat err)"
	fi
}

lacks() {
	if grep -Eq -- "$2" out; then
		fail "$1: $(grep -E -- "$2" out | head -n 1)"
	else
		pass "$1"
	fi
}

cp "$tests/programs/profiled.c" . || exit 1
mkdir -p old new
gcc -O1 -g -pthread -o old/prog profiled.c && gcc -O1 -g -pthread -DOTHER -o new/prog profiled.c &&
	gcc -O1 -g -pthread -DOTHER -o new/named profiled.c || {
	fail "profiled.c does not compile"
	finish
}
text 100000 >text
record gzip1 gzip -c text
record gzip2 gzip -c text
text 90000 >text
record gzip3 gzip -c text
record old old/prog
record new new/prog
record named new/named
record thread old/prog thread

# ---- the same ----

differ 0 gzip1.dep gzip2.dep
is "gzip twice: no output" "$(cat out err)" ""
differ 0 --contexts gzip1.dep gzip2.dep
is "gzip twice: no context" "$(cat out err)" ""
differ 0 --json gzip1.dep gzip2.dep
has "gzip twice: JSON" '^\{"differences":0,"below_threshold":0,'
differ 0 new.dep new.dep

# ---- another input ----

differ 1 gzip1.dep gzip3.dep
has "another input: gzip's functions" "gzip"
lacks "another input: the code is the same" "code changed|only in"
differ 0 --threshold=100% gzip1.dep gzip3.dep
has "threshold: what it left out" "more changed by at most"
differ 1 --threshold=1 gzip1.dep gzip3.dep

# ---- another build ----

# Calls of fib(): 465; more() is called where fib() calls itself twice: 232 times.
for other in new named; do
	differ 1 old.dep $other.dep
	has "$other: code that changed" "^ *[-+][0-9]+( +[0-9]+){2} +0 +[a-z]+ +code changed +fib$"
	has "$other: a function that is new" \
		" 0 +[0-9]+ +[+]232 +[a-z]+ +only in the second +more$"
	lacks "$other: functions that only moved" " (compare|is_odd|is_even|kind|loops)$"
done
differ 1 --json old.dep new.dep
has "JSON: a function that is new" \
	'"function":"more".*"in_first":null,"in_second":\{"instructions":[0-9]'
has "JSON: code that changed" '"function":"fib",.*"code_changed":true,"in_first":\{.*"calls":465'
has "JSON: the stores" '"in_first":\{"store":"old.dep","instructions":[0-9]+'
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	/usr/bin/python3 "$tests/json_schema.py" out diff.json >why 2>&1
	is "JSON: the schema" "$? $(tail -n 1 why)" "0 $(tail -n 1 why)"
	"$DEPCTL" diff --json --contexts old.dep new.dep >out
	/usr/bin/python3 "$tests/json_schema.py" out diff.json >why 2>&1
	is "JSON: the schema with contexts" "$? $(tail -n 1 why)" "0 $(tail -n 1 why)"
else
	skip "python3-jsonschema is not installed"
fi

# ---- contexts ----

differ 1 --contexts --top=0 old.dep thread.dep
has "contexts: a second thread" "only in the second +\.\. > .*thread > fib"
lacks "contexts: those of main" "main > fib > fib$"
differ 1 --contexts --top=1 old.dep thread.dep
is "--top" "$(grep -c ' only in ' out)" 1
has "--top: how many more" "^[0-9]+ more; --top=0 prints all$"

# ---- trouble ----

differ 2 old.dep
has "one store" "which two stores"
differ 2 old.dep nowhere.dep
has "no store" "there is no store"
differ 2 --threshold=x old.dep new.dep
differ 2 --threshold=101% old.dep new.dep
differ 2 --threshold=% old.dep new.dep
"$DEPCTL" diff old.dep new.dep >/dev/full 2>err
is "no space" "$? $(head -n 1 err)" "2 depctl: cannot write the output: No space left on device"
# A store whose last bytes are missing is not said to be the same.
cp -r gzip1.dep cut.dep
chmod -R u+w cut.dep
for f in cut.dep/segments.*; do
	truncate -s $(($(stat -c %s "$f") - 1000)) "$f"
done
timeout 60 "$DEPCTL" diff cut.dep cut.dep >out 2>err
is "missing data" "$?" 2
has "missing data: the message" "the counts of cut.dep are incomplete"
finish
