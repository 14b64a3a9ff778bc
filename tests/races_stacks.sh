#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The stacks of race reports are those that the program sees with backtrace().
. "$(dirname "$0")/lib.sh"
need_depctl
have g++ && have python3 || finish
cd "$tmp" || exit 1
g++ -O2 -g -pthread -o prog "$tests/programs/race_stacks.cpp" || exit 1

# A frame has the address of a call, backtrace() the address behind it.  A function that ended by a
# tail call is in the report only; a return from a handler is in backtrace() only.
cat >compare.py <<'END'
import json
import sys

TAILS = {"tail_middle(int)", "tail_from(int)"}
# In front of the first frame of a coroutine, backtrace() has what makecontext() put there; the
# report goes on with the callers of the function that first changed to the coroutine.
BELOW_COROUTINE = ["swapcontext"] + 3 * ["resume(int)"] + ["run_coroutine(void*)"]
ACCESS = {
    "at_tail": "tail_to(int)", "at_longjmp": "land()", "at_throw": "catches()",
    "at_handler": "callback()", "at_altstack": "callback_alternate()",
    "at_recursion": "down(int)", "at_coroutine": "inside(int)", "at_fork": "forker(int)",
}


def stacks(report):
    """By case: the frames of the access, without those of inlined functions."""
    by_function = {function: case for case, function in ACCESS.items()}
    for race in report["races"]:
        for access in race["accesses"]:
            frames = [f for f in access["stack"] if not f["inlined"]]
            name = (frames[0]["function"] or "").replace(" [clone .cold]", "")
            if name in by_function:
                yield by_function[name], frames[1:]


def is_at(frame, seen, behind):
    module, offset = seen.rsplit("+", 1)
    distance = int(offset, 16) - int(frame["module_offset"], 16)
    return (module.split("/")[-1] == (frame["module"] or "").split("/")[-1] and
            (2 <= distance <= 8 if behind else not distance))


def compare(case, frames, seen):
    if case == "at_coroutine":
        names = [f["function"] for f in frames[len(seen) - 1:]]
        if names[:len(BELOW_COROUTINE)] != BELOW_COROUTINE:
            return "below the coroutine: %s" % names
        frames, seen = frames[:len(seen) - 1], seen[:-1]
    if case == "at_tail":
        if [f["function"] for f in frames[:2]] != ["tail_middle(int)", "tail_from(int)"]:
            return "no tail calls"
        frames = frames[2:]
    at = 0
    for n, frame in enumerate(frames):
        if at < len(seen) and is_at(frame, seen[at], True):
            at += 1
        elif at + 1 < len(seen) and is_at(frame, seen[at + 1], False):
            at += 2
        else:
            return "frame %d is %s+%s, not %s" % (
                n, frame["module"], frame["module_offset"], seen[at:at + 1])
    return "" if at == len(seen) else "%d of %d frames" % (at, len(seen))


with open(sys.argv[1], encoding="utf-8") as file:
    found = list(stacks(json.load(file)))
with open(sys.argv[2], encoding="utf-8") as file:
    lines = dict(line.rstrip("\n").split(" ", 1) for line in file)
for case in ACCESS:
    mine = [frames for name, frames in found if name == case]
    wrong = [w for w in (compare(case, f, lines[case].split(" ")) for f in mine) if w]
    print(case, "no race" if not mine else wrong[0] if wrong else
          "ok")
END

for option in --ring-size=4M --ring-size=64K --strict; do
	rm -rf dep
	if ! clean timeout 60 "$DEPCTL" record -q $option -o dep -- ./prog >seen 2>err; then
		fail "$option: $(tail -n 1 err)"
		continue
	fi
	timeout 60 "$DEPCTL" query races --json dep >json 2>err || fail "$option: $(tail -n 1 err)"
	python3 compare.py json seen >result 2>&1
	for name in tail longjmp throw handler altstack recursion coroutine fork; do
		is "$option: at_$name" "$(sed -n "s/^at_$name //p" result)" ok
	done
done
finish
