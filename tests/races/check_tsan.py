#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_tsan.py SOURCE racy|right FILE: is what ThreadSanitizer said in FILE what the source
expects?  Says what is not, and exits with 1."""
import re
import sys

import expect

WARNING = re.compile(r"^WARNING: ThreadSanitizer: (.*?) \(pid=")
# what it does itself when a thread begins
OWN = re.compile(r"^    #0 __tsan_(stack|tls)_initialization ")
ACCESS = re.compile(r"^  (?:Previous |Atomic |atomic |[Rr]ead|[Ww]rite).* of size \d+ at ")
FRAME = re.compile(r"^    #\d+ .*?(\S+?):(\d+)(?::\d+)?(?: \(|$)")
RACES = ("data race", "heap-use-after-free")


def reports_of(text, source):
    """Inlined frames cannot be distinguished here, so all frames of the source count."""
    reports = []
    lines = None
    for line in text:
        line = line.rstrip("\n")
        warning = WARNING.match(line)
        if warning:
            lines = None
            report = expect.Report(warning.group(1), [])
            if report.kind.startswith(RACES):
                reports.append(report)
        elif ACCESS.match(line) and reports:
            lines = set()
            report.accesses.append(lines)
        elif not line.strip():
            lines = None
        elif OWN.match(line):
            report.accesses.append(None)
        else:
            frame = FRAME.match(line)
            if frame and lines is not None and expect.same_file(frame.group(1), source):
                lines.add(int(frame.group(2)))
    return reports


def main():
    source, variant, name = sys.argv[1:]
    with open(name, encoding="utf-8", errors="replace") as text:
        reports = reports_of(text, source)
    reports = [r for r in reports if None not in r.accesses]
    wrong = ["a report of %d accesses" % len(r.accesses)
             for r in reports if len(r.accesses) != 2]
    reports = [r for r in reports if len(r.accesses) == 2]
    wrong += expect.compare(source, variant, reports)
    for line in sorted(set(wrong)):
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
