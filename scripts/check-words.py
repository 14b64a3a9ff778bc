#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Find retired words in comments, messages and documents: check-words.py [ROOT [FOLDER...]]

scripts/retired-words lists the words.  Of C files the comments and strings are searched, of other
files the whole text.  A phrase is found across line ends, too.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
import ctext

WORDS = "scripts/retired-words"
FOLDERS = ("README.md", "Makefile", "Documentation", "daemon", "include", "kmod", "libdep",
           "examples", "scripts", "tests", "tools")
ENDINGS = ctext.C_ENDINGS + (".sh", ".py", ".md", ".rst", ".1", ".4", ".5", ".8", ".in",
                             "Makefile")
# What may stand between two words of a phrase: blanks, and the comment leader of the next line.
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*[*#]?[ \t]*)"


def read_words(path):
    """Returns a list of (regular expression, what to write instead)."""
    words = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                pattern, _, instead = line.partition("\t")
                # @NAME is a parameter of C
                pattern = r"(?<![@\w])(?:" + pattern.replace(" ", GAP) + r")\b"
                words.append((re.compile(pattern), instead.strip()))
    return words


def files(root, folders):
    for folder in folders:
        top = os.path.join(root, folder)
        if os.path.isfile(top):
            yield folder
        for path, below, names in os.walk(top):
            below.sort()
            for name in sorted(names):
                path_in_root = os.path.relpath(os.path.join(path, name), root)
                if name.endswith(ENDINGS) and path_in_root != WORDS:
                    yield path_in_root


def check(root, path, words):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith(ctext.C_ENDINGS):
        text = ctext.only_prose(text)
    found = []
    for pattern, instead in words:
        for match in pattern.finditer(text):
            word = " ".join(w for w in match.group().split() if w not in ("*", "#"))
            found.append((ctext.line_of(text, match.start()), word, instead))
    for line, word, instead in sorted(found):
        print(f"{path}:{line}: '{word}' is retired: {instead}")
    return len(found)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    words = read_words(os.path.join(root, WORDS))
    found = sum(check(root, path, words) for path in files(root, sys.argv[2:] or FOLDERS))
    return 1 if found else 0


sys.exit(main())
