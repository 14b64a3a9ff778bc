#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is one dump of references the end of another one, for each worker of programs/last_part?

last.py WHOLE PART START END WORKERS SIZE: references of the code from START to before END, and the
workers' memory of SIZE bytes each (hexadecimal).  Prints "worker N: equal", "worker N: dropped" if
it has none in PART, or what differs.
"""
import sys


def references(path, start, end):
    """Lines of the code in question, by thread, as lists of (pc, address, size, type)."""
    threads = {}
    with open(path) as lines:
        for line in lines:
            thread, pc, *rest = line.split()
            if start <= int(pc, 16) < end:
                threads.setdefault(thread, []).append((pc, *rest))
    return threads.values()


def by_worker(threads, workers, size):
    return {(int(refs[0][1], 16) - workers) // size: refs for refs in threads}


def main():
    whole, part, *numbers = sys.argv[1:]
    start, end, workers, size = (int(n, 16) for n in numbers)
    whole = by_worker(references(whole, start, end), workers, size)
    part = by_worker(references(part, start, end), workers, size)
    for number, refs in sorted(whole.items()):
        end_of = part.get(number, [])
        if not end_of:
            print(f"worker {number}: dropped")
        elif len(end_of) >= len(refs):
            print(f"worker {number}: {len(end_of)} references of {len(refs)}")
        elif refs[-len(end_of):] != end_of:
            print(f"worker {number}: {len(end_of)} references are not the last ones")
        else:
            print(f"worker {number}: equal")


main()
