# SPDX-License-Identifier: GPL-2.0-or-later
"""compile_commands.json from the commands that `make -nB V=1' prints, read from standard input."""
import json
import os
import shlex
import sys

entries = {}
for line in sys.stdin.read().replace("\\\n", " ").splitlines():
    try:
        words = shlex.split(line)
    except ValueError:
        continue	# awk programs
    sources = [w for w in words if w.endswith(".c")]
    if "-c" not in words or len(sources) != 1 or "-o" not in words:
        continue
    # Sources that the engine and libdep share are compiled twice: the last command counts.
    entries[sources[0]] = {"directory": os.getcwd(), "file": sources[0], "arguments": words,
                           "output": words[words.index("-o") + 1]}
json.dump([entries[name] for name in sorted(entries)], sys.stdout, indent=1)
print()
