# SPDX-License-Identifier: GPL-2.0-or-later
"""Decode the formats of the DEP paper: formats.py DEPCTL STORE DIR CSV

DIR and CSV are what `depctl info --formats --compress --output=DIR --csv STORE' wrote.  The
decoders know only the paper's and the manual's description.  Prints `ok' or `FAIL' and a text for
each check.
"""
import csv
import json
import os
import struct
import subprocess
import sys

failures = 0


def check(text, good, why=""):
    global failures
    failures += not good
    print("ok" if good else "FAIL", text if good else f"{text}: {why}")


def depctl(*args):
    return subprocess.run([DEPCTL, *args], check=False, capture_output=True).stdout


def stream(name):
    path = os.path.join(DIR, name)
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as f:
        return f.read()


def words(data, letter):
    size = struct.calcsize(letter)
    assert len(data) % size == 0, "a part of a unit"
    return struct.unpack(f"<{len(data) // size}{letter}", data)


def depc(tags):
    high, pcs, i = [0, 0, 0], [], 0
    segments = 0
    while i < len(tags):
        low = tags[i]
        i += 1
        if low == 0:
            which = tags[i]
            i += 1
            for k in range(3):
                if which >> k & 1:
                    high[k] = tags[i]
                    i += 1
            if which:
                low = tags[i]
                i += 1
                if low == 0:
                    segments += tags[i] != 0
                    i += 1
        pcs.append(high[2] << 48 | high[1] << 32 | high[0] << 16 | low)
    assert not segments, "a marker behind a marker"
    return pcs


def depc32(tags, regions):
    """Figure 1 of the paper; regions has what an H-tag stands for."""
    high, pcs, i = None, [], 0
    while i < len(tags):
        low = tags[i]
        i += 1
        if low == 0 and tags[i] != 0:
            high, low = tags[i], tags[i + 1]
            i += 2
            if low == 0:
                assert tags[i] == 0
                i += 1
        elif low == 0:
            i += 1
        pcs.append(regions[high - 1] + low)
    return pcs


def number(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        at += 1
        n |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return n, at


def grammar(data, at):
    n, at = number(data, at)
    symbols = []
    for _ in range(n):
        d, at = number(data, at)
        symbols.append(d + (symbols[-1] if symbols else 0))
    n, at = number(data, at)
    rules = []
    for own in range(n):
        size, at = number(data, at)
        body = []
        for _ in range(size):
            x, at = number(data, at)
            body.append((True, own + (x >> 1)) if x & 1 else (False, symbols[x >> 1]))
        rules.append(body)
    done = [None] * len(rules)
    for own in reversed(range(len(rules))):
        out = []
        for is_rule, x in rules[own]:
            if is_rule:
                out += done[x]
            else:
                out.append(x)
        done[own] = out
    return done[0], at


def expanded(data):
    out, at = [], 0
    while at < len(data):
        part, at = grammar(data, at)
        out += part
    return tuple(out)


UNIT = {"bb_pc": "Q", "bb_pc32": "I", "depc": "H", "depc32": "H", "cf_bits": "B",
        "cf_targets": "Q", "mem_addr": "Q", "depm": "Q", "regions": "Q"}
TOOLS = {"bzip2": ["bzip2"], "zstd": ["zstd", "-q", "--single-thread"], "xz": ["xz", "-T1"]}


def names():
    return [x for x in os.listdir(DIR) if not x.endswith(".sequitur")]


def check_sequitur():
    for name in names():
        raw = words(stream(name), UNIT[name.split(".")[-1]])
        if expanded(stream(name + ".sequitur")) != raw:
            return check("the grammars expand to the streams", False, name)
    return check("the grammars expand to the streams", True)


def packed(tool, names_of):
    return sum(len(subprocess.run(tool, input=stream(x), capture_output=True,
                                  check=True).stdout) for x in names_of)


def check_sizes():
    with open(CSV, encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    for row in rows:
        kinds = ("cf_bits", "cf_targets") if row["format"] == "cf_bit" else (row["format"],)
        mine = [x for x in names() if x.split(".")[-1] in kinds]
        want = {"bytes": sum(len(stream(x)) for x in mine),
                "sequitur_bytes": sum(len(stream(x + ".sequitur")) for x in mine)}
        for tool, command in TOOLS.items():
            want[tool + "_bytes"] = packed(command, mine)
        got = {x: int(row[x]) for x in want}
        check(f"sizes of {row['format']}", got == want, f"{got}, not {want}")


def check_thread(serial, tid, regions):
    blocks = [int(x.split()[1], 16) for x in depctl("dump", "--blocks", f"--thread={tid}",
                                                    STORE).splitlines()]
    refs = [int(x.split()[2], 16) for x in depctl("dump", "--refs", f"--thread={tid}",
                                                  STORE).splitlines()]
    of = {x: words(stream(f"{serial}.{x}"), UNIT[x]) for x in UNIT}
    low = {x >> 16: i + 1 for i, x in enumerate(regions)}
    good = {
        "BB_pc": list(of["bb_pc"]) == blocks,
        "DEPc": depc(of["depc"]) == blocks,
        "BB_pc32": list(of["bb_pc32"]) == [low[x >> 16] << 16 | x & 0xffff for x in blocks],
        "DEPc32": depc32(of["depc32"], regions) == blocks,
        "Mem_addr": list(of["mem_addr"]) == refs,
    }
    return [x for x, y in good.items() if not y], len(blocks), blocks


def main():
    regions = words(stream("regions"), "Q")
    threads = json.loads(depctl("info", "--quick", "--json", STORE))["threads"]
    wrong, total, zero = [], 0, 0
    for t in threads:
        bad, n, blocks = check_thread(t["thread"], t["tid"], regions)
        wrong += [(t["thread"], x) for x in bad]
        total += n
        zero += sum(not x & 0xffff for x in blocks)
    check("all formats decode to what depctl dump prints", not wrong and total, f"{wrong} {total}")
    print("zero", zero)
    check_sequitur()
    check_sizes()
    return failures != 0


DEPCTL, STORE, DIR, CSV = sys.argv[1:]
sys.exit(main())
