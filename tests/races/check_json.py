#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_json.py SOURCE racy|right FILE: is what `depctl query races --json` said in FILE what
the source expects?  Says what is not, and exits with 1."""
import json
import sys

import expect


def lines_of(access, source):
    """The first places in the source: that of the first function, and of all inlined in it."""
    lines = set()
    for frame in access.get("stack", []):
        if not expect.same_file(frame.get("file"), source):
            continue
        lines.add(frame.get("line"))
        if not frame.get("inlined"):
            break
    return lines


def main():
    source, variant, name = sys.argv[1:]
    with open(name, encoding="utf-8") as text:
        answer = json.load(text)
    wrong = []
    if answer.get("complete") is not True:
        wrong.append("the answer is not complete: %s windows lost" % answer.get("lost_windows"))
    reports = []
    for race in answer["races"]:
        accesses = [lines_of(access, source) for access in race["accesses"]]
        if len(accesses) != 2:
            wrong.append("a race of %d accesses" % len(accesses))
            continue
        reports.append(expect.Report(race["kind"], accesses, race["variable"]))
    wrong += expect.compare(source, variant, reports)
    for line in sorted(set(wrong)):
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
