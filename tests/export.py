#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare exported profiles with those of other tools, for tests/export.sh.

    export.py callgrind OURS VALGRIND'S OBJECT    instructions of each line of an object are equal
    export.py lcov OURS GCOV'S SOURCE             counts of each line that both know are equal
    export.py speedscope FILE TOTAL               profiles are consistent and add up
    export.py drcov FILE NAME OBJDUMP             blocks lie on instructions of the program
    export.py pprof TEXT SUMS..                   protoc's text has these sums of values
"""
import collections
import json
import re
import struct
import sys


class Callgrind:
    """Self instructions and calls of a file, by object, function and line."""

    def __init__(self, path):
        self.lines = collections.Counter()
        self.calls = collections.Counter()
        self.inclusive = collections.Counter()
        self.objects = collections.Counter()
        self.total = 0
        names = {}
        at = {"ob": "", "fn": ""}
        last = 0
        calls = None
        for line in open(path, encoding="utf-8", errors="replace"):
            line = line.rstrip("\n")
            found = re.match(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=(\(\d+\))?\s?(.*)", line)
            if found:
                key, number, name = found.groups()
                space = key.lstrip("c") if key != "cob" else "ob"
                space = "fl" if space in ("fi", "fe", "fl") else space
                if number:
                    name = names.setdefault((space, number), name) if name else \
                        names[space, number]
                at[key] = name
            elif line.startswith("summary:"):
                self.total = int(line.split()[1])
            elif line.startswith("calls="):
                calls = int(line[6:].split()[0])
            elif re.match(r"[-+*\d]", line):
                where, *cost = line.split()
                last = last if where == "*" else last + int(where) if where[0] in "+-" else \
                    int(where)
                n = int(cost[0]) if cost else 0
                if calls is not None:
                    pair = at["ob"], at["fn"].split("'")[0], at["cfn"].split("'")[0]
                    self.calls[pair] += calls
                    self.inclusive[pair] += n
                    calls = None
                    continue
                self.lines[at["ob"], at["fn"].split("'")[0], last] += n
                self.objects[at["ob"]] += n


def fail(text):
    print(text)
    sys.exit(1)


def differences(a, b):
    return ["%s: %s, not %s" % (k, a.get(k), b.get(k)) for k in sorted(set(a) | set(b))
            if a.get(k, 0) != b.get(k, 0)]


def callgrind(ours, theirs, name):
    a, b = Callgrind(ours), Callgrind(theirs)
    if sum(a.objects.values()) != a.total:
        fail("the lines have %d, the summary %d" % (sum(a.objects.values()), a.total))

    # Code without lines, such as stubs, has other names there.
    def own(counter):
        return {k[1:]: n for k, n in counter.items()
                if k[0].endswith("/" + name) and k[-1] and n}

    lines = own(a.lines)
    functions = {f for f, _ in lines}

    # Valgrind adds a recursive call's cost up in another way.
    def among(counter, recursive):
        return {k: n for k, n in own(counter).items() if set(k) <= functions and
                (recursive or k[0] != k[1] and k[0][:3] != "is_")}

    if len(lines) < 30 or len(among(a.calls, True)) < 8:
        fail("only %d lines, %d calls" % (len(lines), len(among(a.calls, True))))
    bad = differences(lines, own(b.lines))
    bad += differences(among(a.calls, True), among(b.calls, True))
    bad += differences(among(a.inclusive, False), among(b.inclusive, False))
    if bad:
        fail("; ".join(bad[:5]))


def lcov(ours, theirs, source):
    counts, name = {}, ""
    for line in open(ours, encoding="utf-8"):
        if line.startswith("SF:"):
            name = line[3:].strip()
        elif line.startswith("DA:") and name.endswith("/" + source):
            number, count = line[3:].split(",")
            counts[int(number)] = int(count)
    expected = {}
    for line in open(theirs, encoding="utf-8"):
        count, number, _ = line.split(":", 2)
        count = count.strip().rstrip("*")
        if int(number) and count != "-":
            expected[int(number)] = 0 if count[0] in "#=" else int(count)
    both = set(counts) & set(expected)
    if len(both) < 30 or not [n for n in both if not counts[n]]:
        fail("only %d lines in common, or none that never ran" % len(both))
    bad = ["line %d: %d, not %d" % (n, counts[n], expected[n]) for n in sorted(both)
           if counts[n] != expected[n]]
    if bad:
        fail("; ".join(bad[:5]))


def speedscope(path, total):
    data = json.load(open(path, encoding="utf-8"))
    frames = len(data["shared"]["frames"])
    whole = 0
    for p in data["profiles"]:
        stack, at = [], p["startValue"]
        for e in p["events"]:
            if e["at"] < at or not 0 <= e["frame"] < frames:
                fail("bad event %s" % e)
            at = e["at"]
            if e["type"] == "O":
                stack.append(e["frame"])
            elif stack.pop() != e["frame"]:
                fail("closes a frame that is not open: %s" % e)
        if stack or at != p["endValue"]:
            fail("profile %s ends at %d, not %d" % (p["name"], at, p["endValue"]))
        whole += p["endValue"]
    if whole != int(total):
        fail("%d in total, not %s" % (whole, total))


def drcov(path, name, objdump):
    head, rest = open(path, "rb").read().split(b"BB Table: ", 1)
    count, rows = rest.split(b" bbs\n", 1)
    if len(rows) != 8 * int(count):
        fail("%s rows in %d bytes" % (count, len(rows)))
    modules = [line.split(b", ")[-1].decode() for line in head.splitlines()[4:]]
    starts = {int(m[1], 16) for m in
              re.finditer(r"^ +([0-9a-f]+):\t", open(objdump, encoding="utf-8").read(), re.M)}
    found = 0
    for start, size, module in struct.iter_unpack("<IHH", rows):
        if not modules[module].endswith("/" + name):
            continue
        found += 1
        if start not in starts or not size:
            fail("block %x of %d bytes does not begin with an instruction" % (start, size))
    if found < 20:
        fail("only %d blocks" % found)


def pprof(path, *sums):
    """Values of all samples, in the text that protoc --decode prints."""
    text = open(path, encoding="utf-8").read()
    got = [0] * len(sums)
    for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
        for i, value in enumerate(re.findall(r"^  value: (\d+)", sample, re.M)):
            got[i] += int(value)
    if [str(n) for n in got] != list(sums):
        fail("sums %s, not %s" % (got, list(sums)))


{"callgrind": callgrind, "lcov": lcov, "speedscope": speedscope, "drcov": drcov,
 "pprof": pprof}[sys.argv[1]](*sys.argv[2:])
