#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_sarif.py FILE RACES: is FILE SARIF 2.1.0 as the standard has it, with so many results?

The standard's schema is not here; this is what it says of the parts that are used.  Says what is
wrong, and exits with 1."""
import json
import re
import sys
from urllib.parse import urlparse

LEVELS = {"none", "note", "warning", "error"}
wrong = []


def check(good, what):
    if not good:
        wrong.append(what)


def has(value, where, required, optional=()):
    """An object with these members, NAME:TYPE, and no others."""
    types = {"s": str, "n": int, "o": dict, "a": list, "b": bool}
    check(isinstance(value, dict), where + " is no object")
    if not isinstance(value, dict):
        return False
    for member in [*required, *optional]:
        name, kind = member.split(":")
        if name in value:
            check(isinstance(value[name], types[kind]), "%s.%s has another type" % (where, name))
        else:
            check(member not in required, "%s has no %s" % (where, name))
    known = {member.split(":")[0] for member in [*required, *optional]}
    check(set(value) <= known, "%s has also %s" % (where, ", ".join(set(value) - known)))
    return not wrong


def message(value, where):
    if has(value, where, ["text:s"]):
        check(value["text"], where + " is empty")


def physical(value, where):
    has(value, where, [], ["artifactLocation:o", "region:o", "address:o"])
    check("artifactLocation" in value or "address" in value, where + " is nowhere")
    if "artifactLocation" in value:
        has(value["artifactLocation"], where + ".artifactLocation", ["uri:s"])
        uri = value["artifactLocation"]["uri"]
        check(re.fullmatch(r"[A-Za-z0-9._~/+@,=-]+|file:///[A-Za-z0-9._~/+@,=%-]*", uri),
              "%s: %s is no URI reference" % (where, uri))
        check(urlparse(uri).scheme in ("", "file"), where + " has another scheme")
    if "region" in value:
        check("artifactLocation" in value, where + " has a region of nothing")
        has(value["region"], where + ".region", ["startLine:n"], ["startColumn:n"])
        check(all(n >= 1 for n in value["region"].values()), where + ": lines begin with 1")
    if "address" in value:
        has(value["address"], where + ".address", ["fullyQualifiedName:s"])


def location(value, where, identified=False):
    has(value, where, (["id:n"] if identified else []) + ["physicalLocation:o"],
        ["logicalLocations:a", "message:o"])
    physical(value["physicalLocation"], where + ".physicalLocation")
    for i, logical in enumerate(value.get("logicalLocations", [])):
        has(logical, "%s.logicalLocations[%d]" % (where, i), ["fullyQualifiedName:s", "kind:s"],
            ["decoratedName:s"])
    if "message" in value:
        message(value["message"], where + ".message")


def thread_flow(value, where):
    has(value, where, ["id:s", "locations:a"])
    check(value["locations"], where + " has no locations")
    for i, step in enumerate(value["locations"]):
        at = "%s.locations[%d]" % (where, i)
        has(step, at, ["location:o", "nestingLevel:n", "importance:s"])
        check(step["nestingLevel"] == i, at + ": another level")
        check(step["importance"] in ("important", "essential", "unimportant"), at)
        location(step["location"], at + ".location")


def result(value, where, rules):
    has(value, where, ["ruleId:s", "ruleIndex:n", "level:s", "message:o", "locations:a",
                       "relatedLocations:a", "codeFlows:a", "partialFingerprints:o",
                       "occurrenceCount:n"])
    check(rules[value["ruleIndex"]]["id"] == value["ruleId"], where + ": another rule")
    check(value["level"] in LEVELS, where + ".level")
    message(value["message"], where + ".message")
    check(len(value["locations"]) == 1, where + ": not one location")
    location(value["locations"][0], where + ".locations[0]")
    check(value["relatedLocations"], where + " has no second access")
    for i, related in enumerate(value["relatedLocations"]):
        location(related, "%s.relatedLocations[%d]" % (where, i), True)
    ids = [related["id"] for related in value["relatedLocations"]]
    check(len(set(ids)) == len(ids), where + ": the same id twice")
    check(len(value["codeFlows"]) == 1, where + ": not one flow")
    has(value["codeFlows"][0], where + ".codeFlows[0]", ["threadFlows:a"])
    flows = value["codeFlows"][0]["threadFlows"]
    check(len(flows) == 2 and flows[0]["id"] != flows[1]["id"], where + ": not two threads")
    for i, flow in enumerate(flows):
        thread_flow(flow, "%s.threadFlows[%d]" % (where, i))
    prints = value["partialFingerprints"]
    check(list(prints) == ["adeptRace/v1"] and
          re.fullmatch("[0-9a-f]{32}", prints["adeptRace/v1"]), where + ".partialFingerprints")
    check(value["occurrenceCount"] >= 1, where + ".occurrenceCount")


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        log = json.load(text)
    has(log, "log", ["$schema:s", "version:s", "runs:a"])
    check(log["version"] == "2.1.0", "another version")
    check(len(log["runs"]) == 1, "not one run")
    run = log["runs"][0]
    has(run, "run", ["tool:o", "results:a"], ["invocations:a", "columnKind:s", "properties:o"])
    check(run.get("columnKind") in ("utf16CodeUnits", "unicodeCodePoints"), "columnKind")
    driver = run["tool"]["driver"]
    has(driver, "driver", ["name:s", "version:s", "rules:a"])
    for i, rule in enumerate(driver["rules"]):
        at = "rules[%d]" % i
        has(rule, at, ["id:s", "name:s", "shortDescription:o", "fullDescription:o", "help:o",
                       "defaultConfiguration:o"])
        for text in ("shortDescription", "fullDescription", "help"):
            message(rule[text], "%s.%s" % (at, text))
        check(rule["defaultConfiguration"]["level"] in LEVELS, at + ".level")
    ids = [rule["id"] for rule in driver["rules"]]
    check(ids[:2] == ["data-race", "data-race-unless-atomic"], "other rules")
    check(len(set(ids)) == len(ids), "a rule twice")
    for i, value in enumerate(run["results"]):
        result(value, "results[%d]" % i, driver["rules"])
    check(len(run["results"]) == int(sys.argv[2]), "%d results" % len(run["results"]))
    for invocation in run["invocations"]:
        has(invocation, "invocation", ["executionSuccessful:b"], ["toolExecutionNotifications:a"])
        for note in invocation.get("toolExecutionNotifications", []):
            has(note, "notification", ["level:s", "message:o"])
            message(note["message"], "notification.message")


try:
    main()
except (KeyError, IndexError, TypeError, ValueError) as error:
    wrong.append("%s: %s" % (type(error).__name__, error))
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
