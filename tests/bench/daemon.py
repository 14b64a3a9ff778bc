#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast depd is: real programs recorded with it and without it, interleaved.

    daemon.py BUILD-DIR [PROGRAM...]

depd has one processor, the program another one if there is.  The private collector of
`depctl record --alone` is bound to the same processor as depd would be: taskset has
depctl there, and the program on its own one.  Each round runs every program through
each transport that can be used, and alone.  What depd used, and where each chunk's time
went, is the difference of its status before and after the run; what depctl used alone
is what wait4() says beyond the program, which timecmd measures inside of the recording.

ROUNDS=3  rounds; QUICK=1 inputs of a tenth.  BENCH_TMP: where stores go.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench
import inputs

LIMIT = 1200
PROGRAMS = ["gzip", "perl"]
STAGES = ("copy", "pack", "write")


class Depd:
    """A depd of our own on one processor."""

    def __init__(self, build, tmp, cpu):
        self.depctl = os.path.join(build, "depctl")
        self.run = os.path.join(tmp, "run")
        self.env = dict(bench.ENV, ADEPT_SOCKET=os.path.join(self.run, "depd.sock"))
        config = os.path.join(tmp, "conf")
        with open(config, "w"):
            pass
        self.log = open(os.path.join(tmp, "log"), "wb")
        self.process = subprocess.Popen(
            ["taskset", "-c", str(cpu), os.path.join(build, "depd"), "--config=" + config,
             "--rundir=" + self.run, "--store=" + os.path.join(tmp, "stores"), "--workers=1"],
            stdin=subprocess.DEVNULL, stderr=self.log)
        for _ in range(200):
            try:
                self.status()
                return
            except bench.Failed:
                time.sleep(0.05)
        raise bench.Failed("depd does not answer")

    def status(self):
        p = subprocess.run([self.depctl, "status", "--json"], capture_output=True, text=True,
                           env=self.env, timeout=60)
        if p.returncode:
            raise bench.Failed("status: %s" % p.stderr.strip())
        return json.loads(p.stdout)["depd"]

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


def since(before, after):
    """What depd did in between, as a flat dictionary."""
    out = {name: after[name] - before[name] for name in ("cpu_ns", "chunks", "raw_bytes",
                                                         "stored_bytes")}
    for stage in STAGES:
        a, b = before["stages"][stage], after["stages"][stage]
        n = b["chunks"] - a["chunks"]
        out[stage] = (b["ns"] - a["ns"]) / n / 1e6 if n else 0.0
    return out


def record(depd, tmp, how, command, cpus):
    """Run it once; return the row's figures."""
    store, times = os.path.join(tmp, "dep"), os.path.join(tmp, "times")
    shutil.rmtree(store, ignore_errors=True)
    inside = ["taskset", "-c", str(cpus[1]), os.path.join(depd.build, "bench", "timecmd"), times]
    where = ["--alone", "--transport=shm"] if how == "alone" else ["--transport=" + how]
    argv = ["taskset", "-c", str(cpus[0]), depd.depctl, "record", "-q", "-o", store]
    before = depd.status()
    with open(os.path.join(tmp, "err"), "wb") as err:
        begun = time.monotonic()
        p = subprocess.Popen(["timeout", str(LIMIT)] + argv + where + ["--"] + inside + command,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                             env=depd.env, cwd=tmp)
        _, status, ru = os.wait4(p.pid, 0)
        wall = time.monotonic() - begun
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        with open(os.path.join(tmp, "err"), errors="replace") as f:
            raise bench.Failed("%s: status %d: %s" % (how, p.returncode, f.read().strip()[-200:]))
    with open(times) as f:
        cpu = sum(map(float, f.read().split()))
    out = since(before, depd.status())
    if how == "alone":
        p = subprocess.run([depd.depctl, "info", "--json", store], capture_output=True, text=True,
                           timeout=LIMIT)
        t = json.loads(p.stdout)["total"]
        out.update(cpu_ns=max(0.0, ru.ru_utime + ru.ru_stime - cpu) * 1e9,
                   raw_bytes=t["control_bytes"] + t["value_bytes"],
                   stored_bytes=t["stored_bytes"], chunks=0)
    out.update(wall=wall, program=cpu)
    return out


def table(rows):
    form = "%-9s %-6s" + " %8s" * 11
    print(form % ("program", "how", "wall", "program", "raw", "raw", "stored", "chunks", "collect",
                  "collect", "copy", "pack", "write"))
    print(form % ("", "", "s", "s", "MB", "MB/s", "1:", "1/s", "s", "s/GB", "ms", "ms", "ms"))
    for (name, how), runs in rows.items():
        m = {key: statistics.median(r[key] for r in runs) for key in runs[0]}
        cells = ["%.2f" % m["wall"], "%.2f" % m["program"], "%.0f" % (m["raw_bytes"] / 1e6),
                 "%.0f" % (m["raw_bytes"] / 1e6 / m["wall"]),
                 "%.1f" % (m["raw_bytes"] / m["stored_bytes"]),
                 "%.1f" % (m["chunks"] / m["wall"]) if m["chunks"] else "-",
                 "%.2f" % (m["cpu_ns"] / 1e9), "%.2f" % (m["cpu_ns"] / m["raw_bytes"])]
        cells += ["%.2f" % m[s] if m[s] else "-" for s in STAGES]
        print(form % tuple([name, how] + cells))


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(os.environ.get("ROUNDS", "3"))
    quick = os.environ.get("QUICK") == "1"
    commands = inputs.prepare(os.path.join(build, "bench", "quick" if quick else "inputs"),
                              0.1 if quick else 1.0)
    wanted = sys.argv[2:] or PROGRAMS
    unknown = [name for name in wanted if name not in commands]
    if unknown:
        print("there is no %s; programs: %s" % (unknown[0], " ".join(commands)), file=sys.stderr)
        return 2
    hows = (["kmod"] if os.access("/dev/adept", os.W_OK) else []) + ["shm", "alone"]
    cpus = sorted(os.sched_getaffinity(0))[:2]
    cpus += cpus if len(cpus) == 1 else []
    begun, rows = bench.load(), {}
    with tempfile.TemporaryDirectory(prefix="adept-bench.",
                                     dir=os.environ.get("BENCH_TMP")) as tmp:
        depd = Depd(build, tmp, cpus[0])
        depd.build = build
        try:
            for r in range(rounds):
                for name in wanted:
                    for how in hows:
                        print("\r%-60s" % ("round %d of %d: %s %s" % (r + 1, rounds, name, how)),
                              end="", file=sys.stderr, flush=True)
                        rows.setdefault((name, how), []).append(
                            record(depd, tmp, how, commands[name], cpus))
        finally:
            print("\r%-60s\r" % "", end="", file=sys.stderr)
            depd.end()
    table(rows)
    print("medians of %d rounds%s, one processor and one storing thread for the collector; "
          "load average %s before, %s after" % (
              rounds, " with small inputs" if quick else "", begun, bench.load()))
    if "kmod" not in hows:
        print("kmod is left out: /dev/adept cannot be used")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except bench.Failed as e:
        print(e, file=sys.stderr)
        sys.exit(1)
