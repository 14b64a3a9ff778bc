#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""reports.py adept|tsan|helgrind|drd SOURCE FILE: how many races a tool reports in FILE, and
the lines of SOURCE at which they are, or "none" where it has no answer."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check_json  # noqa: E402
import check_tsan  # noqa: E402
import expect  # noqa: E402

BEGIN = {
    "helgrind": re.compile(r"^(?:==\d+==|--\d+--) +(Possible data race|This conflicts with)"),
    "drd": re.compile(r"^==\d+== +(Conflicting (?:load|store)) by"),
}
FRAME = re.compile(r"^==\d+== +(?:at|by) 0x[0-9A-F]+: .*\((\S+):(\d+)\)$")
ANY_FRAME = re.compile(r"^==\d+== +(?:at|by) 0x")


def adept(text, source):
    reports = []
    for race in json.load(text)["races"]:
        reports.append([check_json.lines_of(access, source) for access in race["accesses"]])
    return reports


def tsan(text, source):
    return [report.accesses for report in check_tsan.reports_of(text, source)]


def valgrind(tool, text, source):
    """An access is where the first frame is that has a line of the source."""
    reports = []
    lines = None
    for line in text:
        line = line.rstrip("\n")
        begin = BEGIN[tool].match(line)
        if begin:
            lines = set()
            if begin.group(1).startswith("This"):
                reports[-1].append(lines)
            else:
                reports.append([lines])
        elif not ANY_FRAME.match(line):
            if not re.match(r"^==\d+== +Locks? held", line):
                lines = lines if lines is not None and not lines else None
        elif lines is not None and not lines:
            frame = FRAME.match(line)
            if frame and expect.same_file(frame.group(1), source):
                lines.add(int(frame.group(2)))
    return reports


def main():
    tool, source, name = sys.argv[1:]
    try:
        with open(name, encoding="utf-8", errors="replace") as text:
            if tool == "adept":
                reports = adept(text, source)
            elif tool == "tsan":
                reports = tsan(text, source)
            else:
                reports = valgrind(tool, text, source)
    except (OSError, ValueError, KeyError, TypeError):
        print("none -")
        return
    lines = set()
    for report in reports:
        for access in report:
            lines |= access or set()
    print(len(reports), ",".join(str(n) for n in sorted(lines)) or "-")


if __name__ == "__main__":
    main()
