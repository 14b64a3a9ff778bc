#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Find cycles of calls between source files: check-cycles.py OBJECT...

The arguments are the object files of one part of the program.  A file uses another one if it has
an undefined symbol that the other one defines.  Prints each cycle with the symbols that close it;
the status is 1 if there is one.
"""
import os
import subprocess
import sys


def uses_of(objects):
    """Returns {file: {used file: [symbols]}}."""
    defined, undefined = {}, {}
    folder = os.path.dirname(os.path.commonprefix(objects))
    output = subprocess.run(["nm", "-A", *objects], capture_output=True, text=True, check=True)
    for line in output.stdout.splitlines():
        path, _, rest = line.partition(":")
        file, fields = os.path.relpath(path, folder)[:-2], rest.split()
        if fields[-2] == "U":
            undefined.setdefault(file, []).append(fields[-1])
        elif fields[-2] in "ABCDRTVW":
            defined[fields[-1]] = file
    uses = {}
    for file, symbols in undefined.items():
        for symbol in symbols:
            other = defined.get(symbol, file)
            if other != file:
                uses.setdefault(file, {}).setdefault(other, []).append(symbol)
    return uses


def cycle_from(start, uses):
    """The shortest way from start back to it, or None."""
    queue, came_from = [start], {}
    for file in queue:
        for other in uses.get(file, ()):
            if other == start:
                way = [file]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if other not in came_from:
                came_from[other] = file
                queue.append(other)
    return None


def main():
    uses, reported = uses_of(sys.argv[1:]), set()
    for file in sorted(uses):
        way = cycle_from(file, uses) if file not in reported else None
        if way:
            reported.update(way)
            print("a cycle:")
            for one, other in zip(way, way[1:] + way[:1]):
                print(f"    {one} uses {', '.join(uses[one][other][:3])} of {other}")
    return 1 if reported else 0


sys.exit(main())
