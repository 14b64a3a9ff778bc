# SPDX-License-Identifier: GPL-2.0-or-later
"""depctl report --paths against depctl query paths: report_paths.py REPORT.json PATHS.csv

REPORT.json was made with a large --top, PATHS.csv with --min=0.  Prints what differs.
"""
import collections
import csv
import json
import sys




def biases(rows):
    """For each process and file: the address in the process minus the address as linked.

    Most functions have a path that begins with their first block.  A forked child may have the rest
    of a path alone, so the difference that most functions have is taken.
    """
    of_function = {}
    for row in rows:
        key = (row["process"], row["at_module"], row["at_linked_address"])
        start = int(row["at_linked_address"], 16)
        of_function.setdefault(key, set()).update(
            b - start for b in row["path"] if (b - start) % 4096 == 0)
    count = {}
    for (process, module, _), found in of_function.items():
        count.setdefault((process, module), collections.Counter()).update(found)
    return {key: found.most_common(1)[0][0] for key, found in count.items() if found}


def joined(rows, bias):
    """Executions, instructions and processes of each path; paths round each loop."""
    paths, rounds = {}, {}
    for row in rows:
        if row["kind"] == "partial" or (row["process"], row["at_module"]) not in bias:
            continue
        b = bias[row["process"], row["at_module"]]
        blocks = tuple(p - b for p in row["path"])
        back = int(row["next"], 16) - b if row["next"] else None
        key = (row["at_module"], row["at_linked_address"], row["kind"], blocks, back)
        sums = paths.setdefault(key, [0, 0, set()])
        sums[0] += int(row["executions"])
        sums[1] += int(row["instructions"])
        sums[2].add(row["process"])
        if row["kind"] == "loop" or back == blocks[0]:
            rounds.setdefault((row["at_module"], blocks[0]), set()).add(key)
    return {k: [n, insns, len(p)] for k, (n, insns, p) in paths.items()}, rounds


def of_report(row, module, bias):
    """The key and the sums of a path of the report."""
    b = bias[str(row["process"]), module]
    blocks = tuple(int(p, 16) - b for p in row["path"].split())
    back = int(row["next"], 16) - b if row["next"] else None
    return (row["kind"], blocks, back), [row["executions"], row["instructions"],
                                      row["process_count"]]


def main():
    """Compares all paths and the hot paths of all loops."""
    with open(sys.argv[1], encoding="utf-8") as f:
        report = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    for row in rows:
        row["path"] = [int(p, 16) for p in row["path"].split()]
    bias = biases([r for r in rows if r["at_module"]])
    paths, rounds = joined(rows, bias)
    seen = {}
    for row in report["hot_paths"]:
        module = row["at"]["module"] or ""
        if (str(row["process"]), module) not in bias:
            continue
        key, sums = of_report(row, module, bias)
        seen[(module, row["at"]["linked_address"]) + key] = sums
    if seen != paths or len(paths) < 100:
        odd = [k for k in paths.keys() | seen.keys() if paths.get(k) != seen.get(k)]
        print(f"{len(seen)} paths, not {len(paths)}; first odd: {odd[:1]}")
    order = [r["instructions"] for r in report["hot_paths"]]
    if order != sorted(order, reverse=True):
        print("the paths are not sorted")
    partial = [int(r["instructions"]) for r in rows if r["kind"] == "partial"]
    if report["partial_paths"] != {"path_count": len(partial), "instructions": sum(partial)}:
        print("partial paths:", report["partial_paths"], len(partial), sum(partial))
    found = 0
    for loop in report["loops"]:
        module, head = loop["at"]["module"] or "", int(loop["at"]["linked_address"], 16)
        if module not in {m for _, m in bias}:
            continue
        want = rounds.get((module, head))
        most = max((paths[k][0] for k in want), default=0) if want else None
        hot = loop["hot_path"]
        if (hot and hot["executions"]) != most:
            print(f"loop at {module} {head:x}: {hot and hot['executions']}, not {most}")
        elif hot:
            found += 1
            key, sums = of_report(hot, module, bias)
            if sums != paths.get(next(k for k in want if k[2:] == key)):
                print(f"loop at {module} {head:x}: another path {key}")
            if not 0 < hot["executions"] <= loop["iterations"]:
                print(f"loop at {module} {head:x}: {hot['executions']} of {loop['iterations']}")
    if found < 10:
        print(f"only {found} loops have a hot path")


main()
