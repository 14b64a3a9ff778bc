#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the table of paths again: paths.py ROWS TABLE.

ROWS and TABLE are the output of depctl query paths with --json --min=0, and with --json
--table=paths.  Where two edges of a block were executed equally often, either may be the predicted
one, so what is predicted must be between two bounds.  Prints what is wrong.
"""
import json
import sys


def functions(lines):
    """The rows of each function of a process, without loops of one block."""
    all_rows = {}
    for row in lines:
        if row["kind"] != "loop":
            key = row["process"], json.dumps(row["at"], sort_keys=True)
            all_rows.setdefault(key, []).append(row)
    return all_rows


def edges_of(row):
    """The edges of a path, up to that on which it ends."""
    blocks = row["path"].split()
    steps = list(zip(blocks, blocks[1:]))
    return steps + [(blocks[-1], row["next"])] if row["kind"] == "path" else steps


def choose(rows):
    """The edges executed most often out of their block, and those of them that are alone."""
    counts = {}
    for row in rows:
        for source, target in edges_of(row):
            out = counts.setdefault(source, {})
            out[target] = out.get(target, 0) + row["executions"]
    most, alone = set(), set()
    for source, out in counts.items():
        best = [t for t in out if out[t] == max(out.values())]
        most.update((source, t) for t in best)
        alone.update((source, t) for t in best if len(best) == 1)
    return most, alone


def predicted(path, edges):
    """Number of edges of @path up to the first one that is not among @edges."""
    steps = edges_of(path)
    for i, step in enumerate(steps):
        if step not in edges:
            return i
    return len(steps)


def length(path, n):
    """Edges count if they lead to a block."""
    return n - (n == len(edges_of(path)) and path["next"] is None)


def near(name, value, least, most):
    # JSON has six digits.
    if not least * 0.99999 - 1e-9 <= value <= most * 1.00001 + 1e-9:
        print(f"{name}: {value}, not {least} to {most}")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = [json.loads(line) for line in f][:-1]
    with open(sys.argv[2], encoding="utf-8") as f:
        table = json.loads(f.readline())
    paths = [r for r in rows if r["kind"] == "path"]
    executions = sum(r["executions"] for r in paths)
    sums = {"paths": [0, 0], "executions": [0, 0], "edges": [0, 0]}
    count = 0
    for rows_of in functions(rows).values():
        bounds = choose(rows_of)
        here = [r for r in rows_of if r["kind"] == "path"]
        count += bool(here)
        for path in here:
            for bound, edges in enumerate(reversed(bounds)):
                n = predicted(path, edges)
                whole = n == len(edges_of(path))
                sums["paths"][bound] += whole
                sums["executions"][bound] += whole * path["executions"]
                sums["edges"][bound] += length(path, n) * path["executions"]
    near("path_functions", table["path_functions"], count, count)
    near("paths", table["paths"], len(paths), len(paths))
    near("executions", table["executions"], executions, executions)
    mean = sum(length(r, len(edges_of(r))) * r["executions"] for r in paths) / executions
    near("mean_edges", table["mean_edges"], mean, mean)
    mean = sum(r["path_instructions"] * r["executions"] for r in paths) / executions
    near("mean_instructions", table["mean_instructions"], mean, mean)
    longest = max(r["path_instructions"] for r in paths)
    near("longest_instructions", table["longest_instructions"], longest, longest)
    near("predicted_paths", table["predicted_paths"], *(n / len(paths) for n in sums["paths"]))
    near("predicted_executions", table["predicted_executions"],
         *(n / executions for n in sums["executions"]))
    near("predicted_edges", table["predicted_edges"], *(n / executions for n in sums["edges"]))
    if int(table["potential"].split()[0].replace("more", "0") or 0) < len(paths) and \
            not table["potential"].startswith("more"):
        print(f"potential: {table['potential']}, but {len(paths)} were executed")


main()
