#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the counts of depctl's profiles with counts made from what depctl dump prints.

    profiles.py DEPCTL STORE        check the profile of a recording
    profiles.py DEPCTL STORE known  the same, and the known counts of tests/programs/profile.c

The references that depctl dump prints come from recovery, which reads both columns of a segment;
the profiles read the column of control flow alone. Calls are found in the sequence of executed
blocks with the instructions that objdump finds in the files.
"""
import collections
import json
import re
import subprocess
import sys

DEPCTL, STORE = sys.argv[1:3]
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print("%s %s%s" % ("ok  " if good else "FAIL", name, "" if good else ": %s" % why))


def run(*args):
    done = subprocess.run([DEPCTL, *args], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("depctl %s: %s" % (" ".join(args), done.stderr))
    return done.stdout


def query(kind, *options):
    rows = [json.loads(line) for line in run("query", kind, "--json", *options, STORE).splitlines()]
    check("%s: complete" % kind, rows and rows[-1] == {"complete": True, "missing": []}, rows[-1:])
    return rows[:-1]


def key(site):
    return site and (site["module"], int(site["linked_address"], 16))


class Files:
    """Addresses of processes, and the instructions of the files that they are in."""

    def __init__(self):
        self.maps = json.loads(run("ls", "--json", "--modules", STORE))
        self.tid = {t["tid"]: t["process"] for t in self.maps["threads"]}
        self.code = {}
        self.bias = {}

    def load(self, path):
        """Disassemble a file, and find the difference of addresses and offsets in it."""
        if path in self.code:
            return
        self.code[path] = {}
        heads = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True,
                               check=False).stdout
        self.bias[path] = [(int(o, 16), int(v, 16), int(s, 16)) for o, v, s in re.findall(
            r"^\s+LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", heads, re.M)]
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-w", path],
                              capture_output=True, text=True, check=False).stdout
        before = None
        for line in text.splitlines():
            found = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
            if not found:
                continue
            at = int(found[1], 16)
            self.code[path][at] = [found[2], None]
            if before is not None:
                self.code[path][before][1] = at
            before = at

    def site(self, tid, pc):
        """The file and address as linked of a program counter; a file is mapped once here."""
        for m in self.maps["modules"]:
            start = int(m["start_address"], 16)
            if m["process"] in self.processes(tid) and start <= pc < int(m["end_address"], 16):
                offset = pc - start + int(m["file_offset"], 16)
                self.load(m["path"])
                for file, address, size in self.bias[m["path"]]:
                    if file <= offset < file + size:
                        return m["path"], offset - file + address
        return None

    def processes(self, tid):
        return {t["process"] for t in self.maps["threads"] if t["tid"] == tid}


FILES = Files()
SITES = {}


def site(tid, pc):
    where = FILES.tid[tid], pc
    if where not in SITES:
        SITES[where] = FILES.site(tid, pc)
    return SITES[where]


def references():
    """References by address of the instruction."""
    counts = collections.Counter()
    for line in run("dump", "--refs", STORE).splitlines():
        tid, pc = line.split()[:2]
        counts[int(tid), int(pc, 16)] += 1
    sums = collections.Counter()
    for (tid, pc), n in counts.items():
        sums[site(tid, pc)] += n
    return sums


BRANCH = re.compile(r"(notrack |bnd |rep |repz )*(j|call|ret|loop|syscall)")


def last_of_block(start, following):
    """Walk from @start to the branch that leaves the block; its address, text and the next one."""
    path, at = start
    code = FILES.code[path]
    while at in code:
        text, behind = code[at]
        if BRANCH.match(text) or (path, behind) == following:
            return (path, at), text, (path, behind)
        at = behind
    return None, "", None


def calls():
    """Calls by site and target; those whose target is not in the instruction by themselves."""
    pairs, last = collections.Counter(), {}
    steps = collections.Counter()
    for line in run("dump", "--blocks", STORE).splitlines():
        tid, pc = line.split()
        tid, now = int(tid), int(pc, 16)
        if tid in last:
            steps[tid, last[tid], now] += 1
        last[tid] = now
    for (tid, before, now), n in steps.items():
        start, to = site(tid, before), site(tid, now)
        if not start or not to:
            continue
        where, text, behind = last_of_block(start, to)
        found = re.match(r"(bnd |notrack )*call\s+(\S+)", text)
        if not found or to == behind:
            continue
        direct = re.fullmatch("[0-9a-f]+", found[2])
        # A signal can come in front of the call.
        if not direct or int(found[2], 16) == to[1]:
            pairs[where, to, bool(direct)] += n
    return pairs


def check_instructions(insns):
    refs = references()
    wrong, compared = [], 0
    for where, row in insns.items():
        text = row["assembly"]
        # String instructions make as many references as they have iterations.
        if re.match(r"rep|v?p?(gather|scatter|maskmov|compress|expand)|xsave|xrstor|fx|f?n?sav|fr",
                    text) or "{" in text:
            continue
        n, count = refs.get(where, 0), row["executions"]
        compared += n > 0
        if n % count if count else n:
            wrong.append((where, text, count, n))
        elif n // max(count, 1) > 2 + 3 * text.startswith(("enter", "vz")):
            wrong.append((where, text, count, n))
    check("references by instruction", not wrong and compared > 50, (compared, wrong[:5]))
    unknown = [w for w in refs if w and w not in insns]
    check("each instruction with references has a count", not unknown, unknown[:5])


def check_kirchhoff(insns, edges):
    """Count = edges to it + the instruction in front if that is no branch - left in front of it."""
    inward, left, branch = collections.Counter(), collections.Counter(), set()
    for e in edges:
        if e["branch"] == "left":
            left[key(e["from"])] += e["executions"]
        else:
            inward[key(e["to"])] += e["executions"]
            branch.add(key(e["from"]))
    behind = {(path, at + row["instruction_bytes"]): (path, at)
              for (path, at), row in insns.items()}
    wrong = []
    for where, row in insns.items():
        front = behind.get(where)
        step = insns[front]["executions"] if front and front not in branch else 0
        if row["executions"] != inward[where] + step - left[where]:
            wrong.append((where, row["executions"], inward[where], step, left[where]))
    check("Kirchhoff's law at %d instructions" % len(insns), not wrong, wrong[:5])


def check_pairs():
    naive = calls()
    ours = {(key(p["site"]), key(p["target"]), p["branch"] == "call"): p["calls"]
            for p in query("pairs") if p["site"] and p["target"]}
    known = {k: n for k, n in ours.items() if k[0][0] in FILES.code and k[0][1] in
             FILES.code[k[0][0]] and k[1][0] in FILES.code}
    wrong = [(k, n, naive.get(k)) for k, n in known.items() if naive.get(k) != n]
    check("%d pairs of call and target" % len(known), not wrong and len(known) > 20, wrong[:5])
    more = [(k, n) for k, n in naive.items() if k[2] and k not in ours]
    check("no direct call is missing", not more, more[:5])


def check_sums(insns, edges):
    report = json.loads(run("report", "--json", STORE))
    info = json.loads(run("info", "--json", STORE))
    total = report["instructions"]
    check("instructions as in info", total == info["total"]["instructions"],
          (total, info["total"]["instructions"]))
    methods = query("methods")
    for name, rows, value in (("instructions", insns.values(), lambda r: r["executions"]),
                              ("functions", methods, lambda r: r["instructions"]),
                              ("threads", report["thread_counts"], lambda r: r["instructions"]),
                              ("processes", report["process_counts"], lambda r: r["instructions"]),
                              ("contexts", query("contexts", "--min=0"),
                               lambda r: r["instructions"]),
                              ("blocks", query("blocks"),
                               lambda r: r["executions"] * r["block_instructions"])):
        n = sum(map(value, rows))
        check("sum of %s" % name, n == total, (n, total))
    n = sum(report["instructions_by_time"])
    check("sum over time", n == total, (n, total))
    n = sum(t["calls"] for t in report["thread_counts"])
    called = sum(e["executions"] for e in edges if e["branch"] in ("call", "call-indirect"))
    check("calls of threads", n == called, (n, called))
    check("inclusive counts", all(f["inclusive_instructions"] <= total
                                  for f in report["hot_functions"]))
    size = {key(r["at"]): r for r in query("coverage", "--all")}
    short = [k for k, r in size.items() if r["executed_bytes"] > r["function_bytes"]]
    check("coverage: no function has more executed bytes than bytes", not short, short[:5])
    check("coverage: executed functions", sum(r["executed_bytes"] > 0 for r in size.values()) ==
          len(methods), (len(size), len(methods)))
    check("coverage: instructions", sum(r["executed_instructions"] for r in size.values()) ==
          sum(r["executions"] > 0 for r in insns.values()))


# What identifies a row of a query, and its counts.
ROWS = {
    "methods": (lambda r: key(r["at"]), ("instructions", "calls", "references")),
    "calls": (lambda r: (key(r["caller"]), key(r["callee"]), r["branch"]), ("calls",)),
    "pairs": (lambda r: (key(r["site"]), key(r["target"]), r["branch"]), ("calls",)),
    "blocks": (lambda r: (key(r["at"]), r["block_instructions"], r["block_bytes"]),
               ("executions",)),
    "edges": (lambda r: (key(r["from"]), key(r["to"]), r["branch"]), ("executions",)),
    # A context has the same number in all intervals.
    "contexts": (lambda r: (r["context"], r["parent_context"], r["entry"], key(r["site"]),
                            key(r["at"])), ("instructions", "calls", "references")),
}
# With these options a query prints all rows.
ALL = {"contexts": ["--min=0"]}


def sums(kind, rows):
    name, counts = ROWS[kind]
    total = collections.Counter()
    for row in rows:
        for count in counts:
            total[name(row), count] += row[count]
    return +total


def selected(kind, rows):
    """What an interval and a query of its time have in common.

    At the borders of the latter control enters and leaves. Without symbols, functions are found by
    the calls that a query sees, so only all of them together are compared.
    """
    if kind == "edges":
        return sums(kind, [r for r in rows if r["branch"] not in ("entered", "left")])
    total = collections.Counter()
    for row in rows:
        name = key(row["at"]) if sys.argv[3:] else None
        for count in ("instructions", "references", "executed_bytes", "executed_instructions"):
            total[name, count] += row.get(count, 0)
    return +total


def check_contexts():
    """The contexts of the report are those of the query, with the same callers."""
    rows = {r["context"]: r for r in query("contexts", "--min=0")}
    report = json.loads(run("report", "--json", "--top=1000000", STORE))
    order = sorted((r for r in rows.values() if r["instructions"]),
                   key=lambda r: (-r["instructions"], r["context"]))
    # The names of code without symbols may differ.
    names = ("context", "instructions", "references", "calls")
    hot = report["hot_contexts"]
    check("contexts of the report", len(hot) > 20 and report["context_count"] == len(hot) and
          [[key(c["at"])] + [c[n] for n in names] for c in hot] ==
          [[key(r["at"])] + [r[n] for n in names] for r in order],
          "%d rows, not %d" % (len(hot), len(order)))
    sites = {(r["parent_context"], key(r["site"])) for r in rows.values() if r["site"]}
    for c in hot:
        at, level = rows[c["context"]], 0
        while at["parent_context"] and level < 64:
            up = rows[at["parent_context"]]
            got = c["callers"][level] if level < len(c["callers"]) else None
            # What was called by a stub of a PLT has the stub's jump as its site there; the stub is
            # another context of the same caller.
            if (key(got) != key(at["site"] or up["at"]) and
                    (at["parent_context"], got and key(got)) not in sites and
                    (at["site"] or not got or got["function"] != up["at"]["function"])):
                check("callers of a context", False, "context %d, caller %d: %r, not %r or in %r" %
                      (c["context"], level, got, at["site"], up["at"]))
                return
            at, level = up, level + 1
        if len(c["callers"]) != level:
            check("callers of a context", False, "context %d has %d callers, not %d" %
                  (c["context"], len(c["callers"]), level))
            return
    check("callers of all contexts", any(len(c["callers"]) > 4 for c in hot))


def check_interval(kind, rows, start, per):
    alone = query(kind, *(["--from=%dus" % (start // 1000)] if start else []),
                  "--to=%dus" % ((start + per) // 1000))
    return selected(kind, rows) == selected(kind, alone)


def some_interval():
    """A length in ns with which segments begin in different intervals."""
    report = json.loads(run("report", "--json", STORE))
    us = (int(report["end_ns"]) - int(report["start_ns"])) // 4000
    while us > 1:
        rows = run("query", "methods", "--json", "--top=1", "--per=%dus" % us, STORE)
        if rows.count("interval_ns") > 1:
            break
        us //= 2
    return max(us, 1) * 1000


def check_intervals():
    """Intervals add up to the whole, and each equals a query of its time alone."""
    per = some_interval()
    begins = set()
    for kind in ROWS:
        rows = query(kind, "--per=%dus" % (per // 1000), *ALL.get(kind, []))
        order = [r["interval_ns"] for r in rows]
        begins.update(order)
        check("%s --per: intervals in order" % kind,
              order == sorted(order) and not any(n % per for n in order), order[:5])
        wrong = dict(sums(kind, rows).items() ^
                     sums(kind, query(kind, *ALL.get(kind, []))).items())
        check("%s --per: sums of %d intervals" % (kind, len(set(order))), rows and not wrong,
              list(wrong.items())[:5])
    check("there are several intervals", len(begins) > 1, begins)
    for kind in ("methods", "edges", "coverage"):
        rows = collections.defaultdict(list)
        for row in query(kind, "--per=%dus" % (per // 1000)):
            rows[row["interval_ns"]].append(row)
        wrong = [n for n, own in rows.items() if not check_interval(kind, own, n, per)]
        check("%s --per: each interval alone" % kind, not wrong, wrong)
    check_context_intervals("--per=%dus" % (per // 1000))


def by_interval(rows, name, *counts):
    """Sums of counts by interval and name(row)."""
    total = collections.Counter()
    for row in rows:
        for count in counts:
            total[row["interval_ns"], name(row), count] += row[count]
    return +total


def check_tree(name, rows):
    """Each inclusive count is that of the context and of its children."""
    below, whole = collections.Counter(), 0
    for r in rows:
        below[r["context"]] += r["instructions"]
        below[r["parent_context"]] += r["inclusive_instructions"]
        whole += r["instructions"]
    wrong = [r for r in rows if r["inclusive_instructions"] != below[r["context"]] or
             abs(r["inclusive_share"] * whole - r["inclusive_instructions"]) > 1e-4 * whole]
    check("%s: inclusive counts" % name, not wrong and below[0] == whole, wrong[:2])


def check_program_functions(per, *queries):
    """Contexts and methods have the same counts for each function of the program's source.

    The context of a signal handler also has the code that it returns to.
    """
    ours, theirs = (by_interval([r for r in rows if (r["at"]["file"] or "").endswith("/profile.c")
                                 and r["at"]["function"] != "handler"],
                                lambda r: r["at"]["function"], "instructions", "references",
                                "calls") for rows in queries)
    wrong = dict(ours.items() ^ theirs.items())
    check("contexts %s: the program's functions as methods" % per, ours and not wrong,
          list(wrong.items())[:5])


def check_context_intervals(per):
    """Each interval's tree, and its sums against those of the other queries."""
    rows = query("contexts", per, "--min=0")
    intervals = collections.defaultdict(list)
    for r in rows:
        intervals[r["interval_ns"]].append(r)
    for start, own in intervals.items():
        check_tree("contexts %s: %d" % (per, start), own)
        deep = {r["context"]: r["depth"] for r in own}
        wrong = [r for r in own if r["depth"] != (deep.get(r["parent_context"], -1) + 1)]
        check("contexts %s: %d: callers are there" % (per, start), not wrong, wrong[:2])
    methods = query("methods", per)
    ours, theirs = (by_interval(q, lambda r: None, "instructions", "references")
                    for q in (rows, methods))
    check("contexts %s: instructions as methods" % per, ours == theirs and ours, (ours, theirs))
    if sys.argv[3:]:
        check_program_functions(per, rows, methods)
    ours = by_interval((r for r in rows if r["entry"] == "call"), lambda r: None, "calls")
    theirs = by_interval(query("pairs", per), lambda r: None, "calls")
    check("contexts %s: calls as pairs" % per, ours == theirs and ours, (ours, theirs))


def check_known(insns):
    """Numbers that tests/programs/profile.c has by construction."""
    methods = {r["at"]["function"]: r for r in query("methods", "--inclusive")}
    for name, count in (("inner", 1000), ("outer", 1), ("even", 51), ("odd", 50), ("handler", 20),
                        ("thread", 3), ("leaf", 303)):
        check("calls of %s" % name, methods[name]["calls"] == count, methods[name]["calls"])
    report = json.loads(run("report", "--json", STORE))
    loops = {r["at"]["function"]: r for r in report["loops"] if r["at"]["function"]}
    for name, entered, iterations in (("inner", 1000, 7000), ("outer", 1, 1000),
                                      ("thread", 3, 300)):
        loop = loops[name]
        check("loop of %s" % name, (loop["entered"], loop["iterations"]) == (entered, iterations),
              loop)
    calls = {(c["caller"]["function"], c["callee"]["function"]): c["calls"]
             for c in query("calls") if c["caller"] and c["callee"]}
    for pair, count in ((("outer", "inner"), 1000), (("even", "odd"), 50), (("odd", "even"), 50),
                        (("thread", "leaf"), 300)):
        check("calls of %s by %s" % (pair[1], pair[0]), calls.get(pair) == count, calls.get(pair))
    lines = collections.defaultdict(int)
    for row in insns.values():
        at = row["at"]
        if at["file"] and at["file"].endswith("/profile.c"):
            lines[at["line"]] = max(lines[at["line"]], row["executions"])
    source = open([r["at"]["file"] for r in insns.values() if r["at"]["file"] and
                   r["at"]["file"].endswith("/profile.c")][0]).read().splitlines()
    for number, text in enumerate(source, 1):
        found = re.search(r"/\* executed (\d+) \*/", text)
        if found:
            check("line %d" % number, lines[number] == int(found[1]), lines[number])


def main():
    rows = query("edges", "--annotate", "*")
    insns = {key(r["at"]): r for r in rows}
    check("each instruction has one row", len(insns) == len(rows), (len(insns), len(rows)))
    edges = query("edges")
    check_instructions(insns)
    check_kirchhoff(insns, edges)
    check_pairs()
    check_sums(insns, edges)
    check_intervals()
    check_contexts()
    if sys.argv[3:]:
        check_known(insns)


main()
sys.exit(failed > 0)
