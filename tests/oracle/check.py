#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the oracle against references written by hand.

Usage: check.py ORACLE BUILD-DIR CASE.S...

Each case is straight-line assembly.  A line `label: instruction #= A S T; A S T`
says which references the instruction makes: address (an expression over the
program's symbols), size, type.  `#@label A S T` lines give references made out of
source order (handlers), at their place in program order.  Nothing else may appear.
`#!flag` names a flag of /proc/cpuinfo without which the case is skipped.
"""
import os
import re
import subprocess
import sys


def symbols(exe):
    out = subprocess.run(["nm", exe], check=True, capture_output=True, text=True).stdout
    return {f[2]: int(f[0], 16) for f in map(str.split, out.splitlines()) if len(f) == 3}


def expected(source, syms):
    refs = []
    for line in source.splitlines():
        m = re.match(r"(\w+):.*#=\s*(.*)", line) or re.match(r"#@(\w+)\s+(.*)", line)
        if not m:
            continue
        for one in m.group(2).split(";"):
            addr, size, kind = one.split()
            value = eval(addr, {}, syms) & (1 << 64) - 1
            refs.append((syms[m.group(1)], value, int(size), kind, m.group(1)))
    return refs


def run(oracle, exe):
    env = {"PATH": "/usr/bin:/bin"}
    p = subprocess.run([oracle, "--", exe], capture_output=True, text=True, env=env)
    lines = [l.split() for l in p.stdout.splitlines()]
    return p, [(int(f[1], 16), int(f[2], 16), int(f[3]), f[4]) for f in lines]


def show(ref):
    return "%x %x %d %s" % ref[:4] if ref else "nothing"


def check(oracle, build, case):
    """Return None or what is wrong."""
    with open(case) as f:
        source = f.read()
    exe = os.path.join(build, "case-" + os.path.basename(case)[:-2])
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none",
                    "-o", exe, case], check=True)
    want = expected(source, symbols(exe))
    p, got = run(oracle, exe)
    if p.returncode:
        return "exit status %d: %s" % (p.returncode, p.stderr.strip())
    for i in range(max(len(want), len(got))):
        w = want[i] if i < len(want) else None
        g = got[i] if i < len(got) else None
        if not w or not g or w[:4] != g:
            return "reference %d: expected %s (%s), got %s" % (
                i, show(w), w[4] if w else "end", show(g))
    return None


def main():
    oracle, build, cases = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open("/proc/cpuinfo") as f:
        flags = set(re.search(r"^flags\s*:(.*)", f.read(), re.M).group(1).split())
    counts = [0, 0, 0]
    for case in cases:
        with open(case) as f:
            missing = set(re.findall(r"^#!(\w+)", f.read(), re.M)) - flags
        name = "oracle " + os.path.basename(case)[:-2]
        if missing:
            print("SKIP %s: the processor lacks %s" % (name, " ".join(sorted(missing))))
            counts[2] += 1
            continue
        wrong = check(oracle, build, case)
        print("FAIL %s: %s" % (name, wrong) if wrong else "ok   " + name)
        counts[1 if wrong else 0] += 1
    print("%d passed, %d failed, %d skipped" % tuple(counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
