#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much faster a program becomes by a profile, exported from a recording or measured otherwise.

    pgo.py BUILD-DIR SOURCES

Builds Lua from SOURCES (Debian's package lua5.4): by gcc and clang without a profile, with one of
their own instrumentation, and with one that `depctl export' wrote; and optimised by BOLT, with
BOLT's instrumentation and with an exported profile.  Profiles are of a small run of pgo.lua.  Then
larger runs with another seed are timed: each round runs every build once.  Times are user + system
seconds, medians over the rounds.  All builds must print the same.

ROUNDS=9  rounds; QUICK=1 runs of a tenth.  CFLAGS (default: -O2) apply to all builds.
"""
import glob
import os
import resource
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TRAINING = ["3", "1"]  # size and seed
MEASURED = ["40", "77"]
BOLT = "/usr/lib/llvm-16/bin/"
BOLT_OPTIONS = ["-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions",
                "-split-all-cold"]
LIMIT = 600


class Failed(Exception):
    """A command failed."""


def run(argv, cwd, env=None):
    p = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       env=dict(os.environ, LC_ALL="C", **(env or {})), timeout=LIMIT,
                       check=False)
    if p.returncode:
        raise Failed("%s: status %d: %s" % (" ".join(argv[:4]), p.returncode,
                                            p.stderr.strip()[-300:]))
    return p.stdout


class Builds:
    """The programs, by name, in the folder @out."""

    def __init__(self, build, sources, out):
        self.depctl = os.path.join(build, "depctl")
        self.script = os.path.abspath(os.path.join(os.path.dirname(__file__), "pgo.lua"))
        self.files = sorted(f for f in glob.glob(os.path.join(sources, "src", "*.c"))
                            if os.path.basename(f) != "luac.c")
        self.out = out
        self.names = []
        if not self.files:
            raise Failed("%s has no sources of Lua" % sources)
        # Debian's build makes it.
        with open(os.path.join(out, "lua5.4-deb-multiarch.h"), "w", encoding="utf-8") as f:
            f.write('#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n')

    def compile(self, name, compiler, *options, objects=None):
        """Build the program @name, with its objects in a folder of their own or in @objects."""
        flags = [compiler, "-g"] + os.environ.get("CFLAGS", "-O2").split() + list(options)
        objects = objects or name + ".objects"
        os.makedirs(os.path.join(self.out, objects), exist_ok=True)

        def one(file):
            o = os.path.join(objects, os.path.basename(file)[:-2] + ".o")
            run(flags + ["-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3", "-I.", "-c", "-o", o, file],
                self.out)
            return o

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            linked = list(pool.map(one, self.files))
        run(flags + ["-Wl,-E,-q", "-o", name] + linked + ["-lm", "-ldl"], self.out)

    def add(self, name, compiler, *options, **more):
        self.compile(name, compiler, *options, **more)
        self.names.append(name)

    def train(self, name, env=None):
        run(["./" + name, self.script] + TRAINING, self.out, env)

    def export(self, name, form, file):
        """Record the training run of @name and export its profile."""
        store = os.path.join(self.out, name + ".dep")
        if not os.path.exists(store):
            run([self.depctl, "record", "-q", "-o", store, "--", "./" + name, self.script] +
                TRAINING, self.out)
        run([self.depctl, "export", form, store, "--module=" + name, "-o", file], self.out)

    def gcc(self):
        self.add("gcc-none", "gcc")
        # gcc finds the profile of an object by its name.
        self.compile("gcc-profiled", "gcc", "-fprofile-generate", objects="gcc.counted")
        self.train("gcc-profiled")
        self.add("gcc-instrumentation", "gcc", "-fprofile-use", "-Wno-missing-profile",
                 objects="gcc.counted")
        self.export("gcc-none", "gcc-afdo", "gcc.afdo")
        self.add("gcc-depctl", "gcc", "-fauto-profile=" + os.path.join(self.out, "gcc.afdo"))

    def clang(self):
        self.add("clang-none", "clang", "-fdebug-info-for-profiling")
        self.compile("clang-profiled", "clang", "-fprofile-instr-generate")
        self.train("clang-profiled", {"LLVM_PROFILE_FILE": "clang.raw"})
        run(["llvm-profdata", "merge", "-o", "clang.profdata", "clang.raw"], self.out)
        self.add("clang-instrumentation", "clang",
                 "-fprofile-instr-use=" + os.path.join(self.out, "clang.profdata"))
        self.export("clang-none", "llvm-sample", "clang.prof")
        self.add("clang-depctl", "clang",
                 "-fprofile-sample-use=" + os.path.join(self.out, "clang.prof"))

    def optimise(self, name, profile):
        run([BOLT + "llvm-bolt", "bolt-none", "-data", profile, "-o", name] + BOLT_OPTIONS,
            self.out)
        self.names.append(name)

    def bolt(self):
        # bolt-16 breaks functions that gcc has split.
        self.add("bolt-none", "gcc", "-fno-reorder-blocks-and-partition")
        run([BOLT + "llvm-bolt", "bolt-none", "-instrument", "-o", "bolt-profiled",
             "-instrumentation-file=" + os.path.join(self.out, "bolt.fdata")], self.out)
        self.train("bolt-profiled")
        self.optimise("bolt-instrumentation", "bolt.fdata")
        self.export("bolt-none", "bolt", "depctl.bolt")
        run([BOLT + "perf2bolt", "-pa", "-p", "depctl.bolt", "-o", "depctl.fdata", "bolt-none"],
            self.out)
        self.optimise("bolt-depctl", "depctl.fdata")


def seconds(builds, name, argv):
    """Processor seconds of a run, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = run(["./" + name, builds.script] + argv, builds.out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


def measure(builds, rounds):
    size, seed = MEASURED
    if os.environ.get("QUICK") == "1":
        size = str(int(size) // 10)
    times = {name: [] for name in builds.names}
    known = None
    for r in range(rounds):
        for name in builds.names:
            print("\r%-60s" % ("round %d of %d: %s" % (r + 1, rounds, name)), end="",
                  file=sys.stderr, flush=True)
            spent, text = seconds(builds, name, [size, seed])
            known = known or text
            if text != known:
                raise Failed("%s prints something else than %s" % (name, builds.names[0]))
            times[name].append(spent)
    print("\r%-60s\r" % "", end="", file=sys.stderr)
    return {name: (statistics.median(v), min(v)) for name, v in times.items()}


def table(times):
    print("%-24s %8s %8s %8s" % ("build", "median", "least", "time"))
    print("%-24s %8s %8s %8s" % ("", "s", "s", "%"))
    for name, (median, least) in times.items():
        base = times[name.split("-")[0] + "-none"][0]
        print("%-24s %8.3f %8.3f %8.1f" % (name, median, least, 100 * median / base))


def main():
    build, sources = map(os.path.abspath, sys.argv[1:3])
    out = os.path.join(build, "bench", "pgo", "out")
    subprocess.run(["rm", "-rf", out], check=True)
    os.makedirs(out)
    try:
        builds = Builds(build, sources, out)
        builds.gcc()
        builds.bolt()
        builds.clang()
        print("load before: %.2f %.2f %.2f" % os.getloadavg())
        table(measure(builds, int(os.environ.get("ROUNDS", "9"))))
        print("load after: %.2f %.2f %.2f" % os.getloadavg())
    except (Failed, FileNotFoundError, subprocess.TimeoutExpired) as e:
        print("pgo.py: %s" % e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
