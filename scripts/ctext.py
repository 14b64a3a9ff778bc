# SPDX-License-Identifier: GPL-2.0-or-later
"""Comments and strings of source files, for check-words.py and reading-sample.py."""
import re

C_ENDINGS = (".c", ".h", ".S", ".cpp", ".lds")
TOKEN = re.compile(
    r'(?P<comment>/\*.*?\*/|//[^\n]*)'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|'(?:\\.|[^'\\\n])*'", re.S)
INCLUDE = re.compile(r'#[ \t]*include[ \t]*$')
HASH_COMMENT = re.compile(r'(?:^[ \t]*#(?![!]).*\n)+', re.M)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def tokens(text):
    """Yields (offset, end, kind) of each comment and string of C; kind is 'comment' or 'string'."""
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        line_start = text.rfind("\n", 0, match.start()) + 1
        if kind and not (kind == "string" and INCLUDE.search(text[line_start:match.start()])):
            yield match.start(), match.end(), kind


def hash_comments(text):
    """Yields (offset, end) of each block of whole-line comments of a shell or Python file."""
    for match in HASH_COMMENT.finditer(text):
        yield match.start(), match.end()


def only_prose(text):
    """The text of a C file with blanks in place of all code; offsets and lines stay."""
    out = [c if c == "\n" else " " for c in text]
    for start, end, _ in tokens(text):
        out[start:end] = text[start:end]
    return "".join(out)
