#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The calling contexts of an attached process begin with what its threads had called before.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
cd "$tmp" || exit 1
have gcc && have python3 || finish
gcc -O2 -g -pthread -o deep "$tests/programs/attach_deep.c" || exit 1

cat >check.py <<'END'
import json
import re
import sys

rows = [json.loads(line) for line in open("contexts.json", encoding="utf-8")]
rows = [r for r in rows if "context" in r]
total = sum(int(r["instructions"]) for r in rows)
row = {r["context"]: r for r in rows}


def check(what, good, why=""):
    print("ok" if good else "FAIL", what, "" if good else str(why)[:300])


def name(r):
    return r["at"]["function"]


def path(r):
    """The functions from the outermost caller on."""
    names = []
    while r:
        names.insert(0, name(r))
        r = row.get(r["parent_context"])
    return names


def callers(r):
    """The numbers of all callers of a context."""
    while r["parent_context"] in row:
        r = row[r["parent_context"]]
        yield r["context"]


def below(root):
    """All contexts of a tree, and their instructions."""
    inside = {root["context"]}
    for r in sorted(rows, key=lambda r: r["context"]):
        if r["parent_context"] in inside:
            inside.add(r["context"])
    return [row[i] for i in inside]


def threads(function):
    found = [r for r in rows if name(r) == function]
    check("%s has one context" % function, len(found) == 1, [path(r) for r in found])
    return found[0]


roots = [r for r in rows if not r["parent_context"]]
check("each thread has one outermost function, the first of its stack",
      sorted(name(r) for r in roots) == ["_start", "clone3"] and
      all(r["entry"] == "start" for r in roots), [(name(r), r["entry"]) for r in roots])
check("all instructions are in them", sum(int(r["inclusive_instructions"]) for r in roots) == total)
main = threads("main")
check("main was not called", int(main["calls"]) == 0, main)
check("main's callers", path(main)[0] == "_start", path(main))

for function, above in ("run_framed", ["with_frame"]), ("run_plain", []):
    thread = threads(function)
    check(function + " was not called", int(thread["calls"]) == 0, thread)
    calls = [(path(r)[len(path(thread)):], int(r["calls"])) for r in below(thread)]
    downs = [r for r in below(thread) if name(r) == "down"]
    check(function + ": each level of the recursion has one context", len(downs) == 31,
          sorted(len(path(r)) for r in downs))
    check(function + ": calls made after the attach", {int(r["calls"]) for r in downs} == {4},
          [(len(path(r)), r["calls"]) for r in downs])
    deepest = max(downs, key=lambda r: len(path(r)))
    check(function + ": the path", path(deepest)[len(path(thread)):] == above + 31 * ["down"],
          path(deepest))
    check(function + ": no guess", not any(r["entry"] == "guess" for r in below(thread)))
    # from each level, after(n) was called in all five calls
    after = [int(r["calls"]) for r in below(thread) if name(r) == "after" and
             name(row[r["parent_context"]]) == "down"]
    check(function + ": calls after a return from a call before the attach",
          sorted(after) == 31 * [5], sorted(after))
    check(function + ": nothing is outside of it",
          path(thread) == ["clone3", "start_thread", function], path(thread))

thread = threads("run_hidden")
check("a caller that a search found is a guess", thread["entry"] == "guess", thread)
check("those that are called again are none",
      not any(r["entry"] == "guess" for r in below(thread) if r is not thread),
      [(name(r), r["entry"]) for r in below(thread)])
check("the caller of the function without table", [path(r)[-3:] for r in rows if
      name(r) == "hidden"] == [["run_hidden", "hidden_caller", "hidden"]],
      [path(r) for r in rows if name(r) == "hidden"])

report = json.load(open("report.json", encoding="utf-8"))
outermost = [r for r in rows if r["entry"] == "guess" and
             not any(row[i]["entry"] == "guess" for i in callers(r))]
check("the report has the instructions below guesses", report["guessed_callers"] == {
    "thread_count": 1,
    "instructions": sum(int(r["inclusive_instructions"]) for r in outermost)},
      (report["guessed_callers"], [path(r) for r in outermost]))
share = 100 * report["guessed_callers"]["instructions"] / report["instructions"]
text = open("report", encoding="utf-8").read().splitlines()
check("the report says so", "1 thread ran below callers at the attach that are guesses, for %.1f%% "
      "of all instructions; see depctl query contexts store" % share in text, text[:5])

events = json.load(open("trace.json", encoding="utf-8"))["traceEvents"]
guesses = {e["name"] for e in events if e.get("args", {}).get("guess")}
check("the Chrome trace has the guesses", guesses == {
    name(r) for r in rows if r["entry"] == "guess"}, guesses)

firefox = json.load(open("firefox.json", encoding="utf-8"))
shared = firefox["shared"]
frames, functions, strings = (shared[k] for k in ("frameTable", "funcTable", "stringArray"))
categories = firefox["meta"]["categories"]
marked = {strings[functions["name"][f]] for f, c in zip(frames["func"], frames["category"])
          if categories[c]["name"] == "Guessed caller"}
check("the Firefox profile has the guesses", marked == guesses, marked)
check("their color is another one", len({c["color"] for c in categories}) == 2, categories)
check("other frames have no such category", frames["category"].count(0) > 10 and
      set(frames["category"]) == {0, 1}, set(frames["category"]))

# pprof: the sums of the samples with a label.
if len(sys.argv) > 1:
    text = open(sys.argv[1], encoding="utf-8").read()
    table = re.findall(r'^string_table: "(.*)"$', text, re.M)
    insns, marked, samples = 0, set(), re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S)
    for sample in samples:
        labels = [table[int(s)] for k, s in re.findall(r"key: (\d+)\s+str: (\d+)", sample)
                  if table[int(k)] == "guessed_caller"]
        marked.update(labels)
        insns += int(re.search(r"^  value: (\d+)", sample, re.M)[1]) if labels else 0
    check("pprof has the guesses", marked == guesses, marked)
    check("pprof: the instructions below them",
          insns == report["guessed_callers"]["instructions"], insns)

# Formats that cannot mark a frame: one message says how much is below guesses.
for line in open("warnings", encoding="utf-8"):
    kind, _, why = line.rstrip("\n").partition(" ")
    if kind in ("chrome", "firefox", "pprof"):
        check("export %s: no message" % kind, not why, why)
        continue
    check("export %s: the message" % kind, why == "depctl: store: 1 thread executed %d "
          "instructions below callers at the attach that are guesses, which %s does not mark; "
          "see `depctl query contexts'" % (report["guessed_callers"]["instructions"], kind), why)
desc = [line for line in open("callgrind.out", encoding="utf-8") if line.startswith("desc:")]
check("callgrind describes them", desc == [
    "desc: Guessed callers: %d instructions were executed below callers at an attach that may be "
    "wrong\n" % report["guessed_callers"]["instructions"]], desc)

page = open("page.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page, re.S)[1])
nodes = data["nodes"]
marked = [data["functions"]["name"][nodes["function"][i]] for i in nodes["guesses"]]
check("the page has the guesses", sorted(marked) == sorted(
    {name(r) for r in rows if r["entry"] == "guess"}), marked)
END

coproc program { exec ./deep; }
pid=$program_PID
exec 5<&"${program[0]}" 6>&"${program[1]}"
read -r ready <&5
is "the program is in its calls" "$ready" ready
attach $pid || finish
printf x >&6
read -r again <&5
is "the program goes on" "$again" again
printf x >&6
exec 5<&- 6>&-
wait $recorder
"$DEPCTL" query contexts --json --min=0 --top=100000 store >contexts.json 2>err ||
	fail "contexts: $(cat err) $(tail -n 1 contexts.json)"
[ -e store/profile.contexts ] && fail "contexts with callers by symbols are kept" ||
	pass "contexts of an attached process are not kept"
"$DEPCTL" report --json store >report.json 2>err || fail "report --json: $(cat err)"
"$DEPCTL" report store >report 2>err || fail "report: $(cat err)"
"$DEPCTL" report --html=page.html store >out 2>err || fail "report --html: $(cat err)"
for format in chrome firefox pprof callgrind folded speedscope perfetto perf-script; do
	"$DEPCTL" export $format -o $format.out store 2>err || fail "export $format: $(cat err)"
	echo "$format $(paste -s -d '|' err)"
done >warnings
mv chrome.out trace.json
mv firefox.out firefox.json
# Of a thread that has no guess nothing is said.
"$DEPCTL" export folded --function=run_plain store >out 2>err
is "export --function: no guess is exported" "$(cat err)" ""
have protoc && gunzip <pprof.out >pprof.pb && protoc --proto_path="$tests" \
	--decode=perftools.profiles.Profile profile.proto <pprof.pb >pprof.txt || rm -f pprof.txt
go=/usr/lib/go-1.19/bin/go
if [ -x $go ]; then
	HOME="$tmp" $go tool pprof -top -nodefraction=0 -nodecount=500 \
		-tagfocus=guessed_caller:run_hidden pprof.out >top 2>err || fail "pprof: $(cat err)"
	is "go tool pprof -tagfocus: the instructions below guesses" \
		"$(sed -n 's/^Showing nodes accounting for \([0-9]*\),.*/\1/p' top)" \
		"$(grep -o '"guessed_callers":{[^}]*}' report.json |
			sed 's/.*"instructions":\([0-9]*\).*/\1/')"
else
	skip "golang-1.19-go is not installed"
fi
if have callgrind_annotate; then
	callgrind_annotate callgrind.out >annotated 2>err &&
		grep -q "Guessed callers" annotated && pass "callgrind_annotate: the description" ||
		fail "callgrind_annotate: $(cat err; head -n 5 annotated | tr '\n' '|')"
fi
python3 check.py $(ls pprof.txt 2>/dev/null) >check.out 2>&1 ||
	fail "check.py: $(tail -n 1 check.out)"
while read -r word rest; do
	[ "$word" = ok ] && pass "$rest" || fail "$rest"
done <check.out
"$DEPCTL" query contexts --min=0 --top=100000 store >text 2>err
grep -q "guess .*run_hidden" text && pass "the text has the guesses" ||
	fail "no guess in the text"
"$DEPCTL" query methods --inclusive --json --function=run_plain store >methods.json 2>err
is "methods --inclusive has what the thread's function called" \
	"$(python3 -c 'import json
print(json.loads(open("methods.json").readline())["inclusive_instructions"])')" \
	"$(python3 -c 'import json
for line in open("contexts.json"):
	r = json.loads(line)
	if "at" in r and r["at"]["function"] == "run_plain":
		print(r["inclusive_instructions"])')"
finish
