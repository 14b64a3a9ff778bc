#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What profiles of a recording cost, compared with the program itself.

    profiles.py BUILD-DIR [PROGRAM...]

Records each program of bench.py once.  Then each round runs it natively and makes profiles of the
recording, on one processor.  Times are user + system seconds, medians over the rounds; ratios are
to the native run, their mean is geometric.  Profiles:

    counts    dep_profile_make() alone: open the store, decode its code, count (profile_pass.c)
    edges     depctl query edges
    contexts  depctl query contexts
    paths     depctl query paths
    encoding  depctl query contexts --table=encoding: encode the context of each call
    verify    depctl verify --contexts: recover the recording, encode, decode one context in 1000
    report    depctl report

Each command makes the whole profile: what an earlier one has kept in the store is removed.  A
profile that fails, or is not complete, has no ratio, and the others of its program count.  The
gates: edges at most 2, contexts and paths at most 3, encoding at most 5 times native; a profile
that failed does not pass.

At the end, one store is counted 100 times in one process, whose memory must not grow after the
third time.

ROUNDS=5  rounds; QUICK=1 inputs of a tenth.  BENCH_TMP: where stores go.
"""
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench
import inputs

GATES = {"edges": 2.0, "contexts": 3.0, "paths": 3.0, "encoding": 5.0}
FOLDS = 100
GROWTH_KIB = 4096  # of the allocator, after the third of FOLDS folds


def profiles(build):
    depctl = os.path.join(build, "depctl")
    return {"counts": [os.path.join(build, "tests", "profile_pass")],
            "edges": [depctl, "query", "edges", "--jobs=1"],
            "contexts": [depctl, "query", "contexts", "--jobs=1"],
            "paths": [depctl, "query", "paths", "--jobs=1"],
            "encoding": [depctl, "query", "contexts", "--table=encoding", "--jobs=1"],
            "verify": [depctl, "verify", "--contexts", "--jobs=1"],
            "report": [depctl, "report", "--jobs=1"]}


def run(argv):
    """Return processor seconds and seconds on the wall; all output goes to /dev/null."""
    begun = time.monotonic()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env=bench.ENV, text=True) as p:
        err = p.stderr.read()
        _, status, ru = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise bench.Failed("%s: status %d: %s" % (" ".join(argv[:3]), p.returncode, err.strip()))
    return ru.ru_utime + ru.ru_stime, time.monotonic() - begun


def forget(store):
    """Remove the counters and contexts that an earlier command has kept."""
    for name in ("profile.counts", "profile.contexts"):
        try:
            os.remove(os.path.join(store, name))
        except FileNotFoundError:
            pass


def measure(build, tmp, commands, rounds, passes):
    """Return seconds by program and pass, and what failed: (program, pass), or (program, None)."""
    seconds, failed = {}, {}
    for name, command in commands.items():
        seconds[name] = {p: [] for p in ["native"] + list(passes)}
        store = os.path.join(tmp, "dep")
        try:
            bench.run(build, tmp, "full", command)
            for r in range(rounds):
                print("\r%-60s" % ("%s: round %d of %d" % (name, r + 1, rounds)), end="",
                      file=sys.stderr, flush=True)
                # bench.run() removes the store of its folder.
                os.rename(store, store + ".kept")
                cpu, _, wall = bench.run(build, tmp, "native", command)
                os.rename(store + ".kept", store)
                seconds[name]["native"].append((cpu, wall))
                for p in [p for p in passes if (name, p) not in failed]:
                    forget(store)
                    try:
                        seconds[name][p].append(run(passes[p] + [store]))
                    except bench.Failed as e:
                        failed[name, p] = str(e)
        except (bench.Failed, OSError) as e:
            failed[name, None] = str(e)
        shutil.rmtree(store + ".kept", ignore_errors=True)
    print("\r%-60s\r" % "", end="", file=sys.stderr)
    return seconds, failed


def table(seconds, failed, passes):
    form = "%-9s %7s" + " %8s %6s %7s" * len(passes)
    print(form % tuple(["program", "native"] + [x for p in passes for x in (p, "", "wall")]))
    print(form % tuple(["", "s"] + ["s", "x", "s"] * len(passes)))
    ratios = {p: [] for p in passes}
    for name, each in seconds.items():
        if (name, None) in failed:
            continue
        native = statistics.median(v[0] for v in each["native"])
        row = [name, "%.2f" % native]
        for p in passes:
            if (name, p) in failed:
                row += ["-", "-", "-"]
                continue
            cpu = statistics.median(v[0] for v in each[p])
            ratios[p].append(cpu / native)
            row += ["%.2f" % cpu, "%.2f" % ratios[p][-1],
                    "%.2f" % statistics.median(v[1] for v in each[p])]
        print(form % tuple(row))
    means = {p: math.exp(statistics.fmean(map(math.log, r))) for p, r in ratios.items() if r}
    if means:
        print(form % tuple(["mean", ""] + [x for p in passes for x in
                                           ("", "%.2f" % means[p] if p in means else "-", "")]))
    for (name, p), why in failed.items():
        print("%s: %s failed: %s" % (name, p or "recording", why))
    return means


def memory(build, tmp, command):
    """Memory in KiB after the third and after the last of many folds of one store."""
    bench.run(build, tmp, "full", command)
    out = subprocess.run([os.path.join(build, "tests", "profile_pass"), os.path.join(tmp, "dep"),
                          str(FOLDS)], capture_output=True, text=True, check=True).stdout
    found = dict(field.split("=") for field in out.split())
    return int(found["third_kib"]), int(found["last_kib"])


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(os.environ.get("ROUNDS", "5"))
    quick = os.environ.get("QUICK") == "1"
    commands = inputs.prepare(os.path.join(build, "bench", "quick" if quick else "inputs"),
                              0.1 if quick else 1.0)
    tiny = inputs.prepare(os.path.join(build, "bench", "tiny"), 0.01)
    wanted = [name for name in sys.argv[2:] or commands]
    unknown = [name for name in wanted if name not in commands]
    if unknown:
        print("there is no %s; programs: %s" % (unknown[0], " ".join(commands)), file=sys.stderr)
        return 2
    for name in [name for name in wanted if not shutil.which(commands[name][0])]:
        print("%s is left out: %s is not installed" % (name, commands[name][0]))
        wanted.remove(name)
    passes, begun = profiles(build), bench.load()
    with tempfile.TemporaryDirectory(prefix="adept-bench.",
                                     dir=os.environ.get("BENCH_TMP")) as tmp:
        seconds, failed = measure(build, tmp, {n: commands[n] for n in wanted}, rounds, passes)
        means = table(seconds, failed, passes)
        third, last = memory(build, tmp, tiny["gzip"])
    partial = {p for _, p in failed}
    missed = [p for p, most in GATES.items()
              if p not in means or means[p] > most or p in partial or None in partial]
    print("memory: %d KiB after three folds, %d KiB after %d folds" % (third, last, FOLDS))
    if last > third + GROWTH_KIB:
        missed.append("memory")
    print("medians of %d rounds%s, %d processors; load average %s before, %s after" % (
        rounds, " with small inputs" if quick else "", os.cpu_count(), begun, bench.load()))
    if missed:
        print("too much, or not known: %s" % ", ".join(missed))
    return 1 if failed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
