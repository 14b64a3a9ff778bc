#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that README.md shows, and whether their output is as it shows.

    readme.py commands README FROM TO   a bash script of those between two headings
    readme.py program README            prog.c as the README lists it
    readme.py check README FROM TO OUT  compare what the script printed

Numbers, sizes, times and folders may differ; each line that is shown must be there.
"""
import re
import sys

MARK = "@@ command "


def section(path, begin, end):
    text = open(path).read()
    text = text[text.index("\n%s\n" % begin):]
    return text[:text.index("\n%s\n" % end)]


def commands(path, begin, end):
    """A list of (command, lines of output)."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```$", section(path, begin, end), re.M | re.S):
        if not block.startswith("$ "):
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def shape(line):
    line = re.sub(r"/\S*/(?=prog|[^/\s]*\.dep)", "DIR/", line)
    # Which of the two accesses of a race is earlier depends on the run.
    line = line.replace("earlier ", "")
    line = re.sub(r"\b[0-9.]+ (B|KiB|MiB|GiB)\b", "SIZE", line)
    line = re.sub(r"\b[0-9]+-[0-9]+-[0-9]+ [0-9:]+\b", "TIME", line)
    line = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{6,}\b", "N", line)
    line = re.sub(r"(arg[0-9]|out|result)=-?[0-9a-f]+", r"\1=N", line)
    line = re.sub(r"-?\b[0-9]+(\.[0-9]+)?\b", "N", line)
    # as listings are padded
    return re.sub(r"\s+", " ", line).strip()


def is_frame_of_library(line):
    """Its source and line are known where libc's debug information is installed."""
    return re.match(r"\s*#[0-9]+ ", line) and "prog.c" not in line


def show_program(path):
    for command, lines in commands(path, "## A tour", "### The rest"):
        if command.startswith("cat -n prog.c"):
            print("#include <pthread.h>\n#include <stdio.h>\n")
            for line in lines:
                print(line.partition("\t")[2])


def show_commands(path, begin, end):
    print("status=0")
    for i, (command, _) in enumerate(commands(path, begin, end)):
        print("echo '%s%d'; (exit $status)\n%s\nstatus=$?" % (MARK, i, command))
        print("echo '%sstatus '$status" % MARK)


def check(path, begin, end, out):
    failed = 0
    shown = commands(path, begin, end)
    parts = re.split(r"^%s([0-9]+)\n" % MARK, open(out).read(), flags=re.M)[1:]
    printed = dict(zip(map(int, parts[::2]), parts[1::2]))
    for i, (command, lines) in enumerate(shown):
        got = printed.get(i, "")
        have = {shape(line) for line in got.splitlines()}
        missing = [line for line in lines if line.strip() and not is_frame_of_library(line) and
                   shape(line) not in have]
        status = re.search(r"%sstatus ([0-9]+)" % MARK, got)
        want = 66 if "--error-exitcode=66" in command else 0
        if not status or int(status[1]) != want:
            missing.append("status %d" % want)
        print("%s %s%s" % ("FAIL" if missing else "ok  ", command[:60],
                           ": there is no '%s' in %r" % (missing[0], got[:300]) if missing else ""))
        failed += bool(missing)
    print("%d passed, %d failed" % (len(shown) - failed, failed))


if sys.argv[1] == "commands":
    show_commands(*sys.argv[2:])
elif sys.argv[1] == "program":
    show_program(*sys.argv[2:])
else:
    check(*sys.argv[2:])
