#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording costs: real programs, natively and under depctl, interleaved.

    bench.py BUILD-DIR [PROGRAM...]

Each round runs every program natively, under the engine alone (--no-record), with
records that are counted and thrown away (--null), and recorded to disk.  Times are
user + system seconds of the program and its children, medians over the rounds;
timecmd measures them inside of the recording, so the collector's time is not in
them.  It is what depctl used beyond that.

ROUNDS=5  rounds; QUICK=1 inputs of a tenth.  BENCH_TMP: where stores go.
"""
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import inputs

MODES = {"native": None, "engine": ["--no-record"], "null": ["--null"], "full": []}
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent",
       "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
LIMIT = 1200


class Failed(Exception):
    pass


def run(build, tmp, mode, command):
    """Return seconds of the program, of the collector, and on the wall."""
    times, store = os.path.join(tmp, "times"), os.path.join(tmp, "dep")
    shutil.rmtree(store, ignore_errors=True)
    argv = [os.path.join(build, "bench", "timecmd"), times] + command
    if MODES[mode] is not None:
        where = [] if mode == "engine" else ["-o", store]
        argv = [os.path.join(build, "depctl"), "record", "-q"] + MODES[mode] + where + ["--"] + argv
    with open(os.path.join(tmp, "out"), "wb") as out, open(os.path.join(tmp, "err"), "wb") as err:
        begun = time.monotonic()
        p = subprocess.Popen(["timeout", str(LIMIT)] + argv, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=err, env=ENV, cwd=tmp)
        _, status, ru = os.wait4(p.pid, 0)
        wall = time.monotonic() - begun
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        with open(os.path.join(tmp, "err"), errors="replace") as f:
            lines = f.read().strip().splitlines() or [""]
        raise Failed("%s: status %d: %s" % (mode, p.returncode, lines[-1]))
    with open(times) as f:
        cpu = sum(map(float, f.readline().split()))
    return cpu, max(0.0, ru.ru_utime + ru.ru_stime - cpu), wall


def density(build, tmp):
    """Instructions, bytes of each (control, values, stored), seconds of translation."""
    p = subprocess.run([os.path.join(build, "depctl"), "info", "--json", os.path.join(tmp, "dep")],
                       capture_output=True, text=True, timeout=LIMIT)
    if p.returncode:
        raise Failed("info: %s" % p.stderr.strip())
    info = json.loads(p.stdout)
    t = info["total"]
    n = t["instructions"] or 1
    return (n, t["control_bytes"] / n, t["value_bytes"] / n, t["stored_bytes"] / n,
            info["translation"]["translate_ns"] / 1e9)


def same_output(tmp, name, known):
    """All modes must print the same."""
    with open(os.path.join(tmp, "out"), "rb") as f:
        out = f.read()
    if known.setdefault(name, out) != out:
        raise Failed("the output differs from the native run's")


def load():
    return "%.2f %.2f %.2f" % os.getloadavg()


def measure(build, tmp, commands, rounds):
    seconds = {name: {mode: [] for mode in MODES} for name in commands}
    dense, outputs, failed = {}, {}, {}
    for r in range(rounds):
        for name, command in commands.items():
            for mode in MODES:
                if name in failed:
                    break
                print("\r%-60s" % ("round %d of %d: %s %s" % (r + 1, rounds, name, mode)), end="",
                      file=sys.stderr, flush=True)
                try:
                    seconds[name][mode].append(run(build, tmp, mode, command))
                    same_output(tmp, name, outputs)
                    if mode == "full" and name not in dense:
                        dense[name] = density(build, tmp)
                except (Failed, subprocess.TimeoutExpired) as e:
                    failed[name] = str(e)
            shutil.rmtree(os.path.join(tmp, "dep"), ignore_errors=True)
    print("\r%-60s\r" % "", end="", file=sys.stderr)
    return seconds, dense, failed


def table(seconds, dense, failed):
    head = ("program", "native", "engine", "null", "full", "engine", "null", "full", "transl",
            "collect", "wall", "wall", "Minstr", "control", "values", "stored")
    units = ("", "s", "s", "s", "s", "x", "x", "x", "%", "s", "native", "full", "", "B/ins",
             "B/ins", "B/ins")
    form = "%-9s" + " %7s" * 15
    print(form % head)
    print(form % units)
    ratios = {mode: [] for mode in MODES}
    for name, modes in seconds.items():
        if name in failed:
            print("%-9s failed: %s" % (name, failed[name]))
            continue
        cpu = {mode: statistics.median(v[0] for v in modes[mode]) for mode in MODES}
        wall = {mode: statistics.median(v[2] for v in modes[mode]) for mode in MODES}
        collector = statistics.median(v[1] for v in modes["full"])
        for mode in MODES:
            ratios[mode].append(cpu[mode] / cpu["native"])
        row = [name] + ["%.2f" % cpu[mode] for mode in MODES]
        row += ["%.2f" % ratios[mode][-1] for mode in ("engine", "null", "full")]
        row += ["%.1f" % (100 * dense[name][4] / modes["full"][0][0])]
        row += ["%.2f" % collector, "%.2f" % wall["native"], "%.2f" % wall["full"]]
        row += ["%.0f" % (dense[name][0] / 1e6)] + ["%.3f" % d for d in dense[name][1:4]]
        print(form % tuple(row))
    if ratios["full"]:
        mean = ["%.2f" % math.exp(statistics.fmean(map(math.log, ratios[mode])))
                for mode in ("engine", "null", "full")]
        b = [statistics.fmean(d[i] for n, d in dense.items() if n not in failed)
             for i in (1, 2, 3)]
        print(form % tuple(["mean"] + [""] * 4 + mean + [""] * 5 + ["%.3f" % x for x in b]))
        print("\nmean: geometric of the ratios, arithmetic of the bytes per instruction")


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(os.environ.get("ROUNDS", "5"))
    quick = os.environ.get("QUICK") == "1"
    commands = inputs.prepare(os.path.join(build, "bench", "quick" if quick else "inputs"),
                              0.1 if quick else 1.0)
    wanted = sys.argv[2:] or list(commands)
    unknown = [name for name in wanted if name not in commands]
    if unknown:
        print("there is no %s; programs: %s" % (unknown[0], " ".join(commands)), file=sys.stderr)
        return 2
    for name in list(wanted):
        if not shutil.which(commands[name][0]):
            print("%s is left out: %s is not installed" % (name, commands[name][0]))
            wanted.remove(name)
    begun = load()
    with tempfile.TemporaryDirectory(prefix="adept-bench.",
                                     dir=os.environ.get("BENCH_TMP")) as tmp:
        seconds, dense, failed = measure(build, tmp, {n: commands[n] for n in wanted}, rounds)
    table(seconds, dense, failed)
    print("medians of %d rounds%s, %d processors; load average %s before, %s after" % (
        rounds, " with small inputs" if quick else "", os.cpu_count(), begun, load()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
