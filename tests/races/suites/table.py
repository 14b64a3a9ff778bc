#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""table.py CASES RESULTS: tables of how well each tool did, and "adept SUITE KEY NUMBER" lines
for who wants to judge.

CASES are lines of list_*.py, RESULTS have suite, name, tool, how the run ended ("late" where
it had to be stopped), the number of reports (or "none") and their lines.  Where a test names
no lines the ones that ThreadSanitizer names are taken.
"""
import collections
import re
import sys

TOOLS = ("adept", "helgrind", "drd", "tsan")
SUITES = ("tsan", "valgrind", "archer")
# kinds in which no false report is accepted
STRICT = re.compile(r"(^|/)(fd_|signal|sigalrm|atomic|static_init|cxa_guard|local_static|"
                    r"std_atomic|.*once|race_on_(read|write))")


def numbers(text):
    return set(text.split(",")) - {"-", ""}


class Score:
    def __init__(self):
        self.count = collections.Counter()
        self.wrong = []

    def add(self, name, verdict, ended, reports, right):
        found = reports not in ("none", "0")
        if reports == "none":
            self.count["none"] += 1
        if ended == "late":
            self.count["late"] += 1
        if verdict == "race":
            self.count["TP" if found else "FN"] += 1
            if not found:
                self.wrong.append("missed " + name)
            elif right is not None:
                self.count["right" if right else "elsewhere"] += 1
                if not right:
                    self.wrong.append("elsewhere " + name)
        else:
            self.count["FP" if found else "TN"] += 1
            if found:
                self.wrong.append("false " + name)
                if STRICT.search(name):
                    self.count["strict"] += 1

    def share(self, good, bad):
        n = self.count[good] + self.count[bad]
        return self.count[good] / n if n else None


def shown(share):
    return "-" if share is None else "%.2f" % share


def main():
    cases = {}
    with open(sys.argv[1], encoding="utf-8") as text:
        for line in text:
            suite, name, verdict, lines = line.rstrip("\n").split("\t")[:4]
            cases[suite, name] = (verdict, lines)
    results = {}
    with open(sys.argv[2], encoding="utf-8") as text:
        for line in text:
            suite, name, tool, ended, reports, lines = line.rstrip("\n").split("\t")
            results[suite, name, tool] = (ended, reports, numbers(lines))
    for suite in SUITES:
        mine = {key: case for key, case in cases.items() if key[0] == suite}
        if not mine:
            continue
        reasons = collections.Counter(why for verdict, why in mine.values() if verdict == "out")
        total = collections.Counter(verdict for verdict, _ in mine.values())
        print("\n%s: %d race cases, %d race-free cases, %d left out" %
              (suite, total["race"], total["free"], total["out"]))
        for why, n in sorted(reasons.items()):
            print("    left out: %3d %s" % (n, why))
        print("%-10s %4s %4s %4s %4s %5s %5s %10s %7s %11s" %
              ("tool", "TP", "FP", "FN", "TN", "none", "late", "precision", "recall",
               "right line"))
        for tool in TOOLS:
            score = Score()
            for key, (verdict, lines) in sorted(mine.items()):
                if verdict == "out" or key + (tool,) not in results:
                    continue
                ended, reports, got = results[key + (tool,)]
                named = numbers(lines)
                if not named and tool != "tsan":
                    named = results.get(key + ("tsan",), ("", "", set()))[2]
                score.add(key[1], verdict, ended, reports, bool(named & got) if named else None)
            c = score.count
            if not c:
                print("%-10s absent" % tool)
                continue
            print("%-10s %4d %4d %4d %4d %5d %5d %10s %7s %11s" %
                  (tool, c["TP"], c["FP"], c["FN"], c["TN"], c["none"], c["late"],
                   shown(score.share("TP", "FP")), shown(score.share("TP", "FN")),
                   shown(score.share("right", "elsewhere"))))
            for line in score.wrong:
                print("    %s: %s" % (tool, line))
            if tool == "adept":
                for key in ("TP", "FP", "FN", "right", "elsewhere", "strict", "none"):
                    print("count %s %s %d" % (suite, key, c[key]))


if __name__ == "__main__":
    main()
