#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Print random comments and messages of the sources, each with its place, for a reading test.

reading-sample.py [--seed N] [--comments N] [--messages N] [FOLDER...]

A reviewer reads each comment and message without looking at the code.  One that cannot be
understood alone, or uses a word that the field does not use, should be rewritten.  The first line
of the output has the seed; --seed repeats a sample.
"""
import argparse
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import ctext

FOLDERS = ("daemon", "include", "kmod", "libdep", "tools")
# A string with two words is a message, unless it is input of another program or of a test.
WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [a-z]{2,}|[A-Za-z]{2,} %")
BETWEEN = re.compile(r"\s*(?:[A-Z][A-Za-z0-9_]*\s*)?")
NO_MESSAGE = re.compile(r"^(SELECT|INSERT|CREATE|PRAGMA|DELETE|ATTACH)\b|^#|^\$")


def files(folders):
    listed = subprocess.run(["git", "ls-files", "--", *folders], check=True,
                            capture_output=True, text=True).stdout.split("\n")
    return [path for path in listed if path.endswith(ctext.C_ENDINGS)]


def code_at(text, start, end):
    """The code that a comment is about: that before it in its line, else the next line."""
    before = text[text.rfind("\n", 0, start) + 1:start].strip()
    if before:
        return before
    after = text[end:].lstrip("\n").split("\n", maxsplit=1)[0].strip()
    return "" if after.startswith("#include") else after


def comments_of(path, text):
    for start, end, kind in ctext.tokens(text):
        comment = text[start:end]
        if kind == "comment" and "SPDX-License-Identifier" not in comment and \
                re.search(r"[a-z]{2}", comment):
            code = code_at(text, start, end)
            yield path, ctext.line_of(text, start), comment + ("\n\t| " + code if code else "")


def messages_of(path, text):
    """Strings with words; strings with nothing but a macro between them are one."""
    message, line, last = "", 0, 0
    for start, end, kind in [*ctext.tokens(text), (len(text), len(text), "string")]:
        if kind != "string":
            continue
        if message and BETWEEN.fullmatch(text[last:start]) and end > start:
            message = message[:-1] + text[start + 1:end]
        else:
            if WORDS.search(message) and not NO_MESSAGE.search(message[1:]):
                yield path, line, message
            message, line = text[start:end], ctext.line_of(text, start)
        last = end


def print_sample(title, pool, count, chance):
    print(f"== {title}: {min(count, len(pool))} of {len(pool)}")
    for path, line, text in chance.sample(pool, min(count, len(pool))):
        print(f"\n{path}:{line}:\n{text}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2 ** 32))
    parser.add_argument("--comments", type=int, default=50, metavar="N")
    parser.add_argument("--messages", type=int, default=30, metavar="N")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", default=FOLDERS)
    args = parser.parse_args()

    print(f"seed {args.seed}\n")
    chance = random.Random(args.seed)
    comments, messages = [], []
    for path in files(args.folders):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        comments += comments_of(path, text)
        messages += messages_of(path, text)
    print_sample("comments", comments, args.comments, chance)
    print_sample("messages", messages, args.messages, chance)
    return 0


sys.exit(main())
