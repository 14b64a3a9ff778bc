# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program of this folder is expected to show, from the comments in its source.

"RACE: name" on two lines (on one, where it races with itself) is a race of the racy variant,
"variable=name" may follow; "UNLESS ATOMIC: name" is one that the right variant may be
reported for, if the report says that it holds unless the accesses are atomic; "UNLESS BEHIND:
name" as well, unless what is read is after the end of a string.
"""
import os
import re

MARK = re.compile(r"/\* (RACE|UNLESS ATOMIC|UNLESS BEHIND): ([^*]*?)(?: variable=(\S+))? \*/")


class Race:
    def __init__(self, name):
        self.name = name
        self.lines = []
        self.variable = None

    def fits(self, first, second):
        """Are these, each a set of lines, the two accesses?"""
        a, b = self.lines[0], self.lines[-1]
        return (a in first and b in second) or (b in first and a in second)

    def __str__(self):
        return "%s (lines %s)" % (self.name, " and ".join(str(n) for n in self.lines))


def read(source):
    """The races expected of the racy variant, and by kind the ones allowed of the right one."""
    races = {"RACE": {}, "UNLESS ATOMIC": {}, "UNLESS BEHIND": {}}
    with open(source, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            for kind, names, variable in MARK.findall(line):
                for name in re.split(r",\s*", names.strip()):
                    race = races[kind].setdefault(name, Race(name))
                    race.lines.append(number)
                    race.variable = race.variable or variable or None
    for race in races["RACE"].values():
        if len(race.lines) > 2:
            raise ValueError("%s: %s has more than two lines" % (source, race))
    if not races["RACE"]:
        raise ValueError("%s names no race" % source)
    return list(races["RACE"].values()), {
        "race unless atomic": list(races["UNLESS ATOMIC"].values()),
        "race unless a string function overreads": list(races["UNLESS BEHIND"].values()),
    }


class Report:
    """One that a detector made: its kind, and for each access the lines that it may have."""

    def __init__(self, kind, accesses, variable=None):
        self.kind = kind
        self.accesses = accesses
        self.variable = variable

    def __str__(self):
        where = ["/".join(str(n) for n in sorted(lines)) or "?" for lines in self.accesses]
        return "%s between lines %s" % (self.kind, " and ".join(where))


def same_file(path, source):
    return os.path.basename(path or "") == os.path.basename(source)


def wrong_variable(race, report):
    """Does the report name a variable, where one is expected, that is not it?"""
    if not race.variable or report.variable is None:
        return False
    return not re.match(re.escape(race.variable) + r"(\W|$)", report.variable)


def compare(source, variant, reports):
    """What is wrong with these reports, as lines of text."""
    races, allowed = read(source)
    wrong = []
    if variant == "right":
        for report in reports:
            if not any(race.fits(*report.accesses) for race in allowed.get(report.kind, [])):
                wrong.append("extra: %s" % report)
        return wrong
    seen = set()
    for report in reports:
        fit = [race for race in races if race.fits(*report.accesses)]
        if not fit:
            wrong.append("extra: %s" % report)
        for race in fit:
            seen.add(race.name)
            if wrong_variable(race, report):
                wrong.append("the variable of %s is \"%s\" instead of \"%s\"" %
                             (race, report.variable, race.variable))
    wrong += ["missing: %s" % race for race in races if race.name not in seen]
    return wrong
