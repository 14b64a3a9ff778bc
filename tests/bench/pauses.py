#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a process and its clients notice an attach and a detach.

    pauses.py BUILD-DIR [CASE...]

stampN: N threads sleep for 1 ms (above 50 threads 20 us for each thread) and stamp the
time after it (stamps.c).  "late" is by how much any of them has run later than it should,
at most, in a round: from the first stop until each thread runs the program again.  The
same is measured with no stop, and with a stop by ptrace alone (attach --dry).

redis: a client of redis-server makes 100,000 requests, without and with an attach after a
third and a detach after two thirds of them: percentiles of their latency, and the stops.

ROUNDS  rounds of each stampN: 20, fewer above 100 threads; QUICK=1 at most 100 threads,
5 rounds and 20,000 requests.  BENCH_TMP: where stores go.  The exit status is 1 if a round
failed.
"""
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import attach
import bench

CASES = ["stamp1", "stamp10", "stamp100", "stamp1000", "stamp3000", "redis"]
SLOT = struct.Struct("=QQ")
QUICK = os.environ.get("QUICK") == "1"


class Recording:
    """An attach, and later a detach."""

    def __init__(self, depctl, tmp, pid):
        self.store = os.path.join(tmp, "dep")
        shutil.rmtree(self.store, ignore_errors=True)
        self.process = subprocess.Popen([depctl, "attach", "-o", self.store, str(pid)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.lines = attach.Lines(self.process.stderr)

    def attached(self):
        """Milliseconds of the stop."""
        return float(self.lines.until(attach.ATTACHED, attach.LIMIT).group(2))

    def detached(self):
        self.process.send_signal(signal.SIGINT)
        return float(self.lines.until(attach.DETACHED, attach.LIMIT).group(2))

    def end(self):
        while self.lines.next(attach.LIMIT) is not None:
            pass
        if self.process.wait(attach.LIMIT):
            raise bench.Failed("status %d%s" % (self.process.returncode, self.lines.said()))


class Stamps:
    """The program with its slots."""

    def __init__(self, build, tmp, n):
        self.n, self.file = n, os.path.join(tmp, "slots")
        self.period = max(1000, 20 * n)
        self.process = subprocess.Popen([os.path.join(build, "bench", "stamps"), self.file,
                                         str(n), str(self.period)], stdout=subprocess.PIPE)
        line = attach.Lines(self.process.stdout).next(attach.LIMIT)
        if line != "running":
            self.kill()
            raise attach.Impossible(line or "the program does not start")
        self.slots = open(self.file, "r+b", buffering=0)

    def read(self):
        self.slots.seek(0)
        return list(SLOT.iter_unpack(self.slots.read()))

    def begin(self):
        for i in range(self.n):
            self.slots.seek(i * SLOT.size + 8)
            self.slots.write(bytes(8))

    def latest(self):
        """When each thread has run twice more: milliseconds of the latest."""
        for _ in range(2):
            since, end = time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.monotonic() + 60
            while min(s[0] for s in self.read()) < since:
                if time.monotonic() > end:
                    raise bench.Failed("a thread does not run")
                time.sleep(self.period / 1e6)
        return max(s[1] for s in self.read()) / 1e6

    def kill(self):
        self.process.kill()
        self.process.wait()


def stamp_round(depctl, tmp, p, late):
    pid = p.process.pid
    p.latest()
    p.begin()
    time.sleep(0.1)
    late["none"].append(p.latest())
    p.begin()
    attach.probe(depctl, pid, p.n)
    late["ptrace"].append(p.latest())
    p.begin()
    r = Recording(depctl, tmp, pid)
    try:
        r.attached()
        late["attach"].append(p.latest())
        p.begin()
        r.detached()
        late["detach"].append(p.latest())
        r.end()
    finally:
        if r.process.poll() is None:
            p.kill()
            r.process.wait()


def stamp_case(build, tmp, name, n):
    rounds = int(os.environ.get("ROUNDS") or attach.how_many(n, QUICK))
    late = {what: [] for what in ("none", "ptrace", "attach", "detach")}
    p = Stamps(build, tmp, n)
    try:
        for _ in range(rounds):
            stamp_round(os.path.join(build, "depctl"), tmp, p, late)
    except (bench.Failed, subprocess.TimeoutExpired) as e:
        print("%-9s failed: %s" % (name, e))
        return False
    finally:
        p.kill()
        for what, v in late.items():
            if v:
                p99 = "%.2f" % attach.percentile(v, 99) if len(v) >= 100 else "-"
                print("%-9s %-8s %6d %9.2f %9s %9.2f" % (
                    name, what, len(v), attach.percentile(v, 50), p99, max(v)), flush=True)
    return True


def requests(path, n, at):
    """Seconds of each of n requests; at[i] is called before the i-th."""
    s, times = socket.socket(socket.AF_UNIX), []
    s.connect(path)
    for i in range(n):
        if i in at:
            at[i]()
        key, value = b"key%d" % (i % 1000), b"x" * (i % 300)
        request = b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key,
                                                                     len(value), value)
        begun = time.perf_counter()
        s.sendall(request)
        if s.recv(64) != b"+OK\r\n":
            raise bench.Failed("redis gives a wrong response")
        times.append(time.perf_counter() - begun)
    s.close()
    return times


def redis_times(depctl, tmp, server, path, n):
    """Latencies without and with the cycle, which overlaps the requests; the stops."""
    native = requests(path, n, {})
    r, stops = [], []
    at = {n // 3: lambda: r.append(Recording(depctl, tmp, server.pid)),
          2 * n // 3: lambda: (stops.append(r[0].attached()),
                               r[0].process.send_signal(signal.SIGINT))}
    cycle = requests(path, n, at)
    stops.append(float(r[0].lines.until(attach.DETACHED, attach.LIMIT).group(2)))
    r[0].end()
    return native, cycle, stops


def redis_case(build, tmp):
    path = os.path.join(tmp, "redis")
    if not shutil.which("redis-server"):
        raise attach.Impossible("redis-server is not installed")
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", ""],
                              stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if os.path.exists(path):
                break
            time.sleep(0.05)
        native, cycle, stops = redis_times(os.path.join(build, "depctl"), tmp, server, path,
                                           20000 if QUICK else 100000)
    finally:
        server.terminate()
        server.wait()
    for what, v in (("native", native), ("cycle", cycle)):
        print("redis     %-8s %6d requests, ms: p50 %.3f, p99 %.3f, p99.9 %.3f, most %.2f" % (
            (what, len(v)) + tuple(attach.percentile(v, p) * 1e3 for p in (50, 99, 99.9)) +
            (max(v) * 1e3,)))
    print("redis     stop of attach %.2f ms, of detach %.2f ms" % tuple(stops), flush=True)
    return True


def main():
    build = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:] or [c for c in CASES if not QUICK or c not in CASES[3:5]]
    good = True
    attach.more_threads()
    print("%-9s %-8s %6s %9s %9s %9s" % ("case", "late", "rounds", "p50 ms", "p99 ms", "most ms"))
    for name in wanted:
        m = re.fullmatch(r"stamp([1-9]\d*)", name)
        with tempfile.TemporaryDirectory(prefix="adept-bench.",
                                         dir=os.environ.get("BENCH_TMP")) as tmp:
            try:
                good &= stamp_case(build, tmp, name, int(m.group(1))) if m else \
                    redis_case(build, tmp)
            except (attach.Impossible, bench.Failed) as e:
                print("%-9s cannot be measured: %s" % (name, e), flush=True)
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
