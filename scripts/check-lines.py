#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-lines.py FILE...: licence lines, lengths of lines, white space at their ends."""
import sys

LONGEST = 100  # columns; a tab is eight wide
bad = False


def say(text):
    global bad
    print(text)
    bad = True


for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as f:
        lines = f.read().split("\n")
    if not any("SPDX-License-Identifier: " in line for line in lines[:3]):
        say(f"{name}: no SPDX-License-Identifier in the first lines")
    for number, line in enumerate(lines, 1):
        width = len(line.expandtabs(8))
        if width > LONGEST:
            say(f"{name}:{number}: {width} columns")
        if line.endswith((" ", "\t")):
            say(f"{name}:{number}: white space at the end of line")
sys.exit(bad)
