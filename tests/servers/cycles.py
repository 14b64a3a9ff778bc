#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Attach to running processes and detach from them, again and again.

    cycles.py DEPCTL STORE SEED CYCLES PID...

The processes take turns.  A cycle is an attach, a recording of random length, and a
detach, after which the process and its children must run without the engine and the store
must verify.  An attach that is refused with "try again" is counted and made again, at
most as often as there are cycles.

Prints one line: the numbers of cycles and of refusals, and the median and the longest stop
of both kinds.  Otherwise what is wrong, with exit status 1, and STORE is kept.
"""
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

LIMIT = 60          # seconds for each step
HOLD = (0.0, 0.02, 0.1, 0.3, 0.7)
PAUSE = (0.0, 0.05, 0.2)
STOPPED = re.compile(r"(\d+) threads? stopped for ([\d.]+) ms")


class Wrong(Exception):
    """A cycle fails."""


class Again(Exception):
    """An attach is refused for now."""


def read_until(p, said, words, seconds):
    """Append lines of standard error to said, until one has one of the words or at the end."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([p.stderr], [], [], left)[0]:
            raise Wrong("no %r in %d s: %s" % (words, seconds, said))
        line = p.stderr.readline().decode(errors="replace")
        if not line:
            return False
        said.append(line.strip())
        if any(w in line for w in words):
            return True


def family(pid):
    """The process and its descendants."""
    found = [pid]
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                for child in f.read().split():
                    found += family(int(child))
        except OSError:
            pass
    return found


def under_engine(pid):
    try:
        with open("/proc/%d/maps" % pid) as f:
            return "adept-session" in f.read()
    except OSError:
        return False


def stop_ms(said, words):
    for line in said:
        m = STOPPED.search(line)
        if words in line and m:
            yield float(m.group(2))


def record(depctl, store, pid, hold):
    """One attach and detach: what depctl says."""
    p = subprocess.Popen([depctl, "attach", "-o", store, str(pid)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
    said = []
    try:
        if not read_until(p, said, ["recording process"], LIMIT):
            p.wait()
            if any("try again" in line for line in said):
                raise Again(said)
            raise Wrong("no attach: %s" % said)
        time.sleep(hold)
        p.send_signal(signal.SIGINT)
        while read_until(p, said, [], LIMIT):
            pass
        if p.wait(LIMIT):
            raise Wrong("the end has status %d: %s" % (p.returncode, said))
        return said
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()


def verify(depctl, store):
    p = subprocess.run([depctl, "verify", store], capture_output=True, text=True,
                       errors="replace", timeout=600)
    if p.returncode or not re.search(r"references: good$", p.stdout, re.M):
        raise Wrong("verify: status %d: %s" % (p.returncode, (p.stdout + p.stderr)[-300:]))


def leave(pid, said):
    """Wait until the engine is gone: threads in calls that a stop would end follow later."""
    end = time.monotonic() + LIMIT
    while True:
        if not os.path.exists("/proc/%d" % pid):
            raise Wrong("the process has ended: %s" % said)
        left = [p for p in family(pid) if under_engine(p)]
        if not left:
            return
        if time.monotonic() > end:
            raise Wrong("processes %s are still under the engine: %s" % (left, said))
        time.sleep(0.02)


def cycle(depctl, store, pid, hold):
    shutil.rmtree(store, ignore_errors=True)
    said = record(depctl, store, pid, hold)
    leave(pid, said)
    verify(depctl, store)
    return said


def percentile(values, share):
    return sorted(values)[int((len(values) - 1) * share)]


def run(depctl, store, seed, cycles, pids):
    random.seed(seed)
    refused, attach, detach, done = [], [], [], 0
    while done < cycles:
        time.sleep(random.choice(PAUSE))
        try:
            said = cycle(depctl, store, pids[done % len(pids)], random.choice(HOLD))
        except Again as e:
            refused.append(e)
            if len(refused) > cycles:
                raise Wrong("%d attaches are refused: %s" % (len(refused), e)) from None
            continue
        attach += stop_ms(said, "recording process")
        detach += stop_ms(said, "runs natively again")
        done += 1
    print("%d cycles, %d refused; ms stopped (median, most): attach %.2f %.2f, "
          "detach %.2f %.2f" % (done, len(refused), percentile(attach, .5), max(attach),
                                percentile(detach, .5), max(detach)))


def main():
    depctl, store, seed, cycles = sys.argv[1:5]
    # A shell has its background commands ignore it, and depctl would, too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        run(depctl, store, seed, int(cycles), [int(pid) for pid in sys.argv[5:]])
    except (Wrong, OSError, subprocess.TimeoutExpired) as e:
        print("%s, seed %s" % (e, seed))
        return 1
    shutil.rmtree(store, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
