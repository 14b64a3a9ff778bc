#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Read profiles for viewers as these do, and compare them, for tests/export_viewers.sh.

    export_viewers.py expect DEPCTL STORE OUT        what `depctl query contexts' says
    export_viewers.py FORMAT FILE EXPECTED           chrome, firefox, perf-script, perfetto: the
                                                     format's rules hold, the sums are equal
    export_viewers.py chrome|firefox FILE EXPECTED FUNCTION LINE    the function is at that line
    export_viewers.py profiler-cli PROGRAM FILE      the Firefox Profiler's sums are ours
    export_viewers.py speedscope PAGE DIR EXPECTED FILE NAME...  speedscope's functions, and its
                                                     sums if NAME begins with instructions

The sums are those of each thread and function: instructions of its own, and of all stacks that it
is on.  Threads are distinguished by the ids of process and thread, as viewers do.
"""
import base64
import collections
import json
import os
import re
import subprocess
import sys
import time

import browser



def fail(text):
    print(text)
    sys.exit(1)


def check(condition, text):
    if not condition:
        fail(text)


class Sums:
    """Instructions: `own` by thread and function, `all` by function."""

    def __init__(self):
        self.own = collections.Counter()
        self.all = collections.Counter()

    def add(self, thread, stack, insns):
        """Adds a sample; `stack` has the outermost function first."""
        if not insns:
            return
        self.own[thread, stack[-1]] += insns
        for function in set(stack):
            self.all[function] += insns

    def compare(self, expected):
        bad = differences("own", self.own, expected.own)
        bad += differences("all", self.all, expected.all)
        if bad:
            fail("; ".join(bad[:4]))


def differences(what, got, expected):
    return [f"{what} of {key}: {got.get(key)}, not {expected.get(key)}"
            for key in sorted(set(got) | set(expected)) if got.get(key) != expected.get(key)]


def as_queried(stack):
    """In depctl query, an entry of a PLT has the function's name, and does not call it."""
    return [name for name in stack[:-1] if not name.endswith("@plt")] + \
        [name.removesuffix("@plt") for name in stack[-1:]]


# ---- what is expected ----

def contexts(depctl, store, *options):
    """The tree that depctl prints, a line for each context: stacks with instructions."""
    lines = subprocess.run([depctl, "query", "contexts", "--json", "--min=0", *options, store],
                           check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    stacks = {0: ()}
    for row in map(json.loads, lines):
        if "context" not in row:
            check(row["complete"], f"the recording is incomplete: {row}")
            continue
        at = row["at"]
        name = at["function"] or \
            f"{os.path.basename(at['module'])}+{int(at['linked_address'], 16):x}"
        stacks[row["context"]] = stacks[row["parent_context"]] + (name,)
        yield stacks[row["context"]], row["instructions"]


def expect(depctl, store, out):
    listing = json.loads(subprocess.run([depctl, "ls", "--json", store], check=True,
                                        stdout=subprocess.PIPE).stdout)
    pids = {p["process"]: p["pid"] for p in listing["processes"]}
    own, whole = Sums(), Sums()
    for t in listing["threads"]:
        # The contexts of one thread begin with its first function.
        for stack, insns in contexts(depctl, store, f"--process={t['process']}",
                                     f"--thread={t['tid']}"):
            own.add((pids[t["process"]], t["tid"]), stack, insns)
    for stack, insns in contexts(depctl, store):
        whole.add(None, stack, insns)
    check(len(whole.own) > 50, f"only {len(whole.own)} functions")
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"own": [[*k[0], k[1], n] for k, n in own.own.items()], "all": whole.all}, f)


def load(path):
    """Reads what expect() wrote."""
    sums = Sums()
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    for pid, tid, function, n in data["own"]:
        sums.own[(pid, tid), function] = n
    sums.all.update(data["all"])
    return sums


# ---- Chrome ----

def chrome(path, function=None, line=None):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    counted = data["otherData"]["axis"] == "instructions"
    sums, tracks, names = Sums(), {}, collections.defaultdict(dict)
    lines = collections.defaultdict(set)
    for e in data["traceEvents"]:
        thread = e["pid"], e["tid"]
        if e["ph"] == "M":
            check(e["name"] in ("process_name", "thread_name") and e["args"]["name"],
                  f"bad metadata {e}")
            names[thread][e["name"]] = e["args"]["name"]
            continue
        at, count, stack = tracks.get(thread, (-1, 0, []))
        check(e["cat"] == "function" and e["ts"] >= at, f"bad event {e} after {at}")
        # A viewer nests functions by time, so each instruction has a time of its own.
        check(e["ts"] > at or e["ticount"] == count, f"instructions without time: {e}")
        check(not counted or e["ts"] == e["ticount"], f"the axis is not instructions: {e}")
        insns = e["ticount"] - count
        check(insns >= 0 and (stack or not insns), f"instructions outside of functions: {e}")
        sums.add(thread, as_queried(stack), insns)
        if e["ph"] == "B":
            lines[e["name"]].add(e.get("args", {}).get("line"))
            check("args" not in e or e["args"]["file"], f"bad arguments {e}")
            stack = stack + [e["name"]]
        else:
            check(e["ph"] == "E" and stack and stack[-1] == e["name"],
                  f"ends a function that is not open: {e}")
            stack = stack[:-1]
        tracks[thread] = e["ts"], e["ticount"], stack
    for thread, (_, _, stack) in tracks.items():
        check(not stack, f"{thread} ends in {stack[:3]}")
        check(len(names[thread]) == 2, f"{thread} has no names")
    check(not function or lines[function] == {int(line)}, f"{function} is at {lines[function]}")
    return sums


# ---- perf script ----

EVENT = re.compile(r"(\S+)  (\d+)/(\d+) +(\d+\.\d{9}): +(\d+) instructions:u: $")
FRAME = re.compile(r"\t +([0-9a-f]+) (\S.*) \((\S+)\)$")


def perf_script(path):
    sums, at = Sums(), {}
    with open(path, encoding="utf-8") as f:
        events = f.read().split("\n\n")
    check(events.pop() == "", "the last event does not end with an empty line")
    for event in events:
        first, *lines = event.split("\n")
        head = EVENT.match(first)
        check(head, f"bad event '{first}'")
        thread = int(head[2]), int(head[3])
        check(float(head[4]) >= at.get(thread, 0), f"goes back in time: '{first}'")
        at[thread] = float(head[4])
        frames = [FRAME.match(line) for line in lines]
        check(frames and all(frames), f"bad frames of '{first}'")
        check(len(frames) <= 1001, f"{len(frames)} frames")
        names = [re.sub(r"\+0x[0-9a-f]+$", "", frame[2]) for frame in reversed(frames)]
        sums.add(thread, as_queried(names), int(head[5]))
    return sums


# ---- Firefox ----

def table(data, name, optional=()):
    """A table of columns, after a check of their lengths."""
    t = data[name]
    for column, values in t.items():
        if column not in ("length", "weightType", *optional):
            check(len(values) == t["length"], f"{name}.{column} has {len(values)} values")
    return t


def indices(values, limit, what, null=None):
    for v in values:
        check(v == null or (isinstance(v, int) and 0 <= v < limit), f"{what}: {v}")


def firefox(path, function=None, line=None, numbers=False):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    meta, shared = data["meta"], data["shared"]
    check(meta["preprocessedProfileVersion"] == 61 and meta["startTime"] > 1e12, f"meta {meta}")
    strings = shared["stringArray"]
    check(len(set(strings)) == len(strings), "a string is there twice")
    stacks, frames, functions, resources, sources = (table(shared, t) for t in (
        "stackTable", "frameTable", "funcTable", "resourceTable", "sources"))
    table(shared, "nativeSymbols")
    indices(sources["filename"], len(strings), "file name")
    indices(resources["name"], len(strings), "resource's name")
    indices(resources["lib"], len(data["libs"]), "library")
    indices(functions["name"], len(strings), "function's name")
    indices(functions["resource"], resources["length"], "resource", -1)
    indices(functions["source"], sources["length"], "source")
    indices(frames["func"], functions["length"], "function")
    indices(frames["category"], len(meta["categories"]), "category")
    indices(stacks["frame"], frames["length"], "frame")
    for i, prefix in enumerate(stacks["prefix"]):
        check(prefix is None or 0 <= prefix < i, f"stack {i} is below {prefix}")
    if function:
        found = {(strings[functions["name"][f]], frames["line"][i])
                 for i, f in enumerate(frames["func"]) if functions["source"][f] is not None}
        check((function, int(line)) in found, f"{function} is not at line {line}: " +
              str(sorted(l for n, l in found if n == function)))
    # Several functions can have one name.
    names = [f if numbers else strings[functions["name"][f]] for f in frames["func"]]
    return firefox_threads(data, stacks, names, numbers)


def firefox_threads(data, stacks, names, numbers):
    sums, pids = Sums(), {}
    for t in data["threads"]:
        samples = table(t, "samples")
        table(t, "markers")
        check(samples["length"] and samples["weightType"] == "samples", "no samples")
        check(samples["time"] == sorted(samples["time"]), f"times of {t['tid']} go back")
        check(samples["time"][0] >= t["registerTime"] - 0.001, f"{t['tid']} runs before it begins")
        # Processes with one id after the other have ids of their own here.
        check(pids.setdefault(t["pid"], t["processStartupTime"]) == t["processStartupTime"],
              f"two processes {t['pid']}")
        for stack, weight in zip(samples["stack"], samples["weight"]):
            check(weight > 0 and 0 <= stack < stacks["length"], f"sample {stack} {weight}")
            path = []
            while stack is not None:
                path.append(names[stacks["frame"][stack]])
                stack = stacks["prefix"][stack]
            path = path[::-1] if numbers else as_queried(path[::-1])
            sums.add((int(t["pid"].split(".")[0]), t["tid"]), path, weight)
    return sums


# ---- Perfetto ----

def parse_text(lines):
    """A message in the text format of protobuf: a list of values for each field."""
    message = collections.defaultdict(list)
    for line in lines:
        key, _, value = line.strip().partition(": ")
        if value.isdigit():
            message[key].append(int(value))
        elif value:
            message[key].append(value.strip('"'))
        elif key == "}":
            break
        else:
            message[key[:-2]].append(parse_text(lines))
    check(not [key for key in message if key[0].isdigit()], f"unknown fields {dict(message)}")
    return message


def intern(tables, packet):
    """Reads new entries of tables; each id has one meaning."""
    for data in packet["interned_data"]:
        for kind, rows in data.items():
            for row in rows:
                iid = row["iid"][0]
                check(iid and iid not in tables[kind], f"{kind} {iid} is there twice")
                tables[kind][iid] = row


def perfetto_frame(tables, iid):
    frame = tables["frames"][iid]
    for mapping in frame["mapping_id"]:
        path = tables["mappings"][mapping]["path_string_ids"][0]
        check(frame["rel_pc"] and tables["mapping_paths"][path]["str"], f"bad frame {frame}")
    for source in frame["source_path_iid"]:
        check(tables["source_paths"][source]["str"], f"frame {frame} has a bad file")
    return tables["function_names"][frame["function_name_id"][0]]["str"][0]


def perfetto(path):
    with open(path, encoding="utf-8") as f:
        trace = parse_text(iter(f))
    first, *packets = trace["packet"]
    counter = first["trace_packet_defaults"][0]["stack_sample_defaults"][0]["primary_descriptor"]
    check(first["sequence_flags"] == [1] and counter[0]["unit"] == ["UNIT_INSTRUCTIONS"],
          f"bad first packet {first}")
    sums, tables = Sums(), collections.defaultdict(dict)
    stacks = {}
    threads, at = {}, collections.Counter()
    for packet in packets:
        check(packet["trusted_packet_sequence_id"] == [1], f"another sequence {packet}")
        for tree in packet["process_tree"]:
            check(tree["processes"][0]["cmdline"], f"no command {tree}")
            for thread in tree["threads"]:
                threads[thread["tgid"][0], thread["tid"][0]] = thread["name"][0]
        intern(tables, packet)
        for sample in packet["stack_sample"]:
            task = sample["task_context"][0]
            thread = task["pid"][0], task["tid"][0]
            check(threads.get(thread), f"{thread} has no name")
            check(packet["sequence_flags"] == [2] and packet["timestamp"][0] >= at[thread],
                  f"bad packet {packet}")
            at[thread] = packet["timestamp"][0]
            iid = sample["callstack_iid"][0]
            if iid not in stacks:
                stacks[iid] = as_queried([perfetto_frame(tables, f) for f in
                                          tables["callstacks"][iid]["frame_ids"]])
            sums.add(thread, stacks[iid], sample["primary_weight"][0])
    return sums


# ---- the Firefox Profiler ----

def profiler_cli(program, path):
    """Loads a profile into the Firefox Profiler's own code and asks it for all functions."""
    def run(*args):
        done = subprocess.run(["node", program, *args], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, timeout=120)
        return done.returncode, done.stdout.decode()

    session = f"--session=adept{os.getpid()}"
    status, text = run("load", path, session)
    sums = Sums()
    try:
        # It waits half a second for the process that it started.
        until = time.monotonic() + 120
        while status:
            check(time.monotonic() < until, f"not loaded: {text}")
            time.sleep(0.2)
            status, text = run("thread", "list", session, "--json")
        status, text = run("profile", "info", session, "--json", "--all")
        check(not status, text)
        for process in json.loads(text)["processes"]:
            for t in process["threads"]:
                status, text = run("thread", "functions", session, "--json", "--limit=0",
                                   f"--thread={t['threadHandle']}")
                check(not status, text)
                thread = int(str(process["pid"]).split(".", maxsplit=1)[0]), int(t["tid"])
                for row in json.loads(text)["functions"]:
                    if row["selfSamples"]:
                        sums.own[thread, row["functionIndex"]] += row["selfSamples"]
                    sums.all[row["functionIndex"]] += row["totalSamples"]
    finally:
        run("stop", session.split("=", 1)[1])
    return sums


# ---- speedscope ----

SAVE = """(() => {
    window.saved = "";
    URL.createObjectURL = blob => { blob.text().then(t => { window.saved = t; }); return "#"; };
    HTMLAnchorElement.prototype.click = () => {};
    window.dispatchEvent(new KeyboardEvent("keydown", {key: "s", code: "KeyS", ctrlKey: true}));
})()"""


def imported(b, page, path, name):
    """Has speedscope import a file under a name, and save it in its own format."""
    with open(path, "rb") as f:
        text = base64.b64encode(f.read()).decode()
    script = os.path.abspath(path) + ".js"
    with open(script, "w", encoding="utf-8") as f:
        f.write(f'speedscope.loadFileFromBase64("{name}", "{text}")')
    b.call("Page.navigate", url="about:blank")
    b.wait("location.href === 'about:blank' && document.readyState === 'complete'")
    b.call("Page.navigate", url=f"file://{page}#localProfilePath={script[1:]}")
    b.wait("document.body && document.body.innerText.includes('Sandwich')")
    b.run(SAVE)
    b.wait("window.saved")
    return json.loads(b.run("window.saved"))


def speedscope_samples(profile, names):
    """The stacks of a profile with their weights."""
    if profile["type"] == "sampled":
        for stack, weight in zip(profile["samples"], profile["weights"]):
            yield [names[i] for i in stack], weight
        return
    stack, at = [], profile["startValue"]
    for e in profile["events"]:
        if e["at"] > at:
            yield [names[i] for i in stack], e["at"] - at
        at = e["at"]
        if e["type"] == "O":
            stack.append(e["frame"])
        else:
            check(stack and stack.pop() == e["frame"], f"bad event {e}")


def speedscope_sums(data):
    names = [re.sub(r' \{"file":.*\}$', "", f["name"]) for f in data["shared"]["frames"]]
    sums = Sums()
    for p in data["profiles"]:
        found = re.search(r"pid:? (\d+)\D*tid:? (\d+)", re.sub(r"\), .*\(", ", ", p["name"]))
        check(found, f"which thread is {p['name']}?")
        for stack, weight in speedscope_samples(p, names):
            if stack:
                sums.add((int(found[1]), int(found[2])), as_queried(stack), weight)
    return sums


def functions_only(sums, expected):
    """Compares threads and functions; what takes no time can be missing."""
    missing = {thread for thread, _ in expected.own} - {thread for thread, _ in sums.own}
    check(not missing, f"no threads {missing}")
    more = set(sums.own) - set(expected.own)
    check(not more, f"unexpected {list(more)[:3]}")
    check(len(sums.own) > 0.9 * len(expected.own),
          f"{len(sums.own)} of {len(expected.own)} functions")


def speedscope(page, folder, expected, *files):
    """`files`: pairs of a file and the name that says what it is.

    With time as axis, weights are times, and only the functions are compared.
    """
    b = browser.Browser(folder)
    try:
        for path, name in zip(files[::2], files[1::2]):
            sums = speedscope_sums(imported(b, page, path, name))
            if name.startswith("instructions"):
                sums.compare(load(expected))
            else:
                functions_only(sums, load(expected))
    finally:
        b.close()


def main(command, *args):
    if command == "expect":
        expect(*args)
    elif command == "profiler-cli":
        profiler_cli(*args).compare(firefox(args[1], numbers=True))
    elif command == "speedscope":
        speedscope(*args)
    else:
        read = {"chrome": chrome, "perf-script": perf_script, "firefox": firefox,
                "perfetto": perfetto}[command]
        read(args[0], *args[2:]).compare(load(args[1]))


main(*sys.argv[1:])
