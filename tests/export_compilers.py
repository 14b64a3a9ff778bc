#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check profiles for compilers, for tests/export_compilers.sh.

    export_compilers.py llvm PROFILE PROGRAM BLOCKS    counts are those of the blocks, line by line
    export_compilers.py gcc PROFILE PROGRAM BLOCKS     the same
    export_compilers.py words PROFILE OUT              convert for dump_gcov, which counts words
    export_compilers.py same OURS PROFGEN'S            all counts of lines and calls are equal

BLOCKS is what `depctl query blocks --json' prints.  objdump finds the instructions of each block,
and llvm-symbolizer their lines, discriminators and inlined calls.
"""
import collections
import json
import re
import struct
import subprocess
import sys

SUFFIX = re.compile(r"(?<=.)\.(cold|constprop|isra|llvm|lto_priv|part)\b.*")


def fail(text):
    sys.exit(text)


def expect_equal(what, ours, theirs):
    wrong = ["%s: %s and not %s" % (key, ours.get(key), theirs.get(key))
             for key in sorted(set(ours) | set(theirs)) if ours.get(key) != theirs.get(key)]
    if wrong:
        fail("%s: %d differ, %s" % (what, len(wrong), "; ".join(wrong[:5])))


class Profile:
    """Functions by their path: name, then place and name of each inlined call.  A place is
    (offset, discriminator)."""

    def __init__(self):
        self.lines = {}  # path, place: count
        self.targets = {}  # path, place, name: count
        self.heads = {}  # path: calls
        self.totals = {}

    def positive(self):
        return {key: n for key, n in self.lines.items() if n}

    def add_line(self, path, place, count):
        if (path, place) in self.lines:
            fail("%s has %s twice" % (path, place))
        self.lines[path, place] = count


def place_of(text):
    offset, _, discriminator = text.partition(".")
    return int(offset), int(discriminator or 0)


def read_llvm(name):
    p = Profile()
    paths = []
    for line in open(name, encoding="utf-8"):
        depth = len(line) - len(line.lstrip(" "))
        words = line.split()
        del paths[depth:]
        if not depth:
            function, total, head = line.rstrip("\n").rsplit(":", 2)
            paths.append((function,))
            p.heads[paths[0]] = int(head)
            p.totals[paths[0]] = int(total)
            continue
        place = place_of(words[0].rstrip(":"))
        if ":" in words[1]:
            function, total = words[1].rsplit(":", 1)
            paths.append(paths[-1] + (place, function))
            p.totals[paths[-1]] = int(total)
            continue
        p.add_line(paths[-1], place, int(words[1]))
        for word in words[2:]:
            target, count = word.rsplit(":", 1)
            p.targets[paths[-1], place, target] = int(count)
    return p


class Words:
    """A file of 32-bit words."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def word(self):
        self.at += 4
        return struct.unpack_from("<I", self.data, self.at - 4)[0]

    def counter(self):
        low = self.word()
        return low | self.word() << 32

    def text(self):
        size = self.word()
        self.at += size
        return self.data[self.at - size:self.at].rstrip(b"\0").decode()


def read_function(w, p, names, path, place):
    path = path + (((place,) if path else ()) + (names[w.word()],))
    nlines, ninlined = w.word(), w.word()
    last = {}
    for _ in range(nlines):
        at, ntargets, count = w.word(), w.word(), w.counter()
        place = at >> 16, at & 0xffff
        p.add_line(path, place, count)
        if last.get(place[0], 0) > count:
            fail("gcc 12 would use %d for %s" % (count, place))
        last[place[0]] = count
        for _ in range(ntargets):
            w.word()
            target = names[w.counter()]
            p.targets[path, place, target] = w.counter()
    for _ in range(ninlined):
        at = w.word()
        read_function(w, p, names, path, (at >> 16, at & 0xffff))
    return path


def read_gcc(name):
    p = Profile()
    w = Words(open(name, "rb").read())
    if (w.word(), w.word(), w.word(), w.word()) != (0x67636461, 2, 0, 0xaa000000):
        fail("the header is wrong")
    end = w.word() * 4 + w.at
    names = [w.text() for _ in range(w.word())]
    if w.at != end or w.word() != 0xac000000:
        fail("the names do not end where their length says")
    end = w.word() * 4 + w.at
    for _ in range(w.word()):
        head = w.counter()
        p.heads[read_function(w, p, names, (), None)] = head
    if w.at != end or w.word() != 0xae000000:
        fail("the functions do not end where their length says")
    if (w.word(), w.word(), w.at) != (1, 0, len(w.data)):
        fail("the end of the file is wrong")
    return p


# ---- what the counts must be ----

def components(d):
    """Block and factor of copies in a discriminator of LLVM."""
    found = []
    for _ in range(2):
        if d & 1:
            found.append(0)
            d >>= 1
        elif d & 0x40:
            found.append(d >> 1 & 0x1f | d >> 2 & 0xfe0)
            d >>= 14
        else:
            found.append(d >> 1 & 0x1f)
            d >>= 7
    return found[0], found[1] or 1


def instructions(program):
    """Addresses in order."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True,
                          capture_output=True, text=True).stdout
    return sorted(int(found.group(1), 16) for found in re.finditer(r"^ *([0-9a-f]+):\t", text,
                                                                   re.M))


def counts(program, blocks):
    """Executions of each instruction."""
    at = instructions(program)
    index = {pc: i for i, pc in enumerate(at)}
    result = {}
    for line in open(blocks, encoding="utf-8"):
        row = json.loads(line)
        where = row.get("at")
        if not where or where["module"].rsplit("/", 1)[-1] != program.rsplit("/", 1)[-1]:
            continue
        first = index[int(where["linked_address"], 16)]
        for i in range(row["block_instructions"]):
            result[at[first + i]] = row["executions"]
    return result


def expected(program, blocks, llvm):
    """Counts by path and place; functions are not copied in these programs."""
    executed = counts(program, blocks)
    out = subprocess.run(["llvm-symbolizer", "--output-style=JSON", "--no-demangle", "-i",
                          "-e", program], check=True, capture_output=True, text=True,
                         input="".join("%#x\n" % pc for pc in executed)).stdout
    found = collections.Counter()
    for line in out.splitlines():
        where = json.loads(line)
        where = where[0] if isinstance(where, list) else where
        frames = where["Symbol"][::-1]
        if not all(f["Line"] and f["StartLine"] for f in frames):
            continue
        path, place, factor = (), None, 1
        for f in frames:
            path = path + (((place,) if path else ()) + (SUFFIX.sub("", f["FunctionName"]),))
            block, factor = components(f["Discriminator"]) if llvm else (f["Discriminator"], 1)
            place = (f["Line"] - f["StartLine"]) & 0xffff, block
        n = executed[int(where["Address"], 16)] * factor
        found[path, place] = max(found[path, place], n)
    return found


def check(p, program, blocks, llvm):
    expect_equal("counts of lines", p.positive(), expected(program, blocks, llvm))
    if len(p.positive()) < 20:
        fail("only %d lines" % len(p.positive()))
    sums = collections.Counter()
    for (path, _), n in p.lines.items():
        for end in range(1, len(path) + 1, 2):
            sums[path[:end]] += n
    if llvm:
        expect_equal("totals", p.totals, dict(sums))
    name = {f: path[0] for path in p.heads for f in ("add", "mul", "work", "one_line", "main")
            if re.fullmatch(r"(_ZL\d+%s\w+|%s)" % (f, f), path[0])}
    heads = {f: p.heads[name[f],] for f in ("mul", "work", "one_line", "main")}
    expect_equal("calls of functions", heads, {"mul": 250, "work": 1, "one_line": 1, "main": 1})
    # Both are called by the pointer in line 6 of work().
    calls = {key[2]: n for key, n in p.targets.items()
             if key[0] == (name["work"],) and key[1][0] == 6}
    expect_equal("calls by pointer", calls, {name["add"]: 750, name["mul"]: 250})
    never = [n for (path, place), n in p.lines.items()
             if path == (name["main"],) and place[0] == 7]
    if not never or any(never):
        fail("the call of never() has the counts %s" % never)


def check_llvm(profile, program, blocks):
    check(read_llvm(profile), program, blocks, True)


def check_gcc(profile, program, blocks):
    check(read_gcc(profile), program, blocks, False)


def words(profile, out):
    """The autofdo package writes lengths of names in words, as gcc before version 12 did."""
    data = bytearray(open(profile, "rb").read())
    at = 24
    for _ in range(struct.unpack_from("<I", data, 20)[0]):
        size = struct.unpack_from("<I", data, at)[0]
        struct.pack_into("<I", data, at, size // 4)
        at += 4 + size
    # The working set, of which all 128 entries are 0.
    data += struct.pack("<II", 0xaf000000, 128 * 3) + bytes(128 * 12)
    open(out, "wb").write(data)


def same(ours, theirs):
    a, b = read_llvm(ours), read_llvm(theirs)
    # To llvm-profgen, code without a line is on line 0, far in front of the function.
    expect_equal("counts of lines", a.positive(),
                 {key: n for key, n in b.positive().items() if key[1][0] < 0x8000})
    # It sees no calls out of the program.
    expect_equal("calls", {key: n for key, n in a.targets.items() if key in b.targets},
                 b.targets)
    expect_equal("calls of functions", {key: a.heads[key] for key in b.heads if b.heads[key]},
                 {key: n for key, n in b.heads.items() if n})
    if len(b.targets) < 3:
        fail("llvm-profgen found only %d calls" % len(b.targets))


{"llvm": check_llvm, "gcc": check_gcc, "words": words, "same": same}[sys.argv[1]](*sys.argv[2:])
