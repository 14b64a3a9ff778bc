#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""list_llvm.py tsan|archer DIR: what LLVM's tests of ThreadSanitizer and Archer expect.

A line for each test, with tabs: suite, name, "race", "free" or "out", the lines that it names
(or why it is left out), its source, arguments.
"""
import os
import re
import sys

RACE = re.compile(r"ThreadSanitizer: (data race|heap-use-after-free)")
OTHER = re.compile(r"CHECK[-A-Z]*: *.*WARNING: ThreadSanitizer: ")
RUN = re.compile(r"RUN: *(.*)")
# rules, the first that fits; of the path, of the text, of the commands
PATHS = [
    (r"/(Darwin|libdispatch|Unit)/", "another system, or parts of the sanitizer"),
    (r"/java_", "the sanitizer's interface for Java"),
    (r"/(bench_|stress|.*_stress)", "a benchmark or a stress test"),
    (r"deadlock_detector|must_deadlock|mutex_cycle|lock_inversion", "the deadlock detector"),
]
TEXTS = [
    (r"(REQUIRES: *(system-darwin|disabled|sunrpc))|XFAIL: \*", "not for this system"),
    (r"#include \"(?!(\.\./)?test\.h\"|ompt/)", "headers of the sanitizer"),
    (r"__tsan|__sanitizer|Annotate|ANNOTATE_|sanitizer/|no_sanitize|disable_sanitizer",
     "the sanitizer's interface or annotations"),
]
RUNS = [
    (r"supp|ignorelist|-mllvm|llvm-objdump|-D\w|-shared|env_tsan_opts=(?!atexit_sleep_ms)",
     "options of the sanitizer, or builds of its own"),
]


def commands_of(text):
    """The commands up to a second build, which would be with other options."""
    builds = re.split(r"(?=%clang|%libarcher-compile)", "\n".join(RUN.findall(text)))
    return "".join(builds[:2])


def checked_lines(name, text):
    """The lines of frames that the checks name, those of accesses only."""
    lines = set()
    access = False
    for number, line in enumerate(text.split("\n"), 1):
        if "CHECK" not in line:
            continue
        if re.search(r"of size|[Pp]revious ", line):
            access = True
        elif not re.search(r"#(\d|\{\{)", line):
            access = False
        if not access or not re.search(r"#(0|1|\{\{\[0-9\]\+\}\})", line):
            continue
        for match in re.finditer(re.escape(name) + r":(?:\[\[@LINE([-+]\d+)?\]\]|(\d+))", line):
            lines.add(int(match.group(2) or number + int(match.group(1) or 0)))
    return lines


def judge(suite, path, text):
    commands = commands_of(text)
    for rules, subject in ((PATHS, path), (TEXTS, text), (RUNS, commands)):
        for pattern, reason in rules:
            if re.search(pattern, subject):
                return "out", reason
    if not commands:
        return "out", "no test of its own"
    checks = "\n".join(line for line in text.split("\n") if "CHECK" in line)
    positive = "\n".join(line for line in checks.split("\n") if "CHECK-NOT" not in line)
    if suite == "archer":
        return ("race" if RACE.search(positive) else "free"), ""
    if RACE.search(positive):
        return "race", ""
    if OTHER.search(positive) or "ERROR: ThreadSanitizer" in positive:
        return "out", "a report of another kind"
    if re.search(r"\bnot\b|deflake", commands):
        return "out", "fails for another reason"
    return "free", ""


def main():
    suite, top = sys.argv[1:]
    for folder, _, names in sorted(os.walk(top, followlinks=True)):
        for name in sorted(names):
            if not re.search(r"\.(c|cpp)$", name):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as source:
                text = source.read()
            verdict, why = judge(suite, path, text)
            if verdict != "out":
                why = ",".join(str(n) for n in sorted(checked_lines(name, text)))
            print("\t".join((suite, os.path.relpath(path, top), verdict, why or "-", path, "-")))


if __name__ == "__main__":
    main()
