#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest executed of the module: coverage.py LOG FOLDER

LOG is the guest's output with the files of its /sys/kernel/debug/gcov as base64
(guest_jobs.sh), FOLDER has the module as it was built for coverage.  Prints each function
of kmod/ with its lines that were executed, then the lines that were not.  A function that
was never executed is a failure.  Tracepoints (trace.h) are left out.
"""
import base64
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def counters(log):
    """Name and content of each .gcda file in the log."""
    name, text = None, []
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("VM gcda"):
            if name:
                yield name, base64.b64decode("".join(text))
            name, text = line[8:], []
        elif name:
            text.append(line)


def gcov(log, objects):
    """gcov's report of each object file."""
    with tempfile.TemporaryDirectory() as tmp:
        for name, data in counters(log):
            (pathlib.Path(tmp) / name).write_bytes(data)
            shutil.copy((objects / name).with_suffix(".gcno"), tmp)
            out = subprocess.run(["gcov", "--json-format", "--stdout", name], cwd=tmp,
                                 check=True, capture_output=True, text=True).stdout
            yield from (json.loads(line) for line in out.splitlines() if line)


class Function:
    def __init__(self, start):
        self.start = start
        self.calls = 0
        self.lines = collections.Counter()

    def add(self, found, lines):
        """The same function of another object: an inline one of a header."""
        self.calls += found["execution_count"]
        for line in lines:
            if found["start_line"] <= line["line_number"] <= found["end_line"]:
                self.lines[line["line_number"]] += line["count"]

    def executed(self):
        return sum(n > 0 for n in self.lines.values())


def collect(reports):
    """{file: {function: Function}}, files by their name below kmod/."""
    found = collections.defaultdict(dict)
    for report in reports:
        for f in report["files"]:
            path = pathlib.PurePath(f["file"])
            if path.parent.name != "kmod" or path.name == "trace.h":
                continue
            for fn in f["functions"]:
                known = found[path.name].setdefault(fn["name"], Function(fn["start_line"]))
                known.add(fn, f["lines"])
    return found


def main():
    log, folder = map(pathlib.Path, sys.argv[1:])
    found = collect(gcov(log, folder / "kmod"))
    never, passed, total = [], 0, [0, 0]
    for file in sorted(found):
        functions = sorted(found[file].items(), key=lambda item: item[1].start)
        print(f"kmod/{file}")
        for name, fn in functions:
            total[0] += fn.executed()
            total[1] += len(fn.lines)
            print(f"    {name:28} {fn.executed():3} of {len(fn.lines):3} lines, "
                  f"{fn.calls} calls")
            if fn.calls:
                passed += 1
            else:
                never.append(f"kmod/{file}: {name}")
    print("lines never executed:")
    for file in sorted(found):
        text = (folder / "kmod" / file).read_text().splitlines()
        missing = {line for fn in found[file].values()
                   for line, n in fn.lines.items() if not n}
        for line in sorted(missing):
            print(f"    {file}:{line}: {text[line - 1].strip()}")
    print(f"{total[0]} of {total[1]} lines were executed")
    for name in never:
        print(f"    FAIL never executed: {name}")
    if not found:
        print("    FAIL the guest has no coverage")
    failed = len(never) + (not found)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
