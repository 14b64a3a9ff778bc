#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl diff --overlap: against a computation in Python over the rows of both profiles, for real
# programs; equal stores, other builds, little in common, missing data, arguments.
. "$(dirname "$0")/lib.sh"
need_depctl
cd "$tmp" || exit 1

# checked NAME FIRST SECOND MATCH: as overlap.py describes
checked() {
	local name=$1 word text
	shift
	timeout 180 /usr/bin/python3 "$tests/overlap.py" "$DEPCTL" "$@" >checks 2>why
	[ $? = 0 ] && [ ! -s why ] || fail "$name: $(tail -n 1 why)"
	while read -r word text; do
		case $word in
		ok) pass "$name: $text" ;;
		FAIL) fail "$name: $text" ;;
		esac
	done <checks
}

# overlap STATUS ARGUMENT...: rows into `out', messages into `err'
overlap() {
	local want=$1
	shift
	timeout 120 "$DEPCTL" diff "$@" >out 2>err </dev/null
	is "depctl diff $*: status" $? "$want"
}

cp "$tests/programs/profiled.c" . || exit 1
mkdir -p old new
gcc -O1 -g -pthread -o old/prog profiled.c && gcc -O1 -g -pthread -DOTHER -o new/prog profiled.c &&
	gcc -g -O1 -pthread -static -o streams "$tests/programs/streams.c" || {
	fail "the programs do not compile"
	finish
}
text 20000 >text
numbers 20000 >numbers
recorded gzip1.dep --no-aslr -- gzip -c text || finish
recorded gzip2.dep --no-aslr -- gzip -9 -c numbers || finish
recorded perl1.dep --no-aslr -- perl -e 'my %h; $h{$_ % 7} .= $_ for 1..2000; print %h' || finish
recorded perl2.dep --no-aslr -- perl -e 'print join ",", sort { $a cmp $b } 1..1000' || finish
recorded streams1.dep -- ./streams || finish
recorded streams2.dep -- ./streams || finish
recorded old.dep -- old/prog || finish
recorded new.dep -- new/prog || finish

# ---- against Python ----
checked gzip gzip1.dep gzip2.dep addresses
checked perl perl1.dep perl2.dep addresses
checked "random addresses" streams1.dep streams2.dep same
checked "another build" old.dep new.dep names

# ---- a store and itself, and one of the same run ----
# all_equal NAME: each profile of the rows of JSON in `out' overlaps wholly
all_equal() {
	is "$1" "$(/usr/bin/python3 - out <<'END'
import json, sys
for row in map(json.loads, open(sys.argv[1])):
    if "profile" in row:
        print(row["profile"], row["overlap"], row["hot_overlap"], row["accuracy"],
              row["members_in_first"] == row["members_in_second"] > 0)
END
)" "$(printf '%s 1 1 1 True\n' functions pairs edges contexts streams)"
}
for store in gzip1 streams1; do
	overlap 0 --overlap --json $store.dep $store.dep
	all_equal "$store and itself"
done
recorded gzip3.dep --no-aslr -- gzip -c text || finish
overlap 0 --overlap --json gzip1.dep gzip3.dep
all_equal "the same twice"
overlap 0 --overlap=contexts --json gzip1.dep gzip2.dep
# Contexts are parts of functions, so they cannot have more in common.
is "contexts" "$(/usr/bin/python3 - out "$DEPCTL" <<'END'
import json, subprocess, sys
text = subprocess.run([sys.argv[2], "diff", "--overlap=functions", "--json", "gzip1.dep",
                       "gzip2.dep"], stdout=subprocess.PIPE, check=True).stdout.splitlines()
functions, contexts = json.loads(text[0]), json.loads(open(sys.argv[1]).readline())
print(0.1 < contexts["overlap"] <= functions["overlap"] < 1,
      contexts["members_in_first"] > functions["members_in_first"])
END
)" "True True"

# ---- little in common: the dynamic linker and a few functions of libc ----
overlap 0 --overlap=functions,edges,contexts --csv gzip1.dep perl1.dep
is "one program and another" "$(awk -F, 'NR > 1 { print $1, $4 < 0.2, $7 < 0.2, $8 < 0.2 }' out)" \
	"$(printf '%s 1 1 1\n' functions edges contexts)"

# ---- forms ----
overlap 0 --overlap gzip1.dep gzip1.dep
is "text" "$(grep -c ' 100.00%.* 100.00% *100.00%$' out)" 5
overlap 0 --overlap=edges,pairs --csv gzip1.dep gzip1.dep
is "CSV" "$(cut -d, -f1,4,7,8 out | tr '\n' ' ')" \
	"profile,overlap,hot_overlap,accuracy pairs,1,1,1 edges,1,1,1 "
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	overlap 0 --overlap --json gzip1.dep perl1.dep
	/usr/bin/python3 "$tests/json_schema.py" out diff.json >why 2>&1
	is "JSON: the schema" "$? $(tail -n 1 why)" "0 $(tail -n 1 why)"
else
	skip "python3-jsonschema is not installed"
fi

# ---- trouble ----
# refused TEXT ARGUMENT...
refused() {
	local text=$1
	shift
	overlap 2 "$@" gzip1.dep gzip1.dep
	grep -q -- "$text" err && pass "$*" || fail "$*: $(cat err)"
}
refused "there is no profile 'lines'" --overlap=edges,lines
refused "there is no profile ''" --overlap=
refused "cannot be combined with --contexts" --overlap --contexts
refused "cannot be combined with --top" --overlap --top=0
refused "cannot be combined with --threshold" --overlap --threshold=1
refused "only one of --json and --csv" --overlap --json --csv
refused "needs --overlap" --csv
overlap 2 --overlap gzip1.dep nowhere.dep
"$DEPCTL" diff --overlap=pairs gzip1.dep gzip1.dep >/dev/full 2>err
is "no space" "$? $(head -n 1 err)" "2 depctl: cannot write the output: No space left on device"
cp -r gzip1.dep cut.dep
chmod -R u+w cut.dep
for f in cut.dep/segments.*; do
	truncate -s $(($(stat -c %s "$f") - 1000)) "$f"
done
overlap 2 --overlap cut.dep gzip1.dep
grep -q "the counts of cut.dep are incomplete" err && pass "missing data" ||
	fail "missing data: $(cat err)"
finish
