#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make compile_commands': each source of the product is in it once, and its command works.
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1
unset BUILD MAKEFLAGS
make -nB V=1 tests >"$tmp/make" 2>"$tmp/err" &&
	python3 scripts/compile_commands.py <"$tmp/make" >"$tmp/commands" 2>>"$tmp/err" ||
	fail "compile_commands.py: $(tail -n 1 "$tmp/err")"
cat >"$tmp/check.py" <<'END'
import json
import os
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    commands = json.load(file)
names = [c["file"] for c in commands]
# The generator of tables is built by one command.
want = subprocess.run("find libdep tools daemon -name '*.c' ! -path 'libdep/x86/gen/*'", shell=True,
                      capture_output=True, text=True, check=True).stdout.split()
for name in want:
    if names.count(name) != 1:
        sys.exit("%s is there %d times" % (name, names.count(name)))
for c in commands:
    if not os.path.exists(os.path.join(c["directory"], c["file"])):
        sys.exit(c["file"] + " does not exist")
    if c["file"] in sys.argv[2:]:
        args = [a for a in c["arguments"] if a not in ("-MMD", "-MP")]
        subprocess.run(args[:args.index("-o")] + args[args.index("-o") + 2:] + ["-fsyntax-only"],
                       cwd=c["directory"], check=True)
END
if python3 "$tmp/check.py" "$tmp/commands" libdep/engine/os/exec.c tools/depctl/main.c \
	>"$tmp/why" 2>&1; then
	pass "each source is there once, and commands of the engine and of depctl work"
else
	fail "$(tail -n 1 "$tmp/why")"
fi
finish
