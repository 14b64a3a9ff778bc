# SPDX-License-Identifier: GPL-2.0-or-later
"""Check depctl query streams: streams.py DEPCTL STORE CHECK OPTION...

CHECK is `exact': the rows are those of Sequitur and the analysis of Chilimbi and Hirzel, written
here again in the simplest way, over the references that depctl dump prints; or `places': what the
rows say about where streams occur is true; or `damaged': the same of a store that lacks a segment.
Prints `ok' or `FAIL' and a text for each check.
"""
import json
import struct
import subprocess
import sys


class Node:
    """A symbol of a rule's body; its rule if it stands for one.  A guard has uses."""
    def __init__(self, value, rule=None):
        self.value, self.rule, self.guard = value, rule, False
        self.prev = self.next = None

    def key(self):
        return (id(self.rule),) if self.rule else self.value


class Sequitur:
    """Digram by digram, with a dictionary of all digrams."""
    def __init__(self):
        self.digram = {}
        self.pending = []
        self.start = self.new_guard()

    @staticmethod
    def new_guard():
        guard = Node(None)
        guard.guard, guard.uses = True, 0
        guard.prev = guard.next = guard
        return guard

    @staticmethod
    def join(a, b):
        a.next, b.prev = b, a

    @staticmethod
    def use(n, count):
        if n.rule:
            n.rule.uses += count

    def part(self, a):
        b = a.next
        if a.guard or b.guard:
            return
        key = (a.key(), b.key())
        if self.digram.get(key) is not a:
            return
        del self.digram[key]
        if a.key() == b.key():
            self.pending += [a.prev, b]

    def substitute(self, a, rule):
        b = a.next
        for n in (a.prev, a, b):
            self.part(n)
        self.use(a, -1)
        self.use(b, -1)
        new = Node(None, rule)
        self.use(new, 1)
        self.join(a.prev, new)
        self.join(new, b.next)
        a.prev = a.next = b.prev = b.next = None
        self.pending += [new, new.prev]

    def inline_single(self, a):
        if not a.rule or a.rule.uses > 1:
            return
        prev, after, rule = a.prev, a.next, a.rule
        self.part(prev)
        self.part(a)
        last = rule.prev
        self.join(prev, rule.next)
        self.join(last, after)
        a.prev = a.next = rule.prev = rule.next = None
        self.pending += [last, prev]

    def match(self, a, m):
        b, e = a.next, m.next
        if m.prev.guard and e.next.guard and m.prev is not self.start:
            rule = m.prev
        elif a.prev.guard and b.next.guard and a.prev is not self.start:
            a, m, b, e = m, a, e, b
            rule = m.prev
            self.substitute(a, rule)
            self.pending.append(m)
            self.inline_single(m)
            self.inline_single(e)
            return
        else:
            self.part(m.prev)
            self.part(e)
            rule = self.new_guard()
            place = Node(None, rule)
            rule.uses = 1
            self.join(m.prev, place)
            self.join(place, e.next)
            self.join(rule, m)
            self.join(e, rule)
            self.pending += [place, place.prev]
        self.substitute(a, rule)
        self.inline_single(m)
        self.inline_single(e)

    def look(self, a):
        if a.guard or a.next is None or a.next.guard:
            return
        b = a.next
        key = (a.key(), b.key())
        m = self.digram.get(key)
        if m is None:
            self.digram[key] = a
        elif m is b:
            self.digram[key] = a
            self.pending.append(m.next)
        elif m is not a and m.next is not a:
            self.match(a, m)

    def append(self, value):
        last, n = self.start.prev, Node(value)
        self.join(last, n)
        self.join(n, self.start)
        self.pending.append(last)
        while self.pending:
            self.look(self.pending.pop())


def body(rule):
    n = rule.next
    while n is not rule:
        yield n
        n = n.next


def reverse_postorder(start):
    """The rules, those that use a rule before it."""
    order, seen, stack = [], {start}, [(start, body(start))]
    while stack:
        rule, nodes = stack[-1]
        for n in nodes:
            if n.rule and n.rule not in seen:
                seen.add(n.rule)
                stack.append((n.rule, body(n.rule)))
                break
        else:
            stack.pop()
            order.append(rule)
    return order[::-1]


def least(threshold, refs):
    heat = int(threshold * refs)
    return max(heat + (heat < threshold * refs), 1)


def hot_streams(refs, threshold, low, high):
    """Yield the words and the cold uses of each hot rule."""
    grammar = Sequitur()
    for r in refs:
        grammar.append(r)
    order = reverse_postorder(grammar.start)
    word = {}
    for rule in reversed(order):
        word[rule] = tuple(w for n in body(rule)
                           for w in (word[n.rule] if n.rule else (n.value,)))
    cold = dict.fromkeys(order, 0)
    cold[grammar.start] = 1
    heat = least(threshold, len(refs))
    for rule in order:
        size = len(word[rule])
        if rule is not grammar.start and low <= size <= high and cold[rule] * size >= heat and \
                cold[rule]:
            yield word[rule], cold[rule]
            continue        # its uses of other rules are not cold
        for n in body(rule):
            if n.rule:
                cold[n.rule] += cold[rule]


def option(options, name, otherwise):
    for o in options:
        if o.startswith("--" + name + "="):
            return o.split("=")[1]
    return otherwise


def check(good, text):
    print("ok" if good else "FAIL", text)


def output(damaged, *command):
    """The lines of a command's output; its status is 1 if the store is damaged, or else 0."""
    out = subprocess.run(command, check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL if damaged else None)
    if out.returncode != damaged:
        raise SystemExit(f"{' '.join(command)}: status {out.returncode}")
    return out.stdout.decode().splitlines()


def references(depctl, store, damaged):
    """The references of each thread."""
    threads = {}
    for line in output(damaged, depctl, "dump", "--refs", store):
        tid, pc, address = line.split()[:3]
        word, pc = int(address, 16) // 8, int(pc, 16)
        threads.setdefault(tid, []).append((word, pc))
    return threads


def query(depctl, store, options, damaged):
    lines = [json.loads(x) for x in
             output(damaged, depctl, "query", "streams", "--json", *options, store)]
    return lines[:-1], lines[-1]


def symbols(words, pcs):
    return tuple((int(w["address"], 16) // 8, int(w["pc"], 16)) if pcs else
                 int(w["address"], 16) // 8 for w in words)


def check_sums(rows, end, threads):
    total = sum(map(len, threads.values()))
    check(end["references"] == total, f"{total} references")
    covered = sum(r["times"] * r["length"] for r in rows)
    check(end["covered"] == covered <= total and end["streams"] == len(rows), "what is covered")
    check(all(abs(r["share"] - r["times"] * r["length"] / total) < 1e-5 for r in rows), "shares")
    check(all(r["length"] == len(r["stream"]) for r in rows), "lengths")
    check(all(r["words"] == len({w["address"] for w in r["stream"]}) for r in rows), "words")
    heats = [r["times"] * r["length"] for r in rows]
    check(heats == sorted(heats, reverse=True), "order of rows")
    check(bool(rows), f"{len(rows)} streams")


def check_exact(rows, threads, options, pcs):
    threshold = float(option(options, "threshold", "1%").rstrip("%")) / 100
    low, high = int(option(options, "min-length", 2)), int(option(options, "max-length", 100))
    found = {}
    for refs in threads.values():
        sequence = refs if pcs else [r[0] for r in refs]
        for word, times in hot_streams(sequence, threshold, low, high):
            found[word] = found.get(word, 0) + times
    total = sum(map(len, threads.values()))
    expected = {w: n for w, n in found.items() if n * len(w) >= threshold * total}
    check({symbols(r["stream"], pcs): r["times"] for r in rows} == expected,
          f"rows of {len(expected)} streams")


def pack(words):
    return b"".join(struct.pack("<QQ", *w) for w in words)


def occurrences(sequence, word):
    """Number of occurrences that do not overlap."""
    count = at = 0
    while True:
        at = sequence.find(word, at)
        if at < 0:
            return count
        if at % 8:
            at += 1
            continue
        count += 1
        at += len(word)


def check_places(rows, threads, pcs):
    plain = [b"".join(struct.pack("<Q", r[0]) for r in refs) for refs in threads.values()]
    both = [pack(refs) for refs in threads.values()]
    enough = seen = True
    for r in rows:
        words = symbols(r["stream"], True)
        sequences, word = (both, pack(words)) if pcs else \
            (plain, b"".join(struct.pack("<Q", w[0]) for w in words))
        enough &= sum(occurrences(s, word) for s in sequences) >= r["times"]
        seen &= any(pack(words) in s for s in both)
    check(enough, "each stream occurs so often")
    check(seen, "instructions are those of an occurrence")


def main():
    depctl, store, what, *options = sys.argv[1:]
    pcs = option(options, "symbol", "address") == "pc"
    damaged = what == "damaged"
    threads = references(depctl, store, damaged)
    rows, end = query(depctl, store, options, damaged)
    check_sums(rows, end, threads)
    check_places(rows, threads, pcs)
    if what == "exact":
        check(end["grammars"] == len(threads), "a grammar for each thread")
        check_exact(rows, threads, options, pcs)
    else:
        check(end["grammars"] > len(threads), f"{end['grammars']} grammars")


main()
