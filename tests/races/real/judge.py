#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `depctl query races --json` said of a real program, in a line or some.

    judge.py silent FILE            no race may be there
    judge.py found FILE ONE OTHER   a race between ONE and OTHER must be there, each FUNCTION or
                                    FILE:LINE, or several of which one has to fit: ONE,TWO

Prints "good: ..." if all is as it must be, else what is not.
"""
import json
import os
import sys


def places(access):
    """The names that the place of an access goes by: of its function outside of the C library,
    with what was inlined there, or MODULE+OFFSET."""
    frames = access["stack"] or [{}]
    while len(frames) > 1 and "/libc.so" in (frames[0].get("module") or ""):
        frames = frames[1:]
    names = set()
    for frame in frames:
        function, line = frame.get("function") or "??", frame.get("line")
        if function == "??" and frame.get("module"):
            function = "%s+%s" % (os.path.basename(frame["module"]), frame.get("module_offset"))
        names.add(function)
        if line:
            names.add("%s:%d" % (os.path.basename(frame.get("file") or ""), line))
        if not frame.get("inlined"):
            break
    return names


def text_of(race):
    ends = ["%s %s" % (a["type"], "/".join(sorted(places(a)))) for a in race["accesses"]]
    return "%s [%s] %s" % (race["kind"], race.get("variable") or "", " - ".join(ends))


def main():
    how, path, *pair = sys.argv[1:]
    with open(path) as f:
        report = json.load(f)
    if not report["complete"]:
        print("not complete: %s" % report["missing"])
    elif how == "silent" and report["races"]:
        print("%d races: %s" % (len(report["races"]), "; ".join(map(text_of, report["races"]))))
    elif how == "silent":
        used = ["%s (%d)" % (s["text"], s["races_suppressed"]) for s in report["suppressions"]
                if s["races_suppressed"]]
        print("good: %.1f million references, suppressed: %s" % (report["references"] / 1e6,
                                                                 ", ".join(used) or "none"))
    else:
        one, other = (set(p.split(",")) for p in pair)
        for race in report["races"]:
            a, b = map(places, race["accesses"])
            if (one & a and other & b) or (one & b and other & a):
                print("good: %s, one of %d" % (text_of(race), len(report["races"])))
                return
        print("none between %s and %s, but: %s" % (*pair,
                                                   "; ".join(map(text_of, report["races"]))))


main()
