# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs of the benchmarks: made once, always the same."""
import functools
import itertools
import os
import random
import subprocess

LINES = 80000  # of text before it repeats itself: 6 MB

SCRIPT_PERL = """
while (<>) {
    for (split) { $n{$_}++; $l += length; }
    $v++ if /[aeiou]{2}[^aeiou]+ing?\\b/;
    s/(\\w+) (\\w+)/$2 $1/g;
    $c += unpack("%32C*", $_);
}
print "$_ $n{$_}\\n" for (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0..9];
print "$l $v $c\\n";
"""

SCRIPT_PYTHON = """
import json, re, sys
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def plus(self, other):
        return Point(self.x + other.x, self.y + other.y)
def filter(n):
    flags = bytearray([1]) * n
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            flags[i * i::i] = bytes(len(range(i * i, n, i)))
    return sum(flags) - 2
rounds = int(sys.argv[1])
total = 0
for r in range(rounds):
    p = Point(0, 0)
    for i in range(2000):
        p = p.plus(Point(i, r))
    text = json.dumps({str(i): [i, str(i * r)] for i in range(500)})
    total += len(re.findall(r'"(\\d+)":', text)) + len(json.loads(text)) + p.x % 97
    total += filter(5000)
    total += sum(hash(s) & 1 for s in sorted(text.split(', ')[:200])) * 0
print(total)
"""


def words(rng, count):
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = [1 / (i + 2) for i in range(26)]
    return ["".join(rng.choices(letters, weights, k=rng.randint(2, 10))) for _ in range(count)]


def write(path, make):
    if not os.path.exists(path):
        data = make()
        with open(path + ".tmp", "w") as f:
            f.write(data)
        os.rename(path + ".tmp", path)


def text(size):
    """Words of a vocabulary, frequent and rare ones.

    Choosing them takes long, so beyond some megabytes the same lines come again in
    another order: far more than the compressors look back, but for xz, whose input
    is smaller.
    """
    rng = random.Random(1)
    vocabulary = words(rng, 20000)
    weights = list(itertools.accumulate(1 / (i + 10) for i in range(len(vocabulary))))
    chosen = rng.choices(vocabulary, cum_weights=weights, k=12 * LINES)
    lines = [" ".join(chosen[i:i + 12]) for i in range(0, len(chosen), 12)]
    out, length = [], 0
    while length < size:
        out.append("\n".join(lines) + "\n")
        length += len(out[-1])
        rng.shuffle(lines)
    return "".join(out)


def numbers(count):
    rng = random.Random(2)
    return "".join("%d %s\n" % (rng.getrandbits(30), hex(rng.getrandbits(40)))
                   for _ in range(count))


def c_source(functions):
    """What cc1 gets: a preprocessed file with loops, structures, switches, doubles."""
    rng = random.Random(3)
    out = ["typedef unsigned long u64;\nstruct node { struct node *next; u64 key; double w; "
           "int tag[8]; };\nextern int printf(const char *, ...);\n"]
    for i in range(functions):
        k, m = rng.randint(3, 60), rng.randint(2, 9)
        out.append("""
static int mix%d(struct node *n, int a, u64 b)
{
	int s = %d, i;
	for (i = 0; i < a; i++) {
		switch ((n->tag[i & 7] + i) %% %d) {
		case 0: s += n->tag[(i + s) & 7] * %d; break;
		case 1: s ^= (int)(b >> (i & 31)); n->w *= 1.0 + s; break;
		case 2: if (n->next) n = n->next; else return s; break;
		case 3: { u64 t[%d]; int j; for (j = 0; j < %d; j++) t[j] = b * j + n->key;
			  for (j = 1; j < %d; j++) s += (int)(t[j] ^ t[j - 1]); break; }
		default: s -= %s;
		}
	}
	return s + (int)n->w;
}
""" % (i, k, m, k, k + 2, k, k, "mix%d(n, a / 2, b + 1)" % (i - 1) if i else "a"))
    out.append("int main(void) { struct node n = { 0 }; return mix%d(&n, 9, 7); }\n"
               % (functions - 1))
    return "".join(out)


def sql(rows):
    return """
create table t(id integer primary key, a integer, b text);
with recursive c(n) as (select 1 union all select n + 1 from c where n < %d)
insert into t select n, n * 7919 %% 100003, 'row ' || (n * 31 %% 1009) from c;
create index ta on t(a);
create index tb on t(b);
select b, count(*), sum(a) from t group by b order by 3 desc limit 5;
select count(*) from t x join t y on x.a = y.a + 1 where x.id %% 7 = 0;
update t set a = a + 1 where b like '%%99';
delete from t where id %% 3 = 0;
select sum(a), max(b) from t;
""" % rows


def prepare(where, scale):
    """Make the inputs; return {name: command}."""
    os.makedirs(where, exist_ok=True)

    def path(name):
        return os.path.join(where, name)

    def n(count):
        return max(1, int(count * scale))

    sizes = {"gzip": 20000000, "bzip2": 20000000, "xz": 4000000, "perl": 10000000,
             "awk": 40000000, "pigz": 24000000}
    longest = functools.cache(lambda: text(n(max(sizes.values()))))

    def beginning(size):
        return longest()[:longest().rindex("\n", 0, size) + 1]

    for name, size in sizes.items():
        write(path(name + ".txt"), lambda: beginning(n(size)))
    write(path("sort.txt"), lambda: numbers(n(1800000)))
    write(path("cc1.i"), lambda: c_source(n(800)))
    write(path("sqlite3.sql"), lambda: sql(n(500000)))
    write(path("perl.pl"), lambda: SCRIPT_PERL)
    write(path("python3.py"), lambda: SCRIPT_PYTHON)
    try:
        cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True,
                             check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        cc1 = "cc1"
    return {
        "gzip": ["gzip", "-9", "-c", path("gzip.txt")],
        "bzip2": ["bzip2", "-9", "-c", path("bzip2.txt")],
        "xz": ["xz", "-6", "-T1", "-c", path("xz.txt")],
        "perl": ["perl", path("perl.pl"), path("perl.txt")],
        "python3": ["/usr/bin/python3", "-S", path("python3.py"), str(n(600))],
        "cc1": [cc1, "-quiet", "-O2", path("cc1.i"), "-o", "/dev/null"],
        "sqlite3": ["sqlite3", ":memory:", ".read " + path("sqlite3.sql")],
        "awk": ["mawk", "{ for (i = 1; i <= NF; i++) { w[$i]++; s += length($i) } } "
                "/ing? / { m++ } END { for (k in w) n++; print n, s, m }", path("awk.txt")],
        "sort": ["sort", "--parallel=1", "-n", path("sort.txt")],
        "pigz": ["pigz", "-p2", "-9", "-c", path("pigz.txt")],
    }
