#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check depctl query paths --json --min=0 --iterations=K.

paths_iterations.py laws ROWS...: output for K = 1, 2, 3...; the first without the option.  Each of
them must follow from the next one, and each path must lead to those that are counted behind it.

paths_iterations.py known ROWS K ONE ARG...: ROWS for K, and ONE for 1, of around() of paths_cover.c
called with each ARG, must be what the digits say.

Prints what is wrong.
"""
import collections
import json
import sys


def read(name):
    with open(name, encoding="utf-8") as f:
        return [json.loads(line) for line in f][:-1]


def sequence(row):
    """Numbers of the paths of a row; one if it is no sequence."""
    return tuple(int(n) for n in (row.get("sequence") or str(row["number"])).split(">"))


def paths(row):
    """The blocks of each path."""
    return row["path"].split(" > ")


def function(row):
    return row["process"], json.dumps(row["at"], sort_keys=True)


def last_path(row):
    """All that is said of the last path of a row."""
    keys = "kind", "number", "next", "blocks", "path_instructions"
    return function(row) + tuple(row[k] for k in keys) + (paths(row)[-1],)


def count(rows, key):
    counts = collections.Counter()
    for row in rows:
        counts[key(row)] += row["executions"]
    return counts


def differ(what, have, want):
    if have == want:
        return
    wrong = [k for k in set(have) | set(want) if have[k] != want[k]]
    print(f"{what}: {len(wrong)} differ, such as {wrong[0]}: {have[wrong[0]]}, "
          f"not {want[wrong[0]]}")


def check_projection(rows, k, fewer):
    """The last k - 1 paths of @rows are those of @fewer."""
    def key(row):
        return last_path(row) + sequence(row)[-(k - 1):]

    differ(f"{k} paths", count(rows, key), count(fewer, key))
    if sum(r["instructions"] for r in rows) != sum(r["instructions"] for r in fewer):
        print(f"{k} paths: not as many instructions")


def check_flow(rows, k):
    """Behind a path that goes back to the head of a loop, another one follows."""
    ended = [r for r in rows if r["kind"] == "path" and r["next"]]
    behind = [r for r in rows if r["kind"] != "loop" and len(sequence(r)) > 1]
    differ(f"windows of {k}", count(behind, lambda r: (function(r), sequence(r)[:-1])),
           count(ended, lambda r: (function(r), sequence(r)[-(k - 1):])))


def check_blocks(rows, k):
    """The blocks of paths in front are those of their own rows, and lead to the next path."""
    known = {function(r) + (r["number"],): (paths(r)[-1], r["next"])
             for r in rows if r["kind"] == "path"}
    for row in rows:
        if row["kind"] == "loop":
            continue
        numbers, blocks = sequence(row), paths(row)
        if not len(numbers) == len(blocks) <= k:
            print(f"{len(numbers)} numbers and {len(blocks)} paths with {k} iterations")
        for i, number in enumerate(numbers[:-1]):
            first = blocks[i + 1].split()[0].split("#")[0]
            if known[function(row) + (number,)] != (blocks[i], first):
                print(f"path {number} of {row['at']}: {blocks[i]} does not lead to {first}")


def laws(names):
    all_rows = [read(name) for name in names]
    for k, rows in enumerate(all_rows, 1):
        if len(set((function(r), r["kind"], r["path"].split()[-1], sequence(r))
                   for r in rows)) != len(rows):
            print(f"{k} paths: two rows of one sequence")
        if k > 1:
            check_projection(rows, k, all_rows[k - 2])
            check_flow(rows, k)
            check_blocks(rows, k)


def executed(args):
    """What around() executes in each call: its paths differ in place and digit."""
    return [[(i == 0, digit, i == len(arg) - 1) for i, digit in enumerate(arg)] for arg in args]


def known(rows, k, one, args):
    calls = executed(args)
    want = collections.Counter(tuple(call[max(i + 1 - k, 0):i + 1])
                               for call in calls for i in range(len(call)))
    # The arguments are such that the paths are executed differently often.
    single = collections.Counter(path for call in calls for path in call)
    name = {n: path for path, n in single.items()}
    assert len(name) == len(single)
    path_of = {r["number"]: name[r["executions"]] for r in read(one)}
    have = collections.Counter({tuple(path_of[n] for n in sequence(r)): r["executions"]
                                for r in read(rows)})
    differ("known paths", have, want)


if sys.argv[1] == "laws":
    laws(sys.argv[2:])
else:
    known(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:])
