# SPDX-License-Identifier: GPL-2.0-or-later
# Compute the overlap of two stores' profiles from the JSON rows of `depctl query', and compare it
# with the rows of `depctl diff --overlap --json'.
#
# overlap.py DEPCTL FIRST SECOND MATCH: prints `ok TEXT' or `FAIL TEXT' lines
#	same: both stores are of the same files; code is known by build-id and address
#	names: the programs, `prog', are different builds; their functions are known by name
#	addresses: as same, and data has the same addresses in both
import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction

depctl, first, second, match = sys.argv[1:5]
stores = (first, second)


def rows(*args):
    done = subprocess.run([depctl, *args], stdout=subprocess.PIPE, check=False, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_file(at):
    return at["module"] is not None and not at["module"].startswith("[") and at["module"] != ""


def code(at):
    if at is None:
        return None
    if not in_file(at):
        return at["module"]
    return (at["build_id"], at["linked_address"])


def function(at):
    """A function, whose row is at its first instruction."""
    if match == "names" and in_file(at) and at["module"].rsplit("/", 1)[-1] == "prog":
        return at["function"]
    return code(at)


def functions(store):
    out = Counter()
    for r in rows("query", "methods", "--json", store):
        if "at" in r:
            out[function(r["at"])] += r["instructions"]
    return out


def pairs(store):
    out = Counter()
    for r in rows("query", "pairs", "--json", store):
        if "site" in r:
            out[code(r["site"]), code(r["target"])] += r["calls"]
    return out


def edges(store):
    out = Counter()
    for r in rows("query", "edges", "--json", store):
        if "from" in r:
            out[r["branch"], code(r["from"]), code(r["to"])] += r["executions"]
    return out


def streams(store):
    """Words without a variable: by address, or by instruction and order of first reference."""
    out = Counter()
    for r in rows("query", "streams", "--json", store):
        if "stream" not in r:
            continue
        key, seen = [], {}
        for w in r["stream"]:
            if match == "addresses" or w["variable"]:
                key.append(w["address"])
            else:
                key.append((code(w["at"]), seen.setdefault(w["address"], len(seen))))
        out[tuple(key)] += r["times"] * r["length"]
    return out


def hot(profile):
    """The largest members that make 90 %, and those as large as the smallest of them."""
    total, sum_, least = sum(profile.values()), 0, None
    for n in sorted(profile.values(), reverse=True):
        if 10 * sum_ >= 9 * total:
            break
        sum_ += n
        least = n
    return Counter({k: n for k, n in profile.items() if least is not None and n >= least})


def overlap(a, b):
    ta, tb = sum(a.values()), sum(b.values())
    return sum((min(Fraction(n, ta), Fraction(b[k], tb)) for k, n in a.items() if b[k]),
               Fraction(0))


def accuracy(a, b):
    ta, tb, t = sum(a.values()), sum(b.values()), hot(a)
    return (sum((min(Fraction(n, ta), Fraction(b[k], tb)) for k, n in t.items() if b[k]),
                Fraction(0)) / Fraction(sum(t.values()), ta))


kinds = {"functions": functions, "pairs": pairs, "edges": edges, "streams": streams}
if match == "names":
    kinds = {"functions": functions}    # the JSON rows of others have addresses of one build only
printed = {r["profile"]: r for r in
           rows("diff", "--overlap=" + ",".join(kinds), "--json", *stores) if "profile" in r}
for kind, collect in kinds.items():
    a, b = (Counter({k: n for k, n in collect(s).items() if n}) for s in stores)
    want = {
        "members_in_first": len(a), "members_in_second": len(b),
        "hot_in_first": len(hot(a)), "hot_in_second": len(hot(b)),
        "overlap": float(overlap(a, b)), "hot_overlap": float(overlap(hot(a), hot(b))),
        "accuracy": float(accuracy(a, b)),
    }
    got = printed.get(kind, {})
    bad = [f"{k} is {got.get(k)}, not {v}" for k, v in want.items()
           if not isinstance(got.get(k), (int, float)) or abs(got[k] - v) > 1e-5 * max(1, v)]
    if not a or not b:
        bad.append("no rows")
    print("FAIL" if bad else "ok", kind + ("" if not bad else ": " + ", ".join(bad)) +
          f" ({len(a)} and {len(b)} members, overlap {want['overlap']:.4f})")
