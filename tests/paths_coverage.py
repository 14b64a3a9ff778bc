#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Count the paths of functions again: paths_coverage.py COVERAGE ROWS...

COVERAGE is the output of depctl query paths with --json --table=coverage, of the stores whose ROWS
are those of --json --min=0.  Each store has one process.  Paths of several stores are the same if
they begin, branch and end at the same places of a function.  Prints what is wrong.
"""
import json
import sys


def rows_of(name):
    with open(name, encoding="utf-8") as f:
        return [json.loads(line) for line in f][:-1]


def main():
    coverage = rows_of(sys.argv[1])
    executions = 0
    paths = set()
    for name in sys.argv[2:]:
        for row in rows_of(name):
            if row["kind"] != "path":
                continue
            executions += row["executions"]
            blocks = [int(b.split("#")[0], 16) for b in row["path"].split()]
            end = int(row["next"], 16) if row["next"] else None
            paths.add((json.dumps(row["at"], sort_keys=True), tuple(blocks), end))
    if len(sys.argv) == 3 and sum(r["paths"] for r in coverage) != len(paths):
        print(f"{sum(r['paths'] for r in coverage)} paths, not {len(paths)}")
    if sum(r["executions"] for r in coverage) != executions:
        print(f"{sum(r['executions'] for r in coverage)} executions, not {executions}")
    for row in coverage:
        potential = row["potential"].replace(">=", "")
        if potential.isdigit() and int(potential) < row["paths"]:
            print(f"{row['function']}: {row['paths']} paths of {potential}")


main()
