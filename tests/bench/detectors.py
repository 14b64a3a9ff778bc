#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of race detection: `depctl record --races` compared with other detectors.

    detectors.py BUILD-DIR [PROGRAM...]

Each round runs every program natively and under each tool, one after the other: Adept, Helgrind
and DRD with their defaults on the same binaries, ThreadSanitizer on those that are compiled for
it, which are only ours.  Wall time and user + system seconds are those of the tool with all its
processes, of a server until it has ended; medians over the rounds.  The peak of memory is that
of the sum of their proportional set sizes, sampled in one more run, or of the largest process, if
that was more.

A virtual machine may not always get all its processors, which slows programs with many threads
most.  So before and after each run the time of the same work on all processors at once and on one
processor is compared.  If it is more than a tenth longer, the script waits before the run, and
repeats it afterwards, up to TRIES times.  Runs that were disturbed every time count, and are
reported.

ROUNDS=3  rounds; QUICK=1 inputs of a fifth.  TOOLS="adept drd" takes some.  TRIES=4; 1: once.

Gates: Adept needs at most a third of the wall time of the faster one of Helgrind and DRD, and at
most 8 times the program's memory.  The exit status is 1 if one is missed, or not known although
TOOLS has what it takes.
"""
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import inputs

TOOLS = ("native", "adept", "helgrind", "drd", "tsan")
TIMES, MEMORY = 3, 8
SHARE, PATIENCE = 0.9, 2
LIMIT = 900
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}


class Failed(Exception):
    pass


# ---- measuring ----

def tree(root):
    """The process and all below it."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, "rb") as f:
                    parent = int(f.read().rsplit(b")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def memory_of(pid):
    try:
        with open("/proc/%d/smaps_rollup" % pid) as f:
            return int(re.search(r"^Pss: *(\d+)", f.read(), re.M).group(1)) * 1024
    except (OSError, AttributeError):
        return 0


class Peak(threading.Thread):
    """Look at the memory of a process and its children again and again."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.peak, self.ended = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.01):
            self.peak = max(self.peak, sum(map(memory_of, tree(self.pid))))

    def stop(self):
        self.ended.set()
        self.join()
        return self.peak


def wrapped(build, tool, command):
    """The command under a tool, or None if that cannot be."""
    if tool == "native":
        return command
    if tool == "adept":
        return [os.path.join(build, "depctl"), "record", "-q", "--alone", "--races", "--"] + command
    if tool == "tsan":
        other = command[0] + ".tsan"
        return [other] + command[1:] if os.path.exists(other) else None
    return ["valgrind", "--tool=" + tool] + command if shutil.which("valgrind") else None


def run(build, argv, tmp, drive, watch):
    """Seconds on the wall and of processors, bytes at the peak where it is watched."""
    env, times = dict(ENV, TMPDIR=tmp), os.path.join(tmp, "times")
    argv = [os.path.join(build, "bench", "timecmd"), times] + argv
    with open(os.path.join(tmp, "out"), "wb") as out, open(os.path.join(tmp, "err"), "wb") as err:
        begun = time.monotonic()
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                             cwd=tmp, start_new_session=True)
        alarm = threading.Timer(LIMIT, os.killpg, (p.pid, signal.SIGKILL))
        alarm.start()
        peak = Peak(p.pid) if watch else None
        try:
            if drive:
                drive(tmp)
            p.wait()
            wall = time.monotonic() - begun
        finally:
            # a server whose load failed would wait forever
            if p.returncode is None:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
            alarm.cancel()
            sampled = peak.stop() if peak else 0
    if p.returncode:
        with open(os.path.join(tmp, "err"), errors="replace") as f:
            raise Failed("status %d: %s" % (p.returncode, f.read().strip()[-200:]))
    with open(times) as f:
        cpu = sum(map(float, f.readline().split()))
        return wall, cpu, max(sampled, int(f.readline()))


def reported(tool, tmp):
    """How many races the tool spoke of, None if it is none that looks for any."""
    with open(os.path.join(tmp, "err"), errors="replace") as f:
        text = f.read()
    if tool == "adept":
        found = re.search(r"^(\d+) races? in ", text, re.M)
    elif tool == "tsan":
        return text.count("WARNING: ThreadSanitizer")
    else:
        found = re.search(r"ERROR SUMMARY: \d+ errors from (\d+) contexts", text)
    if tool != "native" and not found:
        raise Failed("%s reported nothing: %s" % (tool, text.strip()[-200:]))
    return int(found.group(1)) if found else None


class Processors:
    """How much of them there is."""

    def __init__(self, build):
        self.spin, self.disturbed, self.tries = os.path.join(build, "bench", "spin"), 0, 0
        self.alone = min(self.seconds(1) for _ in range(10))

    def seconds(self, n):
        return float(subprocess.run([self.spin, str(n)], check=True, stdout=subprocess.PIPE).stdout)

    def share(self):
        return self.alone / self.seconds(os.cpu_count())

    def wait(self):
        until = time.monotonic() + PATIENCE
        share = self.share()
        while share < SHARE and time.monotonic() < until:
            time.sleep(0.05)
            share = self.share()
        return share

    def undisturbed(self, measure, tries):
        """What measure() returns of a run with all of them, or else of the best one."""
        best = None
        for _ in range(tries):
            self.tries += 1
            share = self.wait()
            result = measure()
            share = min(share, self.share())
            if share >= SHARE:
                return result
            if not best or share > best[0]:
                best = share, result
        self.disturbed += 1
        return best[1]


# ---- programs ----

def redis_server(tmp):
    with open(os.path.join(tmp, "redis.conf"), "w") as f:
        f.write("port 0\nunixsocket %s/redis.socket\ndir %s\nsave \"\"\n"
                "lazyfree-lazy-user-del yes\n" % (tmp, tmp))
    return ["redis-server", os.path.join(tmp, "redis.conf")]


def redis_load(requests):
    def drive(tmp):
        path = os.path.join(tmp, "redis.socket")
        ask = ["redis-cli", "-s", path]
        deadline = time.monotonic() + 60
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise Failed("redis-server does not begin")
            time.sleep(0.01)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": LIMIT}
        subprocess.run(["redis-benchmark", "-s", path, "-n", str(requests), "-c", "10", "-q", "-t",
                        "set,get,lpush,sadd,mset"], check=True, **quiet)
        subprocess.run(ask + ["unlink", "mylist", "myset"], check=True, **quiet)
        subprocess.run(ask + ["shutdown", "nosave"], check=False, **quiet)
        if os.path.exists(path):
            os.unlink(path)
    return drive


def prepare(build, scale, tmp):
    """{name: (command, what drives it)}"""
    where = os.path.join(build, "bench", "races")
    os.makedirs(where, exist_ok=True)
    text = inputs.text(1)
    commands = {}
    for name, size, command in (
            ("pigz", 3000000, ["pigz", "-p2", "-c"]),
            ("zstd", 5000000, ["zstd", "-T2", "-q", "-3", "-B600KB", "-c"]),
            ("xz", 600000, ["xz", "-T2", "-1", "--block-size=%d" % int(150000 * scale), "-c"])):
        path = os.path.join(where, "%s.%d.txt" % (name, int(size * scale)))
        inputs.write(path, lambda: text[:int(size * scale)])
        commands[name] = (command + [path], None)
    n = int(480 * scale ** (1 / 3))
    commands["lu"] = ([os.path.join(build, "bench", "lu"), str(n), "2"], None)
    commands["redis"] = (redis_server(tmp), redis_load(int(2000 * scale)))
    return commands


# ---- the table ----

def measure(build, tmp, commands, tools, rounds, processors):
    """{(program, tool): {wall, cpu, memory, races}} and what failed"""
    got, failed, tries = {}, {}, int(os.environ.get("TRIES", "4"))
    for r in range(rounds + 1):
        for name, (command, drive) in commands.items():
            for tool in tools:
                argv = wrapped(build, tool, command)
                if not argv or (name, tool) in failed:
                    continue
                print("\r%-60s" % ("round %d of %d: %s %s" % (r, rounds, name, tool)), end="",
                      file=sys.stderr, flush=True)
                one = got.setdefault((name, tool), {"wall": [], "cpu": []})
                try:
                    # the first run warms up the file caches
                    if r == 0:
                        wall, cpu, peak = run(build, argv, tmp, drive, True)
                    else:
                        wall, cpu, peak = processors.undisturbed(
                            lambda: run(build, argv, tmp, drive, False), tries)
                    one["races"] = reported(tool, tmp)
                except (Failed, OSError, subprocess.SubprocessError) as e:
                    failed[name, tool] = str(e)
                    continue
                if r == 0:
                    one["memory"] = peak
                else:
                    one["wall"].append(wall)
                    one["cpu"].append(cpu)
    print("\r%-60s\r" % "", end="", file=sys.stderr, flush=True)
    for key in failed:
        got.pop(key, None)
    for one in got.values():
        one["wall"], one["cpu"] = map(statistics.median, (one["wall"], one["cpu"]))
    return got, failed


def table(got, failed, names, tools):
    form = "%-8s %-9s" + " %9s" * 7
    print(form % ("program", "tool", "wall", "wall", "cpu", "cpu", "memory", "memory", "races"))
    print(form % ("", "", "s", "x", "s", "x", "MiB", "x", ""))
    for name in names:
        native = got.get((name, "native"))
        for tool in tools:
            one = got.get((name, tool))
            if (name, tool) in failed:
                print("%-8s %-9s failed: %s" % (name, tool, failed[name, tool]))
            elif one and native:
                print(form % (name, tool, "%.2f" % one["wall"],
                              "%.1f" % (one["wall"] / native["wall"]), "%.2f" % one["cpu"],
                              "%.1f" % (one["cpu"] / max(native["cpu"], 0.001)),
                              "%.0f" % (one["memory"] / 2**20),
                              "%.1f" % (one["memory"] / max(native["memory"], 1)),
                              "" if one["races"] is None else one["races"]))


def gates(got, names, tools):
    """Print them; return how many are missed, or not known of tools that were asked for."""
    missed = 0

    def gate(what, held):
        nonlocal missed
        missed += not held
        print("%-7s %s" % ("holds" if held else "MISSED", what))

    def unknown(what, why, wanted):
        nonlocal missed
        missed += wanted
        print("%-7s %s: %s" % ("UNKNOWN" if wanted else "no", what, why))

    print()
    for name in names:
        adept, native = got.get((name, "adept")), got.get((name, "native"))
        others = [got[name, t] for t in ("helgrind", "drd") if (name, t) in got]
        if not adept or not native:
            unknown(name, "there is no run to compare", "adept" in tools)
            continue
        if others:
            times = min(o["wall"] for o in others) / adept["wall"]
            gate("%s: %.1f times as fast as the faster of helgrind and drd, at least %d" % (
                name, times, TIMES), times >= TIMES)
        else:
            unknown("%s: times as fast as the faster of helgrind and drd" % name,
                    "neither ran", "helgrind" in tools or "drd" in tools)
        more = adept["memory"] / max(native["memory"], 1)
        gate("%s: %.1f times the program's memory, at most %d" % (name, more, MEMORY),
             more <= MEMORY)
    return missed


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(os.environ.get("ROUNDS", "3"))
    scale = 0.2 if os.environ.get("QUICK") == "1" else 1.0
    tools = [t for t in TOOLS if t in os.environ.get("TOOLS", " ".join(TOOLS)).split() or
             t == "native"]
    begun = "%.2f %.2f %.2f" % os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="adept-races.",
                                     dir=os.environ.get("BENCH_TMP")) as tmp:
        commands = prepare(build, scale, tmp)
        names = sys.argv[2:] or list(commands)
        for name in list(names):
            if name not in commands:
                print("there is no %s; programs: %s" % (name, " ".join(commands)),
                      file=sys.stderr)
                return 2
            if not shutil.which(commands[name][0][0]):
                print("%s is left out: it is not installed" % name)
                names.remove(name)
        processors = Processors(build)
        got, failed = measure(build, tmp, {n: commands[n] for n in names}, tools, rounds,
                              processors)
    table(got, failed, names, tools)
    missed = gates(got, names, tools)
    print("%d timed runs; of those that count %d did not have all processors" % (
        processors.tries, processors.disturbed))
    print("medians of %d rounds, %d processors; load average %s before, %.2f %.2f %.2f after" % (
        rounds, os.cpu_count(), begun, *os.getloadavg()))
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
