#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long depctl attach and the end of its recording stop a process.

    attach.py BUILD-DIR [CASE...]

A case is sleepN or busyN, a program with N threads (threads.c).  Each round stops and
releases them once by ptrace alone (attach --dry), attaches, and ends the recording by
SIGINT.  The times of ptrace, attach and detach are those that depctl prints: from the
first request to stop until the last thread was released.  "signal" is from SIGINT until
depctl says that the process runs natively again, as seen here.

ROUNDS  rounds of each case: 20, fewer above 100 threads; QUICK=1 at most 100 threads and
5 rounds.  HOLD  seconds of recording; by default enough for all threads to come out of
the engine's start.  BENCH_TMP: where stores go.  The exit status is 1 if a round failed
or a case could not be measured.
"""
import json
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bench

CASES = ["sleep1", "sleep10", "sleep100", "sleep1000", "sleep3000", "busy8"]
WHAT = ("ptrace", "attach", "detach", "signal")
LIMIT = 10          # seconds for each step
PAUSE = 0.1         # seconds of running natively before a round
FAILURES = 3        # failed rounds after which a case ends
ATTACHED = re.compile(r"recording process \d+: (\d+) threads? stopped for ([\d.]+) ms")
DETACHED = re.compile(r"process \d+ runs natively again: (\d+) threads? stopped for ([\d.]+) ms")
LATE = re.compile(r"\d+ of its threads follow")


class Impossible(Exception):
    """The program of the case cannot be started."""


class Lines:
    """The lines that a process writes to a pipe, with a time limit."""

    def __init__(self, pipe):
        self.fd, self.rest, self.all = pipe.fileno(), b"", []

    def next(self, seconds):
        """A line, None at the end; Failed after the time."""
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise bench.Failed("no answer in %d s%s" % (seconds, self.said()))
            got = os.read(self.fd, 65536)
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        self.all.append(line.decode(errors="replace"))
        return self.all[-1]

    def until(self, pattern, seconds):
        """The match of the next line that has the pattern."""
        end = time.monotonic() + seconds
        while True:
            line = self.next(max(0, end - time.monotonic()))
            if line is None:
                raise bench.Failed("it has ended%s" % self.said())
            m = pattern.search(line)
            if m:
                return m

    def said(self):
        return ": " + " | ".join(self.all[-3:]) if self.all else ""


class Program:
    """A program with threads of one kind."""

    def __init__(self, build, kind, threads):
        self.process = subprocess.Popen([os.path.join(build, "bench", "threads"), kind,
                                         str(threads)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE)
        self.lines = Lines(self.process.stdout)
        line = None
        try:
            line = self.lines.next(LIMIT)
        except bench.Failed as e:
            line = str(e)
        if line != "running":
            self.kill()
            raise Impossible(line or "the program ends with %d" % self.process.returncode)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Its threads must notice that they are to end."""
        self.process.terminate()
        try:
            said = self.lines.next(LIMIT)
            status = self.process.wait(LIMIT)
        except (bench.Failed, subprocess.TimeoutExpired):
            self.kill()
            raise bench.Failed("the program does not end") from None
        if said != "ended" or status:
            raise bench.Failed("the program ends with %d" % status)

    def check(self):
        """It runs, and as none of its threads blocks a signal, none does."""
        if self.process.poll() is not None:
            raise bench.Failed("the program has ended with %d" % self.process.returncode)
        tasks, blocking = "/proc/%d/task" % self.process.pid, 0
        for tid in os.listdir(tasks):
            with open(os.path.join(tasks, tid, "status")) as f:
                blocking += not re.search(r"^SigBlk:\s*0+$", f.read(), re.M)
        if blocking:
            raise bench.Failed("%d threads of the program block signals" % blocking)


def probe(depctl, pid, threads):
    """Milliseconds of a stop by ptrace alone."""
    p = subprocess.run([depctl, "attach", "--dry", "--json", str(pid)], capture_output=True,
                       text=True, timeout=LIMIT)
    if p.returncode:
        raise bench.Failed("attach --dry: %s" % p.stderr.strip())
    got = json.loads(p.stdout)
    if got["stopped_threads"] != threads:
        raise bench.Failed("attach --dry stopped %d threads" % got["stopped_threads"])
    return got["stop_ns"] / 1e6


def hold(threads):
    return float(os.environ.get("HOLD") or 0.1 + threads / 1000)


def stopped(m, what, threads):
    if int(m.group(1)) != threads:
        raise bench.Failed("%s stopped %s threads" % (what, m.group(1)))
    return float(m.group(2))


def record(depctl, tmp, program, threads):
    """Milliseconds of attach, detach, and from the signal to the message."""
    store, pid = os.path.join(tmp, "dep"), program.process.pid
    shutil.rmtree(store, ignore_errors=True)
    p = subprocess.Popen([depctl, "attach", "-o", store, str(pid)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    lines, step = Lines(p.stderr), "attach"
    try:
        attach = stopped(lines.until(ATTACHED, LIMIT), step, threads)
        time.sleep(hold(threads))
        step = "detach"
        begun = time.monotonic()
        p.send_signal(signal.SIGINT)
        m = lines.until(DETACHED, LIMIT)
        took = (time.monotonic() - begun) * 1e3
        detach = stopped(m, step, threads)
        step = "end"
        while lines.next(LIMIT) is not None:
            pass
        late = [line for line in lines.all if LATE.search(line)]
        if p.wait(LIMIT) or late:
            raise bench.Failed("status %d%s" % (p.returncode, lines.said()))
        return attach, detach, took
    except (bench.Failed, subprocess.TimeoutExpired) as e:
        # depctl ends when the program has ended, and so do its tracers.
        program.kill()
        try:
            p.wait(LIMIT)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        raise bench.Failed("%s: %s" % (step, e)) from None


def one_round(depctl, tmp, program, threads, times):
    try:
        program.check()
        bare = probe(depctl, program.process.pid, threads)
        got = (bare,) + record(depctl, tmp, program, threads)
        program.check()
    except subprocess.TimeoutExpired:
        raise bench.Failed("attach --dry: no answer in %d s" % LIMIT) from None
    for what, ms in zip(WHAT, got):
        times[what].append(ms)


def measure(build, tmp, case, rounds):
    """Times of the rounds that succeeded, and what went wrong in others."""
    kind, threads = case
    depctl = os.path.join(build, "depctl")
    times, wrong, program = {what: [] for what in WHAT}, [], None
    for r in range(rounds):
        print("\r%-60s" % ("%s%d: round %d of %d" % (kind, threads, r + 1, rounds)), end="",
              file=sys.stderr, flush=True)
        try:
            if not program:
                program = Program(build, kind, threads)
            time.sleep(PAUSE)
            one_round(depctl, tmp, program, threads, times)
        except bench.Failed as e:
            wrong.append("round %d: %s" % (r + 1, e))
            program.kill()
            program = None
            if len(wrong) == FAILURES:
                break
    try:
        if program:
            program.end()
    except bench.Failed as e:
        wrong.append("after all rounds: %s" % e)
    shutil.rmtree(os.path.join(tmp, "dep"), ignore_errors=True)
    print("\r%-60s\r" % "", end="", file=sys.stderr)
    return times, wrong


def percentile(values, p):
    """The nearest rank."""
    return sorted(values)[max(0, math.ceil(len(values) * p / 100) - 1)]


FORM = "%-9s %-6s %6s" + " %9s" * 5


def head():
    print(FORM % ("case", "what", "rounds", "p50", "p99", "most", "p50", "p50"))
    print(FORM % ("", "", "", "ms", "ms", "ms", "us/thread", "x ptrace"), flush=True)


def rows(name, threads, times):
    bare = percentile(times["ptrace"], 50) if times["ptrace"] else 0
    for what in WHAT:
        v = times[what]
        if not v:
            continue
        p50 = percentile(v, 50)
        p99 = "%.2f" % percentile(v, 99) if len(v) >= 100 else "-"
        print(FORM % (name, what, len(v), "%.2f" % p50, p99, "%.2f" % max(v),
                      "%.1f" % (p50 * 1e3 / threads), "%.2f" % (p50 / bare)))


def parse(name):
    m = re.fullmatch(r"(sleep|busy)([1-9]\d*)", name)
    return (m.group(1), int(m.group(2))) if m else None


def how_many(threads, quick):
    if quick:
        return 5
    return 20 if threads <= 100 else 10 if threads <= 1000 else 5


def more_threads():
    """Use what the limits allow."""
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))


def main():
    build = os.path.abspath(sys.argv[1])
    quick = os.environ.get("QUICK") == "1"
    wanted = sys.argv[2:] or [c for c in CASES if not quick or parse(c)[1] <= 100]
    unknown = [name for name in wanted if not parse(name)]
    if unknown:
        print("there is no %s; cases: %s, and others such as sleep50" % (
            unknown[0], " ".join(CASES)), file=sys.stderr)
        return 2
    more_threads()
    begun, bad = bench.load(), False
    head()
    with tempfile.TemporaryDirectory(prefix="adept-bench.",
                                     dir=os.environ.get("BENCH_TMP")) as tmp:
        for name in wanted:
            case = parse(name)
            rounds = int(os.environ.get("ROUNDS") or how_many(case[1], quick))
            try:
                times, wrong = measure(build, tmp, case, rounds)
            except Impossible as e:
                print("%-9s cannot be measured: %s" % (name, e), flush=True)
                bad = True
                continue
            rows(name, case[1], times)
            for line in wrong:
                print("%-9s failed in %s" % (name, line))
            sys.stdout.flush()
            bad |= bool(wrong)
    print("%d processors; load average %s before, %s after" % (os.cpu_count(), begun,
                                                                bench.load()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
