#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Race reports as text, JSON and SARIF, without suppressed and known races, and by depctl record
# --races.
. "$(dirname "$0")/lib.sh"
need_depctl
have g++ && have python3 || finish
cd "$tmp" || exit 1
unset ADEPT_SOCKET TMPDIR

# asked NAME STATUS STDOUT STDERR COMMAND...: patterns are extended regular expressions that match
# anywhere; "": no output, "-": any output.  The command `races' is depctl query races.
asked() {
	local name=$1 want=$2 out=$3 err=$4 status
	shift 4
	[ "$1" != races ] || set -- "$DEPCTL" query "$@"
	{ timeout 60 "$@" >out 2>err </dev/null; } 2>/dev/null
	status=$?
	if [ $status != "$want" ]; then
		fail "$name: status $status, not $want: $(head -n 3 err)"
	elif ! prints out "$out"; then
		fail "$name: no $out: $(head -n 4 out | paste -s -d '|')"
	elif ! prints err "$err"; then
		fail "$name: no message $err: $(head -n 4 err | paste -s -d '|')"
	else
		pass "$name"
	fi
}

prints() {
	case $2 in
	-) true ;;
	"") [ ! -s "$1" ] ;;
	*) grep -Eq -- "$2" "$1" ;;
	esac
}

# json EXPRESSION: evaluate a Python expression for the output in out, as `a'
json() {
	python3 -c 'import json, sys
a = json.load(open("out", encoding="utf-8"))
print(eval("(" + sys.argv[1] + ")"))' "$1" 2>&1 | tail -n 1
}

races() {
	"$DEPCTL" query races "$@"
}

source=$tests/programs/race_report.cpp
g++ -O2 -g -pthread -o prog "$source" && strip -o stripped prog || exit 1
for name in prog:one.dep prog:two.dep stripped:bare.dep stripped:bare2.dep; do
	timeout 60 "$DEPCTL" record -q -o "${name#*:}" -- "./${name%:*}" || fail "recording $name"
done
timeout 60 "$DEPCTL" record -q -o part.dep -- ./prog x heap || fail "recording a part"

# line MARK: print the number of its line in the source
line() {
	grep -n "$1" "$source" | head -n 1 | cut -d : -f 1
}

# ---- text and JSON ----
asked "text" 0 \
	"^race: .*, counter.value \(.*race_report.cpp:$(line 'app::counter counter')\), 1 time$" \
	"" races one.dep
for text in "^  (earlier )?write by thread [0-9]+:$" "^    #0 __memset" \
	"#[0-9]+ app::counter::add\(int\) .*:$(line 'value += n'):[0-9]+ \(inlined\)$" \
	"#[0-9]+ first\(void\*\) .*:[0-9]+ \($tmp/prog\+0x[0-9a-f]+\)$" \
	"^  thread [0-9]+ was created by thread [0-9]+ \(main\):$" \
	"#[0-9]+ main .*:$(line ', NULL, first'):" "#[0-9]+ main .*:$(line ', NULL, second'):" \
	"^3 races in [0-9]+ references$" "^complete: yes$"; do
	prints out "$text" && pass "text has $text" || fail "text has no $text"
done
# Of a call of the C library one frame is shown, and none of those that called the program's code.
asked "text with all frames" 0 "^race: " "" races --all-frames one.dep
cp out frames
asked "text without the C library's frames" 0 "^race: " "" races one.dep
is "stacks end in the program" "$(awk '/^    #/ { last = $0; next }
	last { print last; last = "" }' out | grep -vc "($tmp/prog+0x[0-9a-f]*)$")" 0
is "with all frames they end in _start or the C library" "$(awk '/^    #/ { last = $0; next }
	last { print last; last = "" }' frames | grep -Evc '_start |libc\.so')" 0
is "the call that created a thread is shown" \
	"$(grep -A 1 'was created by' out | grep -c '^    #.*libc\.so')" \
	"$(grep -c 'was created by' out)"
is "one row for all of a line" "$(grep -c '^race: ' out)" 3
asked "no symbols" 0 "#0 \?\? \($tmp/stripped\+0x[0-9a-f]+, build-id [0-9a-f]{40}\)" "" \
	races bare.dep
asked "JSON" 0 "^\{" "" races --json one.dep
is "JSON: complete" "$(json 'a["complete"], a["missing"], a["suppressed"]')" "(True, [], 0)"
is "JSON: variables" "$(json 'sorted(r["variable"].split("[")[0] for r in a["races"])')" \
	"['', 'counter.value', 'table']"
is "JSON: who created a thread" \
	"$(json '{c["created_by"]["thread"] for r in a["races"] for c in r["accesses"]} ==
		{min(c["thread"] for r in a["races"] for c in r["accesses"]) - 1}')" True
is "JSON: and where" "$(json '{any(f["function"] == "main" for f in c["created_by"]["stack"])
	for r in a["races"] for c in r["accesses"]}')" "{True}"
prints=$(json 'sorted(r["fingerprint"] for r in a["races"])')
cp out one.json
asked "JSON of another run" 0 - "" races --json two.dep
is "the same fingerprints" "$(json 'sorted(r["fingerprint"] for r in a["races"])')" "$prints"
asked "JSON of a stripped program" 0 - "" races --json bare.dep
prints=$(json 'sorted(r["fingerprint"] for r in a["races"])')
asked "and of another run of it" 0 - "" races --json bare2.dep
is "the same fingerprints without symbols" \
	"$(json 'sorted(r["fingerprint"] for r in a["races"])')" "$prints"
asked "--report" 0 "" "" races --report=text one.dep
prints text "^3 races" && pass "--report has it" || fail "--report has nothing"
asked "--report to nowhere" 1 "" "no/such: No such file" races --report=no/such one.dep
[ ! -w /dev/full ] ||
	asked "--report to a full disk" 1 "" "cannot write the output: No space" races \
		--report=/dev/full one.dep
asked "--error-exitcode" 7 "^3 races" "" races --error-exitcode=7 one.dep

# ---- two processes ----
"$tests/races/build.sh" "$tests/races/process_pipe.c" racy O2 "$tmp/pipes" &&
	timeout 60 "$DEPCTL" record -q -o pipes.dep -- ./pipes || fail "recording two processes"
asked "two processes" 0 \
	"^  (earlier )?write by thread ([0-9]+) \(main\) of process [0-9]+ \(pipes\):$" "" \
	races pipes.dep
asked "JSON of two processes" 0 - "" races --json pipes.dep
python3 - out one.json "$tests/../Documentation/man/depctl-json.5" >why <<-'END'
	import json, re, sys
	def keys(a):
	    if isinstance(a, list):
	        return {k for x in a for k in keys(x)}
	    if isinstance(a, dict):
	        return set(a) | {k for x in a.values() for k in keys(x)}
	    return set()
	text = set(re.findall(r"\w+", open(sys.argv[3]).read()))
	reported = set().union(*(keys(json.load(open(f))) for f in sys.argv[1:3]))
	print(*sorted(reported - text), len(reported) > 30)
END
is "JSON: the manual knows each key" "$(cat why)" "True"
is "JSON: each access has its process" \
	"$(json '[len({c["process"] for c in r["accesses"]}) for r in a["races"]]')" "[2]"
is "JSON: a race is said to be in the later one's" \
	"$(json '[r["process"] == r["accesses"][1]["process"] for r in a["races"]]')" "[True]"

# ---- SARIF ----
for store in one bare; do
	races --sarif $store.dep >sarif 2>err
	python3 "$tests/races/check_sarif.py" sarif 3 >why && pass "SARIF of $store" ||
		fail "SARIF of $store: $(head -n 3 why | paste -s -d '|')"
	! command -v jq >/dev/null || is "SARIF of $store, says jq" \
		"$(jq -r '.runs[0].results | length' sarif)" 3
done
python3 "$tests/races/check_sarif.py" sarif 2 >/dev/null && fail "check_sarif.py sees nothing" ||
	pass "check_sarif.py sees another number"
sed 's/"startLine":[0-9]*/"startLine":0/' <(races --sarif one.dep) >bad
python3 "$tests/races/check_sarif.py" bad 3 >/dev/null && fail "check_sarif.py sees nothing" ||
	pass "check_sarif.py sees a line of 0"
mkdir -p "a %b:ü" && sed 's/app/APP/' "$source" >"a %b:ü/q.cpp"
g++ -O2 -g -pthread -o odd "a %b:ü/q.cpp" &&
	"$DEPCTL" record -q -o odd.dep -- ./odd && races --sarif odd.dep >sarif
python3 "$tests/races/check_sarif.py" sarif 3 >why && grep -q 'a%20%25b%3A%C3%BC/q.cpp' sarif &&
	pass "SARIF: odd paths" || fail "SARIF: odd paths: $(head -n 3 why)"

# ---- suppressions ----
# suppressed NAME COUNT TEXT: how many races of one.dep go with a file of this
suppressed() {
	printf '%s\n' "$3" >supp
	asked "$1" 0 "^suppressed: $2$" "" races --suppressions=supp one.dep
}

block() {
	printf '{\n   name\n   %s\n' "$1"
	shift
	printf '   %s\n' "$@"
	printf '}\n'
}

suppressed "race: a function" 1 "race:app::counter::add"
suppressed "race: any frame" 3 "race:^touch"
suppressed "race: start and end" 0 "race:^ouch"
suppressed "race: the end" 0 "race:^touc$"
suppressed "race: both ends" 3 'race:^touch(int)$'
suppressed "race: a wildcard" 3 "race:to*h(*)"
suppressed "race: a wildcard is no end" 0 "race:^x*touch"
suppressed "race: a file" 3 "race:race_report.cpp"
suppressed "race: a module" 3 "race:$tmp/prog\$"
suppressed "race: a variable" 1 'race:^table$'
suppressed "race: part of a variable" 1 'race:^counter.value$'
suppressed "race: comments, blanks, no newline" 1 "$(printf '# x\n\n\t race:^table$ \r')"
suppressed "race_top: the innermost" 1 "race_top:memset"
suppressed "race_top: no other" 1 'race_top:touch'
suppressed "race_top: inlined" 1 'race_top:counter::add'
suppressed "called_from_lib: through the C library" 3 "called_from_lib:prog"
suppressed "called_from_lib: not the C library" 0 "called_from_lib:libc.so"
suppressed "the first one counts" 2 "$(printf 'race:^table$\nrace:^counter$\nrace:^table$')"
suppressed "Helgrind" 1 "$(block Helgrind:Race 'fun:__memset*' 'fun:_ZL5touchi' \
	'fun:_ZL5firstPv')"
suppressed "drd, demangled" 1 "$(block drd:ConflictingAccess 'fun:touch*' 'fun:second*')"
suppressed "several tools" 3 "$(block Memcheck,Helgrind:Race '...' 'fun:_ZL5touchi')"
suppressed "only the innermost frames" 0 "$(block Helgrind:Race 'fun:_ZL5firstPv')"
suppressed "... in the middle" 3 "$(block Helgrind:Race '...' 'fun:*touch*' '...' 'fun:clone*')"
suppressed "... that leads nowhere" 0 "$(block Helgrind:Race '...' 'fun:main')"
suppressed "obj" 3 "$(block Helgrind:Race '...' 'obj:*/prog')"
suppressed "obj is all of the path" 0 "$(block Helgrind:Race '...' 'obj:prog')"
suppressed "src" 3 "$(block Helgrind:Race '...' 'src:race_?eport.cpp')"
suppressed "src with a line" 1 "$(block Helgrind:Race "src:race_report.cpp:$(line 'value += n')")"
suppressed "src with another line" 0 "$(block Helgrind:Race '...' "src:race_report.cpp:1")"
suppressed "as many frames as can be" 0 "$(block Helgrind:Race \
	$(for _ in {1..12}; do echo "... fun:x"; done))"
suppressed "both formats" 2 "$(echo 'race:^table$'; block Helgrind:Race 'fun:*counter*')"
suppressed "wildcards without end" 0 "race:$(printf '*t%.0s' {1..3000})x"
suppressed "globs without end" 0 "$(block Helgrind:Race "fun:$(printf '*t%.0s' {1..3000})x")"
suppressed "an empty file" 0 ""

{
	echo "mutex:x"
	echo "race:nowhere"
	echo "race:^table\$"
	block Memcheck:Param "write(buf)" "obj:*"
} >supp
asked "of no use here" 0 "^  1 by race:\^table\\\$ \(supp:3\)$" \
	"^depctl: supp: 2 of 4 suppressions are not for races" races --suppressions=supp one.dep
prints out nowhere && fail "unused ones are listed" || pass "unused ones are not listed"
asked "-v" 0 "^  0 by race:nowhere \(supp:2\)$" - races -v --suppressions=supp one.dep
echo "race:^counter" >supp2
asked "two files" 0 "^suppressed: 2$" - races --suppressions=supp --suppressions=supp2 one.dep
asked "suppressions in JSON" 0 - - races --json --suppressions=supp one.dep
is "suppressions in JSON: all" "$(json '[(s["line"], s["text"], s["races_suppressed"],
		s["is_race_suppression"])
	for s in a["suppressions"]], a["suppressed"], len(a["races"])')" \
	"([(1, 'mutex:x', 0, False), (2, 'race:nowhere', 0, True), (3, 'race:^table\$', 1, True), \
(4, 'name', 0, False)], 1, 2)"
asked "--error-exitcode counts what is left" 0 "^0 races" "" races --error-exitcode=7 \
	--suppressions=<(echo "race:^touch") one.dep

# refused NAME MESSAGE TEXT
refused() {
	printf '%b' "$3" >supp
	asked "$1" 1 "" "^depctl: supp:$2" races --suppressions=supp one.dep
}

refused "no such type" "2: a suppression begins with race:" 'race:x\nrice:x\n'
refused "no pattern" "1: the pattern is missing" 'race:\n'
refused "a byte of 0" "3: not a text file" 'race:x\n\nra\000ce:x\n'
refused "no end" "2: the } of this { is missing" '#\n{\nname\nHelgrind:Race\nfun:x\n'
refused "nothing after a brace" "1: the } of this { is missing" '{'
refused "no kind" "3: the second line must be TOOL:KIND" '{\nname\nHelgrind\nfun:x\n}\n'
refused "no such frame" "4: a frame is fun:" '{\nname\nHelgrind:Race\nfan:x\n}\n'
refused "an empty frame" "4: a frame is fun:" '{\nname\nHelgrind:Race\nfun:\n}\n'
refused "no line" "4: .*line number" '{\nname\nHelgrind:Race\nsrc:x:y\n}\n'
refused "everything" "1: the frames are all \.\.\." '{\nname\nHelgrind:Race\n...\n}\n'
refused "no frame" "1: the frames are all \.\.\." '{\nname\nHelgrind:Race\n}\n'
refused "a brace too many" "1: another { comes before" '{\nname\nHelgrind:Race\n{\n}\n'
refused "too many frames" "28: the suppression has more than 24" \
	"{\nname\nHelgrind:Race\n$(printf 'fun:x\\n%.0s' {1..25})}\n"
head -c 5000000 /dev/zero | tr '\0' x >supp
asked "too large" 1 "" "supp: larger than 4 MiB" races --suppressions=supp one.dep
asked "no such file" 1 "" "nowhere: No such file" races --suppressions=nowhere one.dep
asked "a directory" 1 "" "one.dep: Is a directory" races --suppressions=one.dep one.dep

for format in tsan valgrind; do
	asked "--print-suppressions=$format" 0 - "" races --print-suppressions=$format one.dep
	cp out supp.$format
	asked "$format: they fit" 0 "^suppressed: 3$" "" races --suppressions=supp.$format one.dep
	asked "$format: also another run" 0 "^suppressed: 3$" "" \
		races --suppressions=supp.$format two.dep
	asked "$format: without symbols" 0 - "" races --print-suppressions=$format bare.dep
	cp out supp.bare
	asked "$format: they fit without symbols" 0 "^suppressed: 3$" "" \
		races --suppressions=supp.bare bare.dep
done
asked "of no such tool" 2 "" "must be tsan or valgrind" races --print-suppressions=drd one.dep
if have valgrind; then
	asked "Helgrind takes them" 0 - "0 errors from 0 contexts \(suppressed: [1-9]" \
		valgrind --tool=helgrind --error-exitcode=9 --suppressions=supp.valgrind ./prog
fi
if have clang++ && clang++ -O1 -g -fsanitize=thread -o prog.tsan "$source" 2>err; then
	TSAN_OPTIONS=suppressions=supp.tsan asked "ThreadSanitizer takes them" 0 "" "" ./prog.tsan
fi

# ---- a baseline ----
asked "--new-since" 0 "^1 race in" "" races --new-since=part.dep one.dep
prints out "^not new: 2, in part.dep$" && pass "it says how many are not new" ||
	fail "it does not say how many are not new"
prints out "#0 __memset" && pass "the new one is shown" || fail "the new one is not shown"
asked "nothing is new" 0 "^0 races" "" races --error-exitcode=7 --new-since=two.dep one.dep
asked "less than before" 0 "^not new: 2, in one.dep$" "" races --new-since=one.dep part.dep
asked "--baseline" 0 "^not new: 3, in one.json$" "" races --baseline=one.json two.dep
asked "both" 0 "^not new: 3, in part.dep or one.json$" "" \
	races --baseline=one.json --new-since=part.dep two.dep
asked "in JSON" 0 - "" races --json --new-since=part.dep one.dep
is "in JSON: how many" "$(json 'len(a["races"]), a["in_baseline"]')" "(1, 2)"
asked "in SARIF" 0 '"notNew":2' "" races --sarif --new-since=part.dep one.dep
asked "no such base line" 1 "" "there is no store nowhere" races --new-since=nowhere one.dep
asked "no such file" 1 "" "nowhere: No such file" races --baseline=nowhere one.dep
asked "no JSON" 1 "" "supp is not JSON" races --baseline=supp one.dep
echo '{"races":7}' >bad
asked "other JSON" 1 "" "is not what depctl query races --json prints" races --baseline=bad one.dep
echo '{"races":[{"fingerprint":"1"}]}' >bad
asked "no fingerprint" 1 "" "a race has no fingerprint" races --baseline=bad one.dep
printf '%0100000d' 0 | tr 0 '[' >bad
asked "deep JSON" 1 "" "bad is not JSON" races --baseline=bad one.dep

# ---- the command line ----
asked "two forms" 2 "" "only one of" races --json --sarif one.dep
asked "no number" 2 "" "must be a number" races --error-exitcode=x one.dep
asked "no store" 2 "" "which store" races --all
asked "two stores" 2 "" "one store at a time" races one.dep two.dep
asked "is no store" 1 "" "is no DEP store" races supp
asked "a socket for a store" 2 "" "--socket needs --live" races --socket=nowhere one.dep
asked "live without a session" 2 "" "which session" races --live
asked "live of a store" 2 "" "SESSION must be a number" races --live one.dep

# ---- atomic operations in the source, if the source is what was compiled ----
cp "$tests/races/atomic_one_shot.c" once.c
gcc -O2 -g -pthread -I"$tests/races" -o once once.c || exit 1
"$DEPCTL" record -q -o once.dep ./once || exit 1
asked "atomic by the source" 0 "^0 races .* 1 more unless a word is atomic" - \
	races once.dep
sleep 0.02
touch once.c
asked "a source that is newer" 0 "^race: .* flag" - races once.dep
rm once.c
asked "a source that is gone" 0 "^race: .* flag" - races once.dep

# ---- missing data is reported ----
for how in gap:"1 gap in the recording" drop:"3 chunks were dropped" \
	unseen:"1 gap in the recording" unclean:"the recorder was killed"; do
	"$build/tests/make_store" "${how%%:*}.dep" "${how%%:*}"
	asked "incomplete: ${how%%:*}" 0 "^complete: no, .*${how#*:}" - races "${how%%:*}.dep"
done
asked "in JSON" 0 \
	'"complete":false,"missing":\["1 gap in the recording of a thread","thread 100: 3 chunk' - \
	races --json gap.dep
asked "in SARIF" 0 '"toolExecutionNotifications":\[\{"level":"warning"' - races --sarif gap.dep
asked "in suppressions" 0 "" "there may be more races" races --print-suppressions=tsan gap.dep
asked "in a base line" 0 - "gap.dep is not complete" races --new-since=gap.dep one.dep
cp -r one.dep clocks.dep
"$build/tests/set_manifest" clocks.dep tsc_trusted false
asked "clocks that are not one" 0 "^clocks: the order is that of" "" races clocks.dep
asked "in SARIF" 0 '"text":"the order is that of' "" races --sarif clocks.dep
cp -r one.dep cut.dep && : >cut.dep/segments.000
asked "no segments at all" 0 "^complete: no, .*threads? without a segment" - races cut.dep
cp -r one.dep torn.dep
flip torn.dep/segments.000 $(($(stat -c %s torn.dep/segments.000) / 2))
asked "an unreadable segment" 0 "^complete: no, .*gaps? in the recording" - races torn.dep

# ---- record --races ----
mkdir tmp
export TMPDIR=$tmp/tmp
asked "record --races" 0 "" "^3 races in" "$DEPCTL" record --races -- ./prog
asked "with -o" 0 "" "kept.dep: 1 process" "$DEPCTL" record --races -o kept.dep -- ./prog
prints err "^3 races in" && [ -d kept.dep ] && pass "the store is kept" || fail "no store is kept"
asked "its status" 3 "" "^3 races" "$DEPCTL" record --races ./prog three
asked "--error-exitcode instead" 66 "" "^3 races" "$DEPCTL" record --races --error-exitcode=66 \
	./prog three
asked "not without races" 3 "" "^0 races" "$DEPCTL" record --races --error-exitcode=66 \
	./prog three counter table heap
asked "killed" 137 "" "^3 races" "$DEPCTL" record --races ./prog kill
asked "killed, with --error-exitcode" 66 "" "^3 races" "$DEPCTL" record --races \
	--error-exitcode=66 ./prog kill
asked "with a base line" 0 "" "^not new: 2" "$DEPCTL" record --races --new-since=part.dep ./prog
asked "--report" 0 "" "" "$DEPCTL" record --races --sarif --report=sarif ./prog
python3 "$tests/races/check_sarif.py" sarif 3 >why && pass "SARIF of it" ||
	fail "SARIF of it: $(cat why)"
asked "no such command" 127 "" "command not found" "$DEPCTL" record --races no-such-command
asked "wrong suppressions are refused" 1 "" "nowhere: No such file" "$DEPCTL" record --races \
	--suppressions=nowhere ./prog
asked "no --null" 2 "" "--races needs records" "$DEPCTL" record --races --null ./prog
asked "no --no-record" 2 "" "--races needs records" "$DEPCTL" record --races --no-record ./prog
asked "only with --races" 2 "" "--sarif needs --races" "$DEPCTL" record --sarif ./prog
TMPDIR=/nonexistent asked "no room for a store" 1 "" "choose another place with -o or TMPDIR" \
	"$DEPCTL" record --races ./prog
set -m
"$DEPCTL" record --races -- ./prog wait >out 2>err &
pid=$!
for _ in $(seq 100); do
	! grep -q ready out || break
	sleep 0.1
done
kill -INT -- -$pid
wait $pid
status=$?
set +m
is "Ctrl-C ends the program" "$status" 130
prints err "^3 races in" && pass "and races are reported" ||
	fail "and nothing is reported: $(cat err)"
is "nothing is left behind" "$(ls tmp)" ""
# ---- memory that is not a variable ----
for kind in heap_free_early object_mutex_destroy fd_close_write; do
	gcc -O2 -g -pthread -DRACY -o $kind "$tests/races/$kind.c" || exit 1
	timeout 60 "$DEPCTL" record -q -o $kind.dep -- ./$kind || fail "recording $kind"
done
asked "a block" 0 "^  byte 4 of a block of 16, allocated by thread [0-9]+ \(main\):$" "" \
	races heap_free_early.dep
prints out "^  (earlier )?free by thread [0-9]+:$" && pass "free" || fail "free: $(head -n 2 out)"
grep -A1 'allocated by' out >block
prints block "#0 main .*heap_free_early.c:[0-9]+" && pass "where it was allocated" ||
	fail "where it was allocated: $(tail -n 1 block)"
asked "a block, --json" 0 - "" races --json heap_free_early.dep
is "block in JSON" "$(json 'a["races"][0]["block"]["size"],
	a["races"][0]["block"]["stack"][0]["function"],
	sorted(x["free"] for x in a["races"][0]["accesses"])')" "(16, 'main', [False, True])"
asked "an object" 0 "^race: object at 0x[0-9a-f]+, lock \(" "" races object_mutex_destroy.dep
prints out "^  (earlier )?making or destruction by thread" && pass "its end" ||
	fail "its end: $(head -n 2 out)"
asked "a descriptor" 0 "^race: descriptor [0-9]+, " "" races fd_close_write.dep
prints out "^  (earlier )?close by thread" && pass "its close" || fail "its close: $(head -n 2 out)"

finish
