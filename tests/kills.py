#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kill all subsets of the processes that record, at many points of a recording.

    kills.py BUILD DIR SEED CASES|all

Run by kills.sh.  A case is one recording of programs/steps.c: a way (alone or depd), a subset of
its processes, a point, and with depd whether another depd is started afterwards.  The program says
in a file what it did.  Its own end, its output, and the verdict on the store are compared with
that.  Prints lines of "ok", "FAIL", and a last "summary".
"""
import glob
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

THREADS, STEPS = 6, 60
ROWS = THREADS + 2                              # main's is 0, the executed image's the last
LINES = 2 + ROWS * (STEPS + 1) + 2              # of the program's file
LIMIT_S = 30                                    # for the program, and for each wait here
LANES = 8                                       # cases at a time..
BUSY = 2                                        # ..of which so many do more than wait
POINTS = 30
ALONE = ("depctl", "collector")
DEPD = ("depctl", "depd", "holder", "tracer")
GIVE_UP_S = 2                                   # where a program has to wait for it
NEVER_S = 600                                   # where it must not

# Ten points of each kind: lines of the program's file; fractions of a recording; system calls.
PROGRESS = [0, 1, 2, 4, LINES // 8, LINES // 3, LINES // 2, LINES * 3 // 4, LINES - 2, LINES]


def subsets(names):
    for n in range(1, len(names) + 1):
        yield from itertools.combinations(names, n)


def all_cases():
    cases = [("alone", s, p, False) for s in subsets(ALONE) for p in range(POINTS)]
    cases += [("depd", s, p, again) for s in subsets(DEPD) for p in range(POINTS)
              for again in (True, False)]
    return cases


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def size(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def until(condition, limit=LIMIT_S, pause=0.01):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(pause)
    return condition()


class Wrong(Exception):
    """What is not as it must be."""


working = threading.Semaphore(BUSY)


class Learned:
    """How long a recording takes and how many system calls, for the points of later cases."""
    lock = threading.Lock()
    seconds = {"alone": 0.2, "depd": 0.25}
    calls = {"depctl": 400, "collector": 1000, "depd": 2500, "tracer": 240, "holder": 16}
    # depctl's system calls before its main function.
    before = {"depctl": 200}

    @classmethod
    def call_count(cls, name, n):
        with cls.lock:
            cls.calls[name] = max(10, (cls.calls[name] + n) // 2)

    @classmethod
    def took(cls, way, s):
        with cls.lock:
            cls.seconds[way] = (cls.seconds[way] + s) / 2


class Case:
    def __init__(self, build, top, number, case, seed):
        self.build, self.number = build, number
        self.way, self.subset, self.point, self.again = case
        self.random = random.Random("%s %s" % (seed, case))
        self.dir = os.path.join(top, "c%d" % number)
        self.run = os.path.join(self.dir, "run")
        self.file = os.path.join(self.dir, "steps")
        self.store = os.path.join(self.dir, "s.dep")
        self.log = os.path.join(self.dir, "log")
        self.err = os.path.join(self.dir, "err")
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "ADEPT_RUNDIR": self.run}
        self.depd = self.front = self.at = None
        self.killed = []                        # those of the subset that were there
        self.where = ""

    def name(self):
        return "%s: %s killed %s%s" % (
            self.way, self.whom(), self.where,
            "" if self.way == "alone" else ", another depd" if self.again else ", no other depd")

    def whom(self):
        return "+".join(n if n in self.killed else "(%s)" % n for n in self.subset)

    def depctl(self, *args):
        return subprocess.run([self.build + "/depctl", *args], env=self.env, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")

    # ---- processes ----

    def mine(self):
        """Of this case, by process number: the command line."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            line = read(path)
            if self.dir + "/" in line:
                found[int(path.split("/")[2])] = line.split("\0")
        return found

    def start_depd(self):
        waits = not self.again and "depd" in self.subset and "holder" not in self.subset
        give_up = GIVE_UP_S if waits else NEVER_S
        with open(self.log, "a") as log:
            self.depd = subprocess.Popen(
                [self.build + "/depd", "--config=" + self.dir + "/conf", "--rundir=" + self.run,
                 "--store=" + self.dir + "/stores", "--give-up=%ds" % give_up],
                env=self.env, stderr=log)
        if not until(lambda: self.depctl("status").returncode == 0):
            raise Wrong("depd does not answer: " + read(self.log)[-200:])

    def helper(self, name):
        for pid, line in self.mine().items():
            if line[0] == "depd-" + name:
                return pid
        return None

    def collector(self):
        try:
            children = read("/proc/%d/task/%d/children" % ((self.front.pid,) * 2)).split()
        except OSError:
            return None
        for pid in children[:1]:
            if read("/proc/%s/comm" % pid).strip() in ("depctl-collect", "depctl"):
                return int(pid)
        return None

    def find(self, name):
        if name == "depctl":
            return self.front.pid
        if name == "depd":
            # Root's depd has a process for root's sessions, which ends with it.
            return self.helper("user") or self.depd.pid
        return self.collector() if name == "collector" else self.helper(name)

    def kill(self):
        pids = [(name, self.find(name)) for name in self.subset]
        if "depd" in self.subset and self.depd.pid not in dict(pids).values():
            os.kill(self.depd.pid, signal.SIGKILL)
        self.random.shuffle(pids)
        for name, pid in pids:
            if pid and self.send_kill(pid):
                self.killed.append(name)
        # depd may have started another one in time.
        if "depd" in self.killed:
            self.kill_new([n for n in ("holder", "tracer") if n in self.subset])

    @staticmethod
    def send_kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            return False

    def kill_new(self, names):
        """What a depd that is dead has forked takes its name, or is found as depd."""
        if not until(lambda: not self.forked(), pause=0.001):
            raise Wrong("a child of depd does not become what it should: " + self.stuck())
        for name in names:
            pid = self.helper(name)
            if pid:
                self.send_kill(pid)

    def forked(self):
        return [p for p, line in self.mine().items() if line[0].endswith("/depd") and
                p != self.depd.pid]

    # ---- the time of the kill ----

    def start_front(self):
        """depctl, which begins with a line on its standard input."""
        command = [self.build + "/depctl", "record", "-q", "--ring-size=64K", "-o", self.store,
                   *(["--alone"] if self.way == "alone" else []), "--",
                   self.build + "/programs/steps", self.file, str(THREADS), str(STEPS)]
        with open(self.dir + "/out", "w") as out, open(self.err, "w") as err:
            self.front = subprocess.Popen(["sh", "-c", 'read x; exec "$@"', "sh", *command],
                                          stdin=subprocess.PIPE, stdout=out, stderr=err,
                                          env=self.env)

    def go(self):
        self.front.stdin.write(b"go\n")
        self.front.stdin.close()

    def gone(self):
        return self.front.poll() is not None

    def lines_written(self, n):
        """Wait for so many lines, which are all of nearly the same length."""
        while not self.gone():
            if n == 0 and size(self.file) >= 0:
                return
            if n and size(self.file) > n * 7 and read(self.file).count("\n") >= n:
                return
            time.sleep(0.0005)

    def at_progress(self):
        n = PROGRESS[self.point]
        self.where = "at line %d" % n
        self.go()
        self.lines_written(n)

    def at_time(self):
        share = (self.point - 10 + self.random.random()) / 10
        delay = share * 1.2 * Learned.seconds[self.way]
        self.where = "after %.0f ms" % (delay * 1000)
        self.go()
        time.sleep(delay)

    def at_call(self):
        """A process is stopped at a system call while those of the subset are killed."""
        names = ALONE if self.way == "alone" else ("depctl", "depd", "tracer", "holder")
        # The tracer and the holder are not dumpable, so only root can stop them.
        if self.way != "alone" and os.geteuid():
            names = names[:2]
        name = names[self.point % len(names)]
        first = Learned.before.get(name, 0)
        # Most unique events happen early.
        n = first + 1 + int(self.random.random() ** 2 * max(10, Learned.calls[name] - first))
        self.where = "at system call %d of %s" % (n, name)
        if name == "collector":
            self.go()
            until(lambda: self.collector() or self.gone(), pause=0.0002)
        pid = self.find(name)
        if not pid:
            return
        self.at = subprocess.Popen([self.build + "/programs/kill_at", str(pid), str(n), "stop"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = self.at.stdout.readline()
        if name != "collector":
            self.go()
        if said.startswith("cannot"):
            if name == "collector":
                return                          # it had ended
            raise Wrong("kill_at: " + said.strip())
        # A process that does not reach its point is killed when the recording has ended.
        watch = threading.Thread(target=self.stop_waiting)
        watch.start()
        said = self.at.stdout.readline()
        if said.startswith("ended"):
            Learned.call_count(name, int(said.split()[1]))
            if os.environ.get("KEEP"):
                print("#", name, said)
        watch.join()

    def stop_waiting(self):
        until(lambda: self.at.poll() is not None or self.gone() or self.is_stopped(), pause=0.002)
        if self.at.poll() is None and not self.is_stopped():
            self.at.kill()

    def is_stopped(self):
        """kill_at waits for the end of its standard input."""
        return read("/proc/%d/wchan" % self.at.pid).startswith(("pipe_read", "anon_pipe_read"))

    # ---- result ----

    def did(self):
        """Steps by row, the addresses of marks[] by row, how the child ended, is it over."""
        steps, marks, child, over = {}, [], None, False
        for line in read(self.file).splitlines():
            word = line.split()
            if word[0] == "step":
                row = int(word[1])
                if int(word[2]) != steps.get(row, 0):
                    raise Wrong("the program did a step twice or left one out: " + line)
                steps[row] = steps.get(row, 0) + 1
            elif word[0] == "marks":
                marks += word[1:]
            elif word[0] == "child":
                child = int(word[1])
            elif word[0] == "over":
                over = True
        return steps, marks, child, over

    def programs(self):
        return [p for p, line in self.mine().items() if line[0].endswith("/programs/steps") or
                (line[0] == "/proc/self/exe")]

    def busy(self):
        """Processes that still have to do with the recording, besides depd and its helpers."""
        return [p for p, line in self.mine().items() if not line[0].endswith("depd") and
                line[0] not in ("depd-user", "depd-holder", "depd-tracer")]

    def wait_for_end(self):
        if not until(lambda: not self.programs() and (self.gone() or size(self.file) >= 0 or
                                                      not self.busy())):
            raise Wrong("the program still runs after %d s: %s" % (LIMIT_S, self.stuck()))
        # Clients that wait for another depd do so for a limited time.
        working.release()
        try:
            ended = until(lambda: not self.busy(), pause=0.01 if self.again else 0.1)
        finally:
            working.acquire()
        if not ended:
            raise Wrong("depctl or the collector is left: %s" % self.stuck())
        self.front.wait()
        if self.way == "depd" and self.depd.poll() is None:
            if not until(lambda: not self.sessions(), pause=0.03):
                raise Wrong("a session does not end: %s" % self.depctl("sessions").stdout)
            # The response comes after depd's current work: removing the store of an abandoned
            # session.
            self.depctl("status")

    def stuck(self):
        return ", ".join("%d %s (%s)" % (p, read("/proc/%d/comm" % p).strip(),
                                         read("/proc/%d/wchan" % p))
                         for p in self.mine())

    def sessions(self):
        return [s for s in glob.glob(self.run + "/session-*") +
                glob.glob(self.run + "/user/*/session-*")]

    def check_program(self):
        steps, marks, child, over = self.did()
        status, out = self.front.returncode, read(self.dir + "/out")
        self.started = bool(steps or marks)
        if not self.started:
            # Killed before its first instruction, or not started.
            if "depctl" not in self.killed and (status != 1 or not read(self.err)):
                raise Wrong("the program was not started, depctl ends with %s and says '%s'" %
                            (status, read(self.err).strip()))
            return steps, marks, child
        if not over or out != "over\n":
            raise Wrong("the program did not come to its end: %s steps, output '%s', %s" %
                        (sum(steps.values()), out.strip(), read(self.err).strip()[:200]))
        if "depctl" not in self.killed and status != 42 and not (status == 1 and self.killed):
            raise Wrong("exit status %d, %s" % (status, read(self.err).strip()[:200]))
        # A program is killed with its tracer if the injection is half done.
        traced = {"alone": "collector", "depd": "tracer"}[self.way]
        if child and not (child == signal.SIGKILL and traced in self.killed and
                          not steps.get(ROWS - 1)):
            raise Wrong("the child ended with status %d after %d steps" %
                        (child, steps.get(ROWS - 1, 0)))
        return steps, marks, child

    def seen(self, marks):
        p = subprocess.run([self.build + "/tests/steps_seen", self.store, str(ROWS), str(STEPS),
                            *marks], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        rows = {}
        for line in p.stdout.splitlines():
            row, colon, rest = line.partition(": ")
            if row.isdigit():
                rows[int(row)] = (int(rest.split()[0]), rest.split()[1])
        if p.returncode or len(rows) != ROWS:
            raise Wrong("steps_seen: " + p.stdout.strip()[:300])
        return rows

    def check_store(self, steps, marks, child):
        said = read(self.err) + read(self.log)
        if not os.path.isdir(self.store):
            if self.started and not said:
                raise Wrong("there is no store, and nobody says so")
            return "no store"
        p = self.depctl("verify", "--json", self.store)
        try:
            v = json.loads(p.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            if self.started or not self.killed:
                raise Wrong("verify cannot read the store: " + p.stdout.strip()[:200])
            return "an empty store"
        verdict = v["verdict"]
        texts = [d["text"] for d in verdict["defects"]]
        if v["problems"]:
            raise Wrong("what is in the store is wrong: %s" % v["problems"][:3])
        rows = self.seen(marks) if marks else {}
        done = {r: steps.get(r, 0) for r in range(ROWS)}
        for row, (n, how) in rows.items():
            if n > done[row]:
                raise Wrong("row %d: %d steps in the store, %d done" % (row, n, done[row]))
            if how == "double":
                raise Wrong("row %d: a step is there twice" % row)
            if how == "hole" and not v["loss"]["absent_bytes"]:
                raise Wrong("row %d: a hole that is not counted: %s" % (row, texts))
        missing = {r: done[r] - n for r, (n, how) in rows.items() if n != done[r]}
        state = verdict["state"]
        if state == "complete" and not self.started and not p.returncode:
            # Closed, and killed before it was removed: no process ran.
            return "an empty store"
        if state == "complete" and (p.returncode or missing):
            raise Wrong("complete, verify ends with %d, but rows lack steps: %s" %
                        (p.returncode, missing))
        if state == "incomplete" and (p.returncode != 1 or not texts):
            raise Wrong("incomplete without a reason")
        if state not in ("complete", "incomplete"):
            raise Wrong("the verdict is " + state)
        if state == "incomplete":
            self.check_reasons(verdict, missing, child)
        return state + ("" if state == "complete" else ": " + texts[0])

    def check_reasons(self, verdict, missing, child):
        """Each reason that is named must be true."""
        recorder = "collector" if self.way == "alone" else "depd"
        for d in verdict["defects"]:
            text = d["text"]
            if "recorder was killed" in text or "no collector ran" in text:
                true = recorder in self.killed
            elif "was killed" in text or "were killed" in text:
                true = child == signal.SIGKILL
            elif "its end was not recorded" in text:
                true = recorder in self.killed or child == signal.SIGKILL
            elif "could not be followed" in text:
                # A child that died with its tracer has no steps that could be missing.
                true = missing.get(ROWS - 1) or child == signal.SIGKILL
            else:
                true = bool(missing)
            if not true:
                raise Wrong("a reason that is not true: %s" % text)

    # ---- a complete case ----

    def go_through(self):
        os.makedirs(self.dir)
        open(self.dir + "/conf", "w").close()
        if self.way == "depd":
            self.start_depd()
        self.start_front()
        [self.at_progress, self.at_time, self.at_call][self.point // 10]()
        begun = time.monotonic()
        self.kill()
        if self.at:
            self.at.stdin.close()
            self.at.wait()
        if "depd" in self.killed:
            self.depd.wait()
        if self.way == "depd" and "depd" in self.killed and self.again:
            time.sleep(self.random.random() * 0.2)
            self.start_depd()
        self.wait_for_end()
        if not self.killed:
            Learned.took(self.way, time.monotonic() - begun)
        return self.check_store(*self.check_program())

    def clean_up(self):
        if self.at and self.at.poll() is None:
            self.at.kill()
            self.at.wait()
        for _ in range(3):
            for pid in self.mine():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for p in (self.front, self.depd):
            if p:
                p.wait()

    def result(self):
        working.acquire()
        try:
            found = self.go_through()
            shown = "ok   " + self.name() + ": " + found
        except Wrong as e:
            shown = "FAIL " + self.name() + ": " + str(e)
        except subprocess.TimeoutExpired as e:
            shown = "FAIL " + self.name() + ": hangs: " + " ".join(map(str, e.cmd))
        finally:
            self.clean_up()
            working.release()
        if shown.startswith("FAIL") and os.environ.get("KEEP"):
            shown += " (%s)" % self.dir
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        return shown


def choose(cases, how, seed):
    """All, or a sample in which each subset is there as often as the others."""
    order = random.Random(seed)
    order.shuffle(cases)
    if how == "all":
        return cases
    kinds = {}
    for c in cases:
        kinds.setdefault((c[0], c[1]), []).append(c)
    turns = itertools.zip_longest(*kinds.values())
    return [c for turn in turns for c in turn if c][:int(how)]


def worker(build, top, seed, cases, results):
    while True:
        try:
            number, case = next(cases)
        except StopIteration:
            return
        begun = time.monotonic()
        shown = Case(build, top, number, case, seed).result()
        results.append(shown.startswith("ok"))
        print(shown, "(%.1f s)" % (time.monotonic() - begun), flush=True)


class Shared:
    """An iterator for several threads."""
    def __init__(self, items):
        self.items, self.lock = iter(items), threading.Lock()

    def __next__(self):
        with self.lock:
            return next(self.items)


def main():
    build, top, seed, how = sys.argv[1:]
    only = os.environ.get("ONLY")               # a word of the names: "depd+holder"
    cases = all_cases()
    if only:
        cases = [c for c in cases if "+".join(c[1]) == only.split(":")[-1] and
                 (":" not in only or c[0] == only.split(":")[0])]
    cases = choose(cases, how, seed)
    results = []
    shared = Shared(enumerate(cases))
    workers = [threading.Thread(target=worker, args=(build, top, seed, shared, results))
             for _ in range(LANES)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    print("summary %d cases, %d as they must be" % (len(results), sum(results)))
    return 0 if len(results) == len(cases) and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
