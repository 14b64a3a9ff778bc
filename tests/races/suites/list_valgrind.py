#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""list_valgrind.py DIR: what the tests of helgrind and drd in DIR expect, in lines as those of
list_llvm.py.  A program that both have, with the same arguments, is one test."""
import glob
import os
import re
import sys

RACE = re.compile(r"Possible data race|Conflicting (load|store)")
PLACE = re.compile(r"^ *at 0x.*\((\S+):(\d+)\)$")
BEGIN = re.compile(r"Possible data race|This conflicts with|Conflicting (load|store)")
OPTIONS = re.compile(r"suppressions=|--tool=|ignore|exclusive-threshold|--trace-|verify-conflict")
SOURCES = [
    (r"ANNOTATE_|VALGRIND_|DRD_|unified_annotations|valgrind\.h|helgrind/helgrind\.h",
     "requests to valgrind or annotations"),
    (r"coregrind/|drd/drd_|pub_drd", "parts of valgrind"),
    (r"boost/|dlopen_lib", "builds of its own"),
]


def fields(path):
    with open(path, encoding="utf-8") as text:
        return dict(line.rstrip("\n").split(":", 1) for line in text
                    if ":" in line and not line.startswith("#"))


def expected(test):
    """The text of what is expected on standard error, of the first variant that there is."""
    for path in sorted(glob.glob(test[:-len("vgtest")] + "stderr.exp*")):
        if not re.search(r"freebsd|solaris|darwin|mips|ppc|s390|32bit", path):
            with open(path, encoding="utf-8", errors="replace") as text:
                return text.read()
    return None


def lines_of(text, name):
    lines = set()
    begun = False
    for line in text.split("\n"):
        if BEGIN.search(line):
            begun = True
        place = PLACE.match(line)
        if place and begun:
            begun = False
            if place.group(1) == name:
                lines.add(int(place.group(2)))
    return lines


def source_of(folder, program):
    base = os.path.normpath(os.path.join(folder, program))
    for ending in (".c", ".cpp"):
        if os.path.exists(base + ending):
            return base + ending
    return None


def judge(test, values, source):
    text = expected(test)
    if not source or text is None:
        return "out", "no source of that name, or nothing expected", set()
    if OPTIONS.search(values.get("vgopts", "")):
        return "out", "options of valgrind", set()
    with open(source, encoding="utf-8", errors="replace") as lines:
        content = lines.read()
    for pattern, reason in SOURCES:
        if re.search(pattern, content):
            return "out", reason, set()
    if RACE.search(text):
        return "race", "", lines_of(text, os.path.basename(source))
    if re.search(r"^ *at 0x|ERROR SUMMARY: [1-9]|<error>", text, re.MULTILINE):
        return "out", "a report of another kind", set()
    return "free", "", set()


def main():
    top = sys.argv[1]
    cases = {}
    for suite in ("helgrind", "drd"):
        folder = os.path.join(top, suite, "tests")
        for test in sorted(glob.glob(os.path.join(folder, "*.vgtest"))):
            values = fields(test)
            source = source_of(folder, values.get("prog", "").strip())
            args = values.get("args", "").strip()
            verdict, why, lines = judge(test, values, source)
            key = (source or test, args)
            case = cases.setdefault(key, [suite, [], why, set()])
            case[1].append(verdict)
            case[3] |= lines
    for (source, args), (suite, verdicts, why, lines) in cases.items():
        # where one of them finds a race there is one, whatever the other misses
        verdict = min(verdicts, key=("race", "free", "out").index)
        name = "%s/%s" % (suite, os.path.basename(source) + (" " + args if args else ""))
        if verdict != "out":
            why = ",".join(str(n) for n in sorted(lines))
        print("\t".join(("valgrind", name, verdict, why or "-", source, args or "-")))


if __name__ == "__main__":
    main()
