#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Find retired words in comments, messages and documents: check-words.py [ROOT]

scripts/retired-words lists the words.  Of C files the comments and strings are searched, of other
text files the whole text.  A phrase is found across line ends, too.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import ctext

WORDS = "scripts/retired-words"
# What may stand between two words of a phrase: blanks; the end of a line and the comment leader of
# the next one; the end of a string and the beginning of the next one.
GAP = r"""(?:[ \t]*(?:(?:\\n)?["'])?[ \t]*\n[ \t]*(?:[*#"']|//)?[ \t]*|[ \t]+)"""

# The end of a text before a word that is only a part of one, or a parameter of C (@NAME).  After \n
# or \t in a string a word begins.
INSIDE = re.compile(r"[@\w](?<!\\[nt])\Z")


def read_words(path):
    """Returns a list of (regular expression, what to write instead)."""
    words = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                pattern, _, instead = line.partition("\t")
                pattern = "(?:" + pattern.replace(" ", GAP) + r")\b"
                words.append((re.compile(pattern), instead.strip()))
    return words


def files(root):
    """Yields the files of a git repository, or all files if there is none."""
    listed = subprocess.run("git ls-files -z --cached --others --exclude-standard", shell=True,
                            cwd=root, capture_output=True, text=True, check=False)
    if listed.stdout:
        yield from listed.stdout.rstrip("\0").split("\0")
        return
    for path, below, names in os.walk(root):
        below[:] = sorted(n for n in below if not n.startswith("build"))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(path, name), root)


def check(root, path, words):
    full = os.path.join(root, path)
    if not os.path.isfile(full) or path == WORDS or path.startswith("LICENSES/"):
        return 0
    with open(full, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if "\0" in text:  # a binary file
        return 0
    if path.endswith(ctext.C_ENDINGS):
        text = ctext.only_prose(text)
    found = []
    for pattern, instead in words:
        for match in pattern.finditer(text):
            if INSIDE.search(text[max(0, match.start() - 2):match.start()]):
                continue
            found.append((ctext.line_of(text, match.start()), re.sub(GAP, " ", match.group()),
                          instead))
    for line, word, instead in sorted(found):
        print(f"{path}:{line}: '{word}' is retired: {instead}")
    return len(found)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    words = read_words(os.path.join(root, WORDS))
    found = sum(check(root, path, words) for path in files(root))
    return 1 if found else 0


sys.exit(main())
