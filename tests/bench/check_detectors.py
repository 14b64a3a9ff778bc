#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_detectors.py BUILD-DIR: what detectors.py does when something goes wrong.

BUILD-DIR has bench/timecmd and bench/spin.  One line for each check, then how many passed and
failed.
"""
import contextlib
import io
import os
import sys
import tempfile
import threading
import time

import detectors

counts = {True: 0, False: 0}


def check(what, good):
    counts[bool(good)] += 1
    print("%s %s" % ("ok  " if good else "FAIL", what))


def fails_behind(path):
    """The load of a server that has begun, which shows by this file."""
    while not os.path.exists(path) or not os.path.getsize(path):
        time.sleep(0.01)
    raise detectors.Failed("the load")


def judged(got, tools):
    """What gates() returns and prints of a program p."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        missed = detectors.gates(got, ["p"], tools)
    return missed, text.getvalue()


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory() as tmp:
        pids = os.path.join(tmp, "pid")
        command = ["sh", "-c", "echo $$ >%s; exec sleep 600" % pids]
        try:
            detectors.run(build, command, tmp, lambda _: fails_behind(pids), True)
            why = None
        except detectors.Failed as e:
            why = str(e)
        check("a load that fails is reported", why == "the load")
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(20)
        check("no thread is left", threading.active_count() == 1)
        with open(pids) as f:
            left = "/proc/" + f.read().strip()
        # it is killed, but may not be reaped yet
        until = time.monotonic() + 20
        while os.path.exists(left) and time.monotonic() < until:
            time.sleep(0.01)
        check("no process is left", not os.path.exists(left))
    processors = detectors.Processors(build)
    shares, runs = iter((1, .5, 1, .6, 1, .4)), iter("abc")
    processors.wait = processors.share = lambda: next(shares)
    check("a run that is disturbed is done again, and the best one counts",
          processors.undisturbed(lambda: next(runs), 3) == "b" and processors.disturbed == 1)
    shares, runs = iter((1, .5, .95, 1)), iter("ab")
    check("until one is not",
          processors.undisturbed(lambda: next(runs), 3) == "b" and processors.disturbed == 1)
    native = {"wall": 1.0, "cpu": 1.0, "memory": 100}
    adept = {"wall": 2.0, "cpu": 2.0, "memory": 700}
    slow, fast = ({"wall": w, "cpu": w, "memory": 100} for w in (5.0, 7.0))
    got = {("p", "native"): native, ("p", "adept"): adept, ("p", "drd"): fast}
    check("a gate holds", judged(got, detectors.TOOLS)[0] == 0)
    check("a gate is missed", judged({**got, ("p", "helgrind"): slow}, detectors.TOOLS)[0] == 1)
    del got["p", "drd"]
    missed, text = judged(got, detectors.TOOLS)
    check("nothing to compare with is no gate that holds", missed == 1 and "UNKNOWN" in text)
    missed, text = judged(got, ("native", "adept", "tsan"))
    check("but may be wanted", missed == 0 and "neither ran" in text)
    check("no run of Adept", judged({("p", "native"): native}, detectors.TOOLS)[0] == 1)
    print("%d passed, %d failed, 0 skipped" % (counts[True], counts[False]))
    # a thread that still runs would wait here
    sys.stdout.flush()
    os._exit(1 if counts[False] else 0)


main()
