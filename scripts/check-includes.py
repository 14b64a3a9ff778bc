#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the includes of a tree against scripts/include-rules: check-includes.py [ROOT]

A file includes headers of its own folder, and of the folders that the rule of its folder names.
The rule with the longest matching folder counts.  A quoted include is looked for in the file's
folder, then in the root of the tree, include/ and include/uapi/; one that is in none of them is
made by the build and is not checked.
"""
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
ROOTS = ("", "include", "include/uapi")


def read_rules(path):
    rules = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.split("#")[0].strip()
            if line:
                folder, allowed = line.split(":")
                rules.setdefault(folder, []).extend(allowed.split())
    return rules


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


def rule_of(path, rules):
    """The longest folder with a rule that has the file, or None."""
    return max((f for f in rules if is_below(path, f)), key=len, default=None)


def may_include(rule, target, rules):
    return rule_of(target, rules) == rule or any(is_below(target, f) for f in rules[rule])


def find(root, path, name):
    for base in (os.path.dirname(path), *ROOTS):
        target = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(root, target)):
            return target
    return None


def check(root, path, rules):
    rule = rule_of(path, rules)
    bad = 0
    with open(os.path.join(root, path), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            include = INCLUDE.match(line)
            target = include and find(root, path, include.group(1))
            if target and not may_include(rule, target, rules):
                print(f"{path}:{number}: {rule} may not include {target}")
                bad += 1
    return bad


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    rules = read_rules(os.path.join(root, "scripts/include-rules"))
    bad = 0
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith((".c", ".h", ".S")) and rule_of(path, rules):
                bad += check(root, path, rules)
    return 1 if bad else 0


sys.exit(main())
