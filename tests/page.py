# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of depctl report --html in a browser: page.py TEST SCRATCH ARGUMENT...

Prints "ok NAME" or "FAIL NAME: WHY" for each check.
"""
import base64
import csv
import hashlib
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser

VIEWS = ["flame", "icicle", "sandwich", "tree", "timeline", "source", "functions"]
DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def check(name, this, that=True):
    """Reports whether two values are equal."""
    if this == that:
        print(f"ok {name}")
    else:
        print(f"FAIL {name}: {this!r:.300}, not {that!r:.300}")


def load(path):
    """Returns the text of a page and its data."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    return text, json.loads(data)


def exact(n):
    """A number as the page writes it."""
    return f"{n:,}".replace(",", "\u202f")


def whole(data):
    """Sums that have to hold in all pages."""
    nodes, functions, rows = data["nodes"], data["functions"], data["rows"]
    check("nodes add up to all instructions", sum(nodes["self"]), data["insns"])
    check("functions add up to all instructions",
          sum(functions["self"]) + data["left_out"]["insns"], data["insns"])
    by_node = [0] * len(nodes["self"])
    by_thread = [0] * len(data["threads"])
    for thread, node, insns in zip(rows["thread"], rows["node"], rows["insns"]):
        by_node[node] += insns
        by_thread[thread] += insns
    check("rows of times add up to the nodes", by_node, nodes["self"])
    check("rows of times add up to the threads", by_thread, [t["insns"] for t in data["threads"]])


def policy(text):
    """Only the page's own script and style may run."""
    meta = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    parts = dict(part.strip().split(" ", 1) for part in meta.split(";"))
    check("the policy forbids everything else", parts["default-src"], "'none'")
    for tag, kind in (("script", "script-src"), ("style", "style-src")):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = [base64.b64encode(hashlib.sha256(c.encode()).digest()).decode() for c in content]
        check(f"the policy has the hash of the {tag}", [parts[kind]],
              [f"'sha256-{d}'" for d in digest])
    check("the page names its licence", text.count("GPL-2.0-or-later") > 5)
    check("the page refers to no other file", re.findall(r"(?:src|href)=|url\(|@import", re.sub(
        r'<script type="application/json".*?</script>', "", text, flags=re.S)), [])


def inclusive(data, match):
    """Instructions of all nodes for which match(node) is true, and of all below them."""
    nodes = data["nodes"]
    inside = [False] * len(nodes["parent"])
    total = 0
    for i, parent in enumerate(nodes["parent"]):
        inside[i] = bool(i and inside[parent]) or match(i)
        total += nodes["self"][i] if inside[i] else 0
    return total


def views(b, path, data, name):
    """Opens each view at two sizes, dark and light."""
    for view in VIEWS + (["paths"] if data["paths"] else []):
        for width in (1280, 400):
            for dark in (False, True):
                b.open(path, f"#view={view}", width, 800, dark)
                what = f"{name}: {view}, {width} pixels, {'dark' if dark else 'light'}"
                check(what, [b.errors, b.requests, b.run("document.documentElement.scrollWidth"),
                             b.run("document.querySelector('.tab[aria-selected=true]').id"),
                             b.run("document.getElementById('view').childElementCount > 0")],
                      [[], [f"file://{path}"], width, f"tab-{view}", True])
    light, dark = (b.size(1280, 800, d) or b.run("getComputedStyle(document.body).backgroundColor")
                   for d in (False, True))
    check(f"{name}: dark and light differ", light != dark)


def focus_text(b):
    """What the focus says."""
    return b.run("document.getElementById('focus').innerText")


def in_focus(data, thread=None, start=0, end=1 << 30):
    """Instructions of a thread and a range of intervals."""
    rows = data["rows"]
    return sum(n for t, at, n in zip(rows["thread"], rows["bucket"], rows["insns"])
               if start <= at < end and (thread is None or t == thread))


def search(b, data):
    """Searches by the keyboard."""
    names = data["functions"]["name"]
    b.key("/")
    b.type("VECTOR")
    found = [("vector" in n.lower()) for n in names]
    share = inclusive(data, lambda i: data["nodes"]["kind"][i] < 16 and
                      data["nodes"]["function"][i] >= 0 and found[data["nodes"]["function"][i]])
    text = b.run("document.getElementById('found').textContent")
    check("search counts the functions", text.split(" ")[0].replace("\u202f", ""), str(sum(found)))
    check("search knows their share", text.split(", ")[1].replace("\u202f", " "),
          f"{100 * share / data['insns']:.1f} %")
    rows = b.run("Array.from(document.querySelectorAll('#side tbody tr .name-text'), "
                 "(e) => e.textContent)")
    check("search reduces the table", [len(rows) > 5, all("vector" in r for r in rows)],
          [True, True])
    b.key("Escape")
    check("escape ends the search", b.run("document.getElementById('found').textContent"), "")


def graph(b, data):
    """Moves and zooms in the icicle by keys and mouse."""
    nodes, names = data["nodes"], data["functions"]["name"]
    b.key("2")
    b.key("ArrowDown")
    detail = "document.querySelector('.details-name').textContent"
    check("the first arrow selects the root", b.run(detail), "all")
    b.key("ArrowDown")
    total = list(nodes["self"])
    for i in range(len(total) - 1, 0, -1):
        total[nodes["parent"][i]] += total[i]
    first = max((i for i, p in enumerate(nodes["parent"]) if i and p == 0),
                key=lambda i: (total[i], -i))
    check("an arrow selects the largest child", b.run(detail), names[nodes["function"][first]])
    check("its count is exact", exact(total[first]) in
          b.run("document.querySelector('.details-text').textContent"))
    b.key("Enter")
    check("enter zooms", b.run("new URLSearchParams(location.hash.slice(1)).get('node')"),
          str(first))
    canvas = ("(() => { const r = document.querySelector('.graph canvas').getBoundingClientRect();"
              " return [r.left, r.top, r.width]; })()")
    box = b.run(canvas)
    b.click(box[0] + box[2] / 2, box[1] + 8)
    check("a click on the root leads back", b.run("location.hash.includes('node=')"), False)
    box = b.run(canvas)     # the parts of the focus above it are gone
    b.click(box[0] + 20, box[1] + 19 + 8)
    check("a click selects", b.run(detail), names[nodes["function"][first]])
    b.key("1")
    y = b.run(canvas + "[1] + document.querySelector('.graph canvas').clientHeight") - 19 - 8
    b.double_click(box[0] + 20, y)
    check("a double click zooms",
          b.run("new URLSearchParams(location.hash.slice(1)).get('node')"), str(first))
    b.key("Escape")


def shared_focus(b, data):
    """Time, thread and function are the focus of all views."""
    box = b.run("(() => { const r = document.getElementById('overview-chart')"
                ".getBoundingClientRect(); return [r.left, r.top, r.width]; })()")
    b.drag(box[0] + box[2] * 0.25 + 1, box[1] + 20, box[0] + box[2] * 0.5 + 1, box[1] + 20)
    buckets = data["time"]["buckets"]
    start, end = (int(b.run(f"new URLSearchParams(location.hash.slice(1)).get('{k}')"))
                  for k in ("from", "to"))
    check("dragging selects a range of time", [start, end], [buckets // 4, buckets // 2 + 1])
    check("its instructions", f"{exact(in_focus(data, None, start, end))} of "
          f"{exact(data['insns'])} instructions" in focus_text(b))
    b.run("(() => { const s = document.getElementById('thread'); s.value = '1';"
          "s.dispatchEvent(new Event('change')); })()")
    check("a thread in a range of time", f"{exact(in_focus(data, 1, start, end))} of " in
          focus_text(b))
    b.key("4")
    check("the call tree has the same focus",
          b.run("document.querySelector('.tree tbody .share').title"),
          f"{exact(in_focus(data, 1, start, end))} instructions")
    b.run("history.back()")
    b.wait("document.querySelector('.tree') === null")
    for _ in range(2):
        b.key("Escape")
    check("escape widens the focus", focus_text(b), "")
    b.run("document.querySelector('#side tbody tr').click()")
    best = max(range(len(data["functions"]["self"])), key=lambda f: data["functions"]["self"][f])
    check("a click in the table selects the function",
          b.run("new URLSearchParams(location.hash.slice(1)).get('fn')"), str(best))
    return best


def sandwich(b, data, f):
    """Callers and callees of the function in focus."""
    b.key("c")
    pairs, names = data["pairs"], data["functions"]["name"]
    tables = b.run("Array.from(document.querySelectorAll('.neighbours'), (t) => "
                   "Array.from(t.querySelectorAll('tbody tr'), (r) => [r.children[2].textContent, "
                   "r.children[1].title, r.children[0].title]))")
    for title, mine, other, rows in (("callers", "callee", "caller", tables[0]),
                                     ("callees", "caller", "callee", tables[1])):
        want = [[names[o] if o >= 0 else "[none]", exact(c), f"{exact(n)} instructions"]
                for m, o, c, n in zip(pairs[mine], pairs[other], pairs["calls"], pairs["insns"])
                if m == f]
        check(f"{title} with calls and instructions", sorted(rows), sorted(
            sorted(want, key=lambda w: -int(re.sub(r"\D", "", w[2])))[:100]))
    b.run("document.querySelector('.neighbours tbody tr:not([data-function=\"-1\"])').click()")
    check("a click leads to the caller", b.run("document.querySelector('.title').textContent"),
          tables[0][0][0])


def tree(b):
    """Opens and closes nodes of the call tree by the keyboard."""
    b.run("setTimeout(() => 0)")
    b.key("4")
    count = "document.querySelectorAll('.tree tbody tr').length"
    before = b.run(count)
    b.run("document.querySelector('.tree tbody tr').focus()")
    b.key("ArrowLeft")
    check("an arrow closes a node", [before > 3, b.run(count)], [True, 1])
    b.key("ArrowRight")
    check("an arrow opens it", b.run(count) > 1)


def big(b, path):
    """10^10 instructions."""
    text, data = load(path)
    policy(text)
    check("it is a large profile", data["insns"] > 10 ** 10)
    check("the page is small", len(text) < 5 << 20)
    views(b, path, data, "large")
    b.open(path)
    search(b, data)
    graph(b, data)
    sandwich(b, data, shared_focus(b, data))
    tree(b)
    check("no error", b.errors, [])


def hostile(b, path):
    """Names that are no text for a careless page."""
    _, data = load(path)
    whole(data)
    views(b, path, data, "hostile")
    b.open(path, "#view=functions")
    names = b.run("Array.from(document.querySelectorAll('#view tbody tr'), (r) => "
                  "[r.dataset.function, r.querySelector('.name-text').textContent])")
    want = [[str(i), DIRECTION.sub("\ufffd", n) or "[no name]"]
            for i, n in enumerate(data["functions"]["name"])]
    check("names are shown as text", sorted(names), sorted(want))
    for view in VIEWS:
        for f in range(len(want)):
            b.run(f"location.hash = 'view={view}&fn={f}&q=%3Cscript'")
    b.run("new Promise((done) => setTimeout(done, 0))")
    check("no name became an element",
          b.run("document.querySelectorAll('img, b, i, iframe, object').length"), 0)
    check("no name was executed", b.run("document.title"), "program – profile")
    check("nothing else was loaded", [b.requests, b.errors], [[f"file://{path}"], []])
    b.open(path, "#view=nothing&fn=99999999&thread=-5&from=x&to=1e9&node=%00&q=" + "%3C" * 1000)
    check("a bad fragment is no error", [b.errors, b.run("document.body.dataset.view")],
          [[], "flame"])


def recorded_sums(path, methods, leaf_line):
    """A recording of page_target.c against depctl query, and against what its source says."""
    text, data = load(path)
    policy(text)
    whole(data)
    functions = data["functions"]
    page = {}
    for name, self, calls, total in zip(*(functions[k] for k in
                                          ("name", "self", "calls", "inclusive"))):
        page.setdefault(name, []).append([self, calls, total])
    query = {}
    with open(methods, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            if row.get("at", {}).get("function"):
                query.setdefault(row["at"]["function"], []).append([row["instructions"],
                                                                    row["calls"]])
    wrong = [n for n in query if sorted(r[:2] for r in page.get(n, [])) != sorted(query[n])]
    check("functions are those of depctl query methods", [len(query) > 20, wrong], [True, []])
    check("calls of leaf()", page["leaf"][0][1], 300)
    code = {functions["name"][c["function"]]: c for c in data["code"]}
    wrong = [n for n, c in code.items() if sum(c["count"]) not in [r[0] for r in page[n]]]
    check("instructions add up to their functions", [len(code) > 5, wrong], [True, []])
    leaf = code["leaf"]
    counts = [n for n, line in zip(leaf["count"], leaf["line"]) if line == int(leaf_line)]
    check("the line in leaf() ran 40 times in each call", max(counts), 12000)
    pairs = data["pairs"]
    index = {n: i for i, n in enumerate(functions["name"])}
    calls = [c for f, t, c in zip(pairs["caller"], pairs["callee"], pairs["calls"])
             if (f, t) == (index["middle"], index["leaf"])]
    check("middle() calls leaf()", calls, [300])
    check("four threads", len(data["threads"]), 4)
    check("no paths", data["paths"], None)
    return data


def recorded(b, path, data, leaf_line):
    """The same page in a browser."""
    names = data["functions"]["name"]
    views(b, path, data, "recorded")
    f = names.index("leaf")
    b.open(path, f"#view=source&fn={f}")
    row = f"document.querySelector('.source tr[data-line=\"{leaf_line}\"]')"
    check("the source view has the line and its count",
          [b.run(f"{row}.children[1].title"), b.run(f"{row}.textContent.includes('MARK leaf')")],
          ["12\u202f000", True])
    b.run(f"{row}.click()")
    check("a click on the line marks its instructions",
          b.run("document.querySelectorAll('.assembly .marked').length") > 2)
    check("the page says how to get paths",
          b.run("document.querySelector('#tabs .tab-missing').title"),
          "This page has no paths. depctl report --paths --html=FILE STORE adds them.")
    b.open(path, "#view=paths&path=0")
    check("there is no view of paths", [b.run("document.body.dataset.view"), b.errors],
          ["flame", []])
    evil = next(i for i, n in enumerate(names) if n.startswith("</script>"))
    b.open(path, f"#view=flame&fn={evil}")
    check("a hostile symbol is text", [b.run("document.querySelector('.chip-text').textContent"),
                                       b.run("document.title"), b.errors],
          [names[evil], "target – profile", []])


def path_sums(data, rows):
    """The paths of the page are those of depctl query paths."""
    paths, names, loops = data["paths"], data["functions"]["name"], data["paths"]["loops"]
    page = sorted([names[f], c, n, b] for f, c, n, b in zip(
        *(paths[k] for k in ("function", "count", "insns", "blocks"))))
    query = sorted([r["at_function"], int(r["executions"]), int(r["path_instructions"]),
                    int(r["blocks"])] for r in rows if r["kind"] != "partial")
    check("paths are those of depctl query paths", [len(page) > 100, page == query], [True, True])
    partial = [int(r["instructions"]) for r in rows if r["kind"] == "partial"]
    check("so are those that did not end", [paths["partial"], paths["partial_insns"]],
          [len(partial), sum(partial)])
    whole_paths, wrong = 0, []
    for k, function in enumerate(paths["function"]):
        blocks = range(paths["first"][k], paths["first"][k + 1])
        insns = sum(paths["code"]["to"][i] - paths["code"]["from"][i] + 1 for i in blocks)
        # Some blocks are of functions without assembly on the page.
        missing = paths["blocks"][k] - len(blocks)
        whole_paths += not missing
        if missing < 0 or (insns < paths["insns"][k]) != (missing > 0) or \
                insns > paths["insns"][k]:
            wrong.append([names[function], len(blocks), insns])
    check("blocks have the instructions of their paths", wrong, [])
    check("most paths have all blocks", whole_paths > len(page) * 0.8)
    leaf = loops["function"].index(names.index("leaf"))
    hot = loops["path"][leaf]
    # Each call of leaf() has 40 rounds; the first one begins with the function.
    check("the hot path of the loop in leaf()",
          [loops["entered"][leaf], loops["iterations"][leaf], paths["count"][hot],
           names[paths["function"][hot]], paths["round"][hot], paths["offset"][hot]],
          [300, 300 * 41, 300 * 39, "leaf", 1, loops["offset"][leaf]])
    return hot


def path_table(b, data):
    """Sorts and searches."""
    paths, names = data["paths"], data["functions"]["name"]
    rows = ("Array.from(document.querySelectorAll('.paths tbody tr'), "
            "(r) => Number(r.dataset.path))")
    for column, value in ((1, lambda k: paths["count"][k] * paths["insns"][k]),
                          (2, lambda k: paths["count"][k]), (3, lambda k: paths["insns"][k]),
                          (4, lambda k: paths["blocks"][k])):
        if column > 1:
            b.run(f"document.querySelector('.paths th:nth-child({column}) button').click()")
        want = sorted(range(len(paths["count"])), key=lambda k: (-value(k), k))[:400]
        check(f"paths sorted by column {column}", b.run(rows), want)
    b.run("document.querySelector('.paths th:nth-child(1) button').click()")
    b.key("/")
    b.type("leaf")
    want = {k for k, f in enumerate(paths["function"]) if "leaf" in names[f]}
    check("search reduces the paths", set(b.run(rows)), want)
    check("and the loops", b.run("document.querySelectorAll('.loops tbody tr').length"),
          sum("leaf" in names[f] for f in paths["loops"]["function"]))
    b.key("Escape")


def with_paths(b, path, data, hot, leaf_line):
    """The view of paths, and a path in the source view."""
    views(b, path, data, "with paths")
    names, paths = data["functions"]["name"], data["paths"]
    b.open(path, "#view=functions")
    b.key("8")
    check("key 8 shows the paths", b.run("document.body.dataset.view"), "paths")
    check("nothing is missing", b.run("document.querySelector('.tab-missing')"), None)
    evil = next(i for i, n in enumerate(names) if n.startswith("</script>"))
    check("a hostile symbol is text in the paths", [
        b.run("Array.from(document.querySelectorAll('.paths .name-text, .loops .name-text'), "
              "(e) => e.textContent)").count(f"{names[evil]}+{paths['offset'][k]:x}") > 1
        for k, f in enumerate(paths["function"]) if f == evil and paths["round"][k]], [True])
    check("it was not executed", [b.run("document.title"), b.run(
        "document.querySelectorAll('img').length")], ["target – profile", 0])
    path_table(b, data)
    loop = paths["loops"]["path"].index(hot)
    cells = (f"Array.from(document.querySelector('.loops tr[data-loop=\"{loop}\"]').children, "
             "(c) => c.title)")
    check("a loop has its hot path", b.run(cells)[1:4],
          [exact(300 * 41), f"{exact(300 * 39)} of {exact(300 * 41)} iterations",
           exact(paths["insns"][hot])])
    b.run(f"document.querySelector('.loops tr[data-loop=\"{loop}\"]').click()")
    check("a click on a loop selects its hot path",
          b.run("document.querySelector('.paths .selected').dataset.path"), str(hot))
    check("the focus has it", f"path: {exact(300 * 39)} times" in focus_text(b))
    b.key("s")
    count = ("Array.from(document.querySelectorAll('.%s .on-path'), "
             "(r) => r.children[%d].title)")
    check("its instructions are marked with its count", b.run(count % ("assembly", 1)),
          [exact(300 * 39)] * paths["insns"][hot])
    check("so are its lines", [set(b.run(count % ("source", 2))), b.run(
        f"document.querySelector('.source tr[data-line=\"{leaf_line}\"]')"
        ".classList.contains('on-path')")], [{exact(300 * 39)}, True])
    code = next(c for c in data["code"] if names[c["function"]] == "leaf")
    check("others are not", b.run("document.querySelectorAll('.assembly tbody tr').length"),
          len(code["at"]))
    b.key("Escape")
    check("escape leaves the path", [b.run("document.querySelectorAll('.on-path').length"),
                                     "leaf" in focus_text(b)], [0, True])
    b.open(path, f"#view=source&fn={names.index('main')}&path={hot}")
    check("a path is of its function", [b.run("document.querySelectorAll('.on-path').length"),
                                        "path:" in focus_text(b), b.errors], [0, False, []])
    b.open(path, "#view=paths&path=99999999&fn=-4")
    check("no such path", [b.run("document.querySelectorAll('.selected').length"), b.errors],
          [0, []])


def plain(b, path):
    """Pages without peculiarities: all views open."""
    _, data = load(path)
    views(b, path, data, os.path.basename(path))


def main():
    """Runs one test."""
    test, scratch, *arguments = sys.argv[1:]
    if test == "recorded":
        path, methods, leaf_line = arguments
        data = recorded_sums(path, methods, leaf_line)
        if not browser.find():
            return
        arguments = [path, data, leaf_line]
    if test == "paths":
        path, query, leaf_line = arguments
        text, data = load(path)
        policy(text)
        with open(query, encoding="utf-8") as f:
            hot = path_sums(data, list(csv.DictReader(f)))
        if not browser.find():
            return
        arguments = [path, data, hot, leaf_line]
    b = browser.Browser(scratch)
    try:
        {"big": big, "hostile": hostile, "plain": plain, "paths": with_paths,
         "recorded": recorded}[test](b, *arguments)
    except browser.BrowserError as e:
        print(f"FAIL {test}: {e}")
    finally:
        b.close()


if __name__ == "__main__":
    main()
