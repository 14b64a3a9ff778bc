#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kill the tracer of an attach at random moments: the program must end as it must.

kill_tracer.py DEPCTL ROUNDS SEED PROGRAM [ARGUMENT...]; the program ends itself after SIGUSR2.

After that either the process is attached to, or nothing of Adept is left in its mappings, those of
files are as before, and it can be attached to again.

Prints a line for each round that went wrong, and at the end how often the tracer was killed before
and after the program's threads were moved.  Exits with 1 if a round went wrong, or if no tracer was
killed.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

LONGEST = 0.03      # seconds from the tracer's start to its death


def children(pid):
    try:
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, tid)) as f:
                for child in f.read().split():
                    yield int(child)
                    yield from children(int(child))
    except OSError:
        pass


def leads_session(pid):
    """The tracer does, and none of the others."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return int(f.read().rsplit(")", 1)[1].split()[3]) == pid
    except OSError:
        return False


def kill_tracer(depctl, delay):
    """True if it was killed."""
    end = time.monotonic() + 10
    while time.monotonic() < end and depctl.poll() is None:
        for pid in children(depctl.pid):
            if leads_session(pid):
                time.sleep(delay)
                try:
                    os.kill(pid, signal.SIGKILL)
                    return True
                except OSError:
                    return False
    return False


def remains(pid):
    """Mappings of Adept: what it maps is at addresses that nobody else uses, or W+X."""
    with open("/proc/%d/maps" % pid) as f:
        return [line for line in f if "adept-session" in line or " rwx" in line or
                line.startswith("5500000") or line.startswith("210000000")]


def of_files(pid):
    """Its mappings of files."""
    with open("/proc/%d/maps" % pid) as f:
        return [line for line in f if "/" in line and "adept-session" not in line]


def settle(pid, recorder):
    """Wait until recorder and starter have ended, or another tracer has attached to the process.

    Return: is the process attached to?
    """
    end = time.monotonic() + 20
    while time.monotonic() < end and not attached(pid):
        if recorder.poll() is not None and not remains(pid):
            return False
        time.sleep(0.05)
    return attached(pid)


def attached(pid):
    """Is the engine's handler there?  The program has none for SIGPWR."""
    with open("/proc/%d/status" % pid) as f:
        caught = [int(line.split()[1], 16) for line in f if line.startswith("SigCgt")]
    return caught[0] >> (signal.SIGPWR - 1) & 1


def attach_again(depctl, pid):
    shutil.rmtree("again", ignore_errors=True)
    d = subprocess.run([depctl, "attach", "--for=1", "-o", "again", str(pid)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
    return None if not d.returncode else "not attached to again: " + d.stderr.decode()


def examine(depctl, pid, recorder, before):
    """What is wrong with the process after the kill, or None; whether it is attached to."""
    if settle(pid, recorder):
        return None, True
    left = remains(pid)
    if left:
        return "remains of the engine: " + left[0], False
    changed = set(of_files(pid)) ^ set(before)
    if changed:
        return "mappings that are not as before: " + "".join(sorted(changed)), False
    return attach_again(depctl, pid), False


def one_round(depctl, program, delay):
    """What went wrong, or None; whether the tracer was killed, and whether the engine was there."""
    shutil.rmtree("killed", ignore_errors=True)
    p = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    p.stdout.readline()
    before = of_files(p.pid)
    d = subprocess.Popen([depctl, "attach", "-o", "killed", str(p.pid)],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    killed = kill_tracer(d, delay)
    mapped, wrong = False, None
    try:
        if killed:
            wrong, mapped = examine(depctl, p.pid, d, before)
        p.send_signal(signal.SIGUSR2)
        said = p.communicate(timeout=120)[0].decode()
        d.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        d.kill()
        return "one of both does not end", killed, False
    return said if p.returncode else wrong, killed, mapped


def main():
    depctl, rounds, seed, program = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    random.seed(seed)
    bad, before, after = 0, 0, 0
    for r in range(rounds):
        wrong, killed, mapped = one_round(depctl, program, random.random() ** 4 * LONGEST)
        if wrong:
            print("round %d with seed %s: %s" % (r, seed, wrong.strip()))
            bad += 1
        before += killed and not mapped
        after += killed and mapped
    print("killed %d times before the engine was there, %d times after" % (before, after))
    return 1 if bad or not before + after else 0


if __name__ == "__main__":
    sys.exit(main())
