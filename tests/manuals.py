#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands in the EXAMPLES of the manual pages and in the literal blocks of Documentation run.

    manuals.py DEPCTL

Each must end with status 0, or with the one that STATUS has. What cannot run here is in EXCLUDED,
with the reason, and counts as skipped.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
DEPCTL = os.path.realpath(sys.argv[1])
counts = {"ok": 0, "FAIL": 0, "SKIP": 0}

# Patterns of commands.
EXCLUDED = [
    (r"--share=developers", "needs a group developers; suite share tests --share"),
    (r"^sudo .*install-deps", "installs packages"),
    (r"^(ADEPT_TEST_SEED=\S+ )?make ", "builds or tests all of Adept, as CI does"),
    (r"^systemd-sysusers|^systemctl", "changes the system; suite install and check-vm test units"),
    (r"^depctl (metrics|sessions|stop|top)", "needs a depd; suites daemon and metrics run them"),
    (r"^depctl (attach --background|detach --session)",
     "needs a depd; suite attach-depd runs them"),
    (r"record -- ./prog &|/proc/PID/maps|^gdb -p PID", "PID is the reader's, gdb is interactive"),
]
STATUS = [(r"--new-since", 0), (r"--error-exitcode=66", 66), (r"wrong.conf", 1)]
NEEDS = ["jq", "jsonschema"]

# What Documentation writes for something else.
REPLACED = [("/usr/share/adept/schema", TOP + "/Documentation/schema"), ("-- COMMAND", "-- true")]

# These have commands, and so do pages of sections 1 and 8 with EXAMPLES.
WITH_COMMANDS = ["contributing.rst", "daemon.rst", "performance.rst", "depctl-json.5"]

# The first words of a command in Documentation; other literal blocks are pictures and listings.
COMMAND = re.compile(r"(sudo|make|sh|depctl|depd|gdb|grep|cat|systemctl|systemd-\w+|"
                     r"[A-Z_]+=\S+) \S")

# The addresses that are written most are those of variables, since depctl where fails for others.
PROGRAM = """
#include <pthread.h>
static volatile int value[16];
static void *thread(void *arg) { value[0] = 1; return arg; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	for (int i = 0; i < 100000; i++)
		value[i % 16] = i;
	return pthread_join(t, 0);
}
"""


def report(word, text):
    counts[word] += 1
    print("%-4s %s" % (word, text))


def unroff(line):
    return line.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def of_manual(path):
    """Commands of the section EXAMPLES."""
    text = open(path, encoding="utf-8").read()
    found = re.search(r"^\.SH EXAMPLES\n(.*?)(?=^\.SH )", text, re.M | re.S)
    commands = []
    for block in re.findall(r"^\.nf\n(.*?)^\.fi", found[1] if found else "", re.M | re.S):
        for line in map(unroff, block.splitlines()):
            if line.startswith("$ ") or line.startswith("depctl "):
                commands.append(line.removeprefix("$ "))
            elif commands and commands[-1].endswith("|"):
                commands[-1] += " " + line.strip()
    return commands


def of_document(path):
    """Lines of literal blocks that are commands; a column of remarks may follow."""
    commands, literal = [], False
    for line in open(path, encoding="utf-8"):
        if line.startswith("\t") and literal:
            line = re.split(r"\s{2,}", line.strip())[0]
            if COMMAND.match(line):
                commands.append(line)
        elif line.strip():
            literal = line.rstrip().endswith("::")
    return commands


def make_fixture():
    """The files that the examples name."""
    with open("prog.c", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", "prog", "prog.c"], check=True)
    for name in ("test", "benchmark"):
        shutil.copy("prog", name)
    files = {
        "words": "some words\n" * 100,
        "script.py": "print(1)\n",
        "Makefile": "all:\n\t@echo made\n",
        "tsan.supp": "race:nothing_has_this_name\n",
        "depd.conf": "[depd]\nmax-store = 10G\n[rule gcc]\npath = */cc1\nevery = 100\n",
        "wrong.conf": "[rule gcc]\npath = */cc1\ncomn = cc1\n",
    }
    for name, text in files.items():
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)
    for store in ("prog.dep", "yesterday.dep", "today.dep"):
        subprocess.run([DEPCTL, "record", "-q", "--alone", "-o", store, "./prog"], check=True)
    subprocess.run([DEPCTL, "record", "-q", "--alone", "-o", "gzip.dep", "gzip", "-c", "words"],
                   check=True, stdout=subprocess.DEVNULL)


def runs(where, command):
    for pattern, why in EXCLUDED:
        if re.search(pattern, command):
            report("SKIP", "%s: %s: %s" % (where, command, why))
            return False
    for program in NEEDS:
        if re.search(r"\b%s\b " % program, command) and not shutil.which(program):
            report("SKIP", "%s: %s: %s is not installed" % (where, command, program))
            return False
    return True


def check(where, commands):
    """Run the commands of a page in one shell; a recording replaces the one of the fixture."""
    commands = [c for c in commands if runs(where, c)]
    script = "set -o pipefail\n"
    for command in commands:
        output = re.search(r"depctl record .*-o (\S+)", command)
        for old, new in REPLACED:
            command = command.replace(old, new)
        script += "rm -rf %s\n" % output[1] if output else ""
        # head ends before its input does, and so would end the commands before it.
        command = command.replace("| head", "| { head; cat >/dev/null; }")
        script += "%s\necho @@ $? >&3\n" % command
    with open("statuses", "w+", encoding="utf-8") as statuses:
        done = subprocess.run(
            ["bash", "-c", "exec 3>statuses\n" + script], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "HOME": os.getcwd(), "ADEPT_RUNDIR": os.getcwd() + "/no-depd",
                 "PATH": os.path.dirname(DEPCTL) + ":" + os.environ["PATH"]})
        got = re.findall(r"@@ (\d+)", statuses.read())
    for i, command in enumerate(commands):
        want = next((s for pattern, s in STATUS if re.search(pattern, command)), 0)
        if got[i:i + 1] == [str(want)]:
            report("ok", "%s: %s" % (where, command))
        else:
            report("FAIL", "%s: %s: status %s: %s" % (where, command, got[i:i + 1],
                                                     done.stderr[-300:]))


def has_commands(path):
    name = os.path.basename(path)
    return name in WITH_COMMANDS or (name[-1] in "18" and
                                     "\n.SH EXAMPLE" in open(path, encoding="utf-8").read())


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        make_fixture()
        for path in sorted(glob.glob(TOP + "/Documentation/man/*") +
                           glob.glob(TOP + "/Documentation/*.rst")):
            name = os.path.basename(path)
            commands = of_document(path) if name.endswith(".rst") else of_manual(path)
            check(name, commands)
            if has_commands(path) and not commands:
                report("FAIL", "%s: none of its commands is found" % name)
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    print("%d passed, %d failed, %d skipped" % tuple(counts.values()))
    return 1 if counts["FAIL"] else 0


sys.exit(main())
