#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Paths of recorded programs: what they execute is what dep_profile counts, for each instruction and
# each branch; known paths; damaged stores; limits of memory.
. "$(dirname "$0")/lib.sh"
need_depctl
check=$build/tests/paths_check
cd "$tmp" || exit 1

# equal NAME STORE: the paths are those of the other profile, alone and as sequences
equal() {
	local k
	for k in 1 3; do
		if timeout 120 "$check" "$2" 0 $k >result 2>&1; then
			pass "$1: $(tail -n 1 result)"
		else
			fail "$1, $k iterations: $(grep -v whole result | head -n 3 | tr '\n' ';')"
		fi
	done
}

g++ -g -O1 -pthread -o paths "$tests/programs/paths.cc" || fail "compiling paths.cc"
recorded cc.dep --ring-size=256K -- ./paths &&
	equal "exceptions, longjmp, signals, threads, fork" cc.dep
cc -g -O1 -D_GNU_SOURCE -o rewrites "$tests/programs/code_rewrite.c" ||
	fail "compiling code_rewrite.c"
recorded rewrites.dep --ring-size=256K -- ./rewrites && equal "rewritten code" rewrites.dep
recorded gzip.dep --ring-size=256K -- sh -c \
	'head -c 200000 /usr/bin/perl | gzip -c | gzip -dc | md5sum'
equal gzip gzip.dep
have perl && recorded perl.dep --ring-size=256K -- perl -e 'my %h;
	for (1 .. 2000) { $h{$_ % 77} .= $_; eval { die "x" if $_ % 5 == 0 } }
	print sort keys %h' && equal perl perl.dep
have python3 &&
	recorded python.dep --ring-size=256K -- \
		python3 -S -c 'print(sum(hash(str(i)) % 7 for i in range(900)))' &&
	equal python3 python.dep

# paths OPTION...: rows into `rows', messages into `why'
paths() {
	timeout 60 "$DEPCTL" query paths "$@" >rows 2>why
}

# ---- known paths ----
paths --csv --min=0 --function=two_ways --process=1 cc.dep
is "a function with two paths" "$(sed 1d rows | cut -d, -f3,6 | sort | tr '\n' ' ')" \
	"25,path 75,path "
is "no other paths" "$(wc -l <why)" 0
paths --json --min=0 cc.dep
is "all rows" "$(grep -c '"path":' rows)" \
	"$("$check" cc.dep | awk '/whole/ { print $1 + $3 + $5 }')"

# ---- forms ----
paths --top=5 cc.dep
is "status" $? 0
is "columns" "$(head -n 1 rows | tr -s ' ')" \
	"share insns count each blocks kind function blocks at"
is "--top" "$(grep -c '^ *[0-9.]*%' rows)" 5
is "end" "$(tail -n 1 rows)" "complete: yes"
paths --min=99% cc.dep
is "--min" "$(grep -c '^ *[0-9.]*%' rows)" 0
tid=$("$DEPCTL" dump --refs cc.dep | cut -d' ' -f1 | uniq | tail -n 1)
paths --json --min=0 --thread="$tid" cc.dep
is "--thread" "$(tail -n 1 rows)" '{"complete":true,"missing":[]}'
paths --process=77 cc.dep
is "an unknown process" $? 1
paths --live cc.dep
is "--live is refused" $? 2

# ---- the table ----
for store in cc.dep gzip.dep perl.dep; do
	[ -d $store ] || continue
	paths --json --min=0 $store && cp rows all
	paths --json --table=paths $store
	is "table of $store" "$(/usr/bin/python3 "$tests/paths.py" all rows 2>&1)" ""
done
paths --table=paths cc.dep
is "figures of the table" "$(grep -c "^ *[0-9][0-9.]*%\?  [a-z]" rows)" 15
paths --table=paths --csv cc.dep
is "the table as CSV" "$(wc -l <rows)" 2
paths --table=paths --top=1 cc.dep
is "the table has no --top" $? 2

# ---- over several iterations ----
for store in cc.dep gzip.dep perl.dep; do
	[ -d $store ] || continue
	paths --json --min=0 $store && cp rows rows1
	paths --json --min=0 --iterations=1 $store
	is "one iteration of $store" "$(cmp rows rows1 2>&1)" ""
	for k in 2 3; do
		paths --json --min=0 --iterations=$k $store && cp rows rows$k
		is "messages about $store" "$(wc -l <why)" 0
	done
	is "sequences of $store" \
		"$(/usr/bin/python3 "$tests/paths_iterations.py" laws rows1 rows2 rows3 2>&1)" ""
	# An exception, signal or exit ends the sequence, with paths in front.
	grep -q '"kind":"partial".*"sequence":"[0-9]*>' rows2 || fail "$store: no partial sequences"
	grep -q '"kind":"loop".*"sequence":null' rows2 || fail "$store: no loops"
done
paths --csv --min=0 --iterations=2 cc.dep
is "sequences as CSV" "$(head -n 1 rows | cut -d, -f8-10) $(wc -l <rows)" \
	"number,sequence,path $("$DEPCTL" query paths --json --min=0 --iterations=2 cc.dep | wc -l)"
paths --iterations=2 cc.dep
is "sequences as text" "$(head -n 1 rows | tr -s ' ')" \
	"share insns count each blocks kind function paths blocks at"
grep -q '  [0-9]*>[0-9]*  *+[0-9a-f +]* > +' rows || fail "no path behind another one in the text"
for k in 0 65 x ""; do
	paths --iterations=$k cc.dep
	is "--iterations=$k" "$? $(grep -c -e "--iterations must be" why)" "2 1"
done
for table in paths coverage "common --against cc.dep"; do
	for option in --iterations=2 --min=1%; do
		paths $option --table=$table cc.dep
		is "$option with --table=$table" \
			"$? $(grep -c -e "cannot be combined with ${option%=*}" why)" "2 1"
	done
done

# ---- coverage ----
cc -O0 -no-pie -o cover "$tests/programs/paths_cover.c" || fail "compiling paths_cover.c"
recorded cover1.dep ./cover 000
recorded cover2.dep ./cover 000 110
recorded cover3.dep ./cover 000000 001

# coverage FUNCTION STORE...: paths and potential paths of a function, and which graph that is
coverage() {
	local function=$1
	shift
	paths --csv --table=coverage --function="$function" "$@"
	sed 1d rows | cut -d, -f2-4
}

is "coverage of one store" "$(coverage cover cover1.dep)" 1,8,file
is "coverage of another one" "$(coverage cover cover2.dep)" 2,8,file
is "coverage of both" "$(coverage cover cover1.dep cover2.dep)" 2,8,file
is "coverage of three" "$(coverage cover cover3.dep cover1.dep cover2.dep)" 3,8,file
is "coverage of a store twice" "$(coverage cover cover1.dep cover1.dep)" 1,8,file
is "coverage of a loop" "$(coverage around cover1.dep) $(coverage around cover1.dep cover3.dep)" \
	"3,8,file 4,8,file"
# Each path of around() is executed another number of times.
set -- 0111 101101 11101 101001 11110 001111 101011 111000 0101
recorded around.dep ./cover "$@"
paths --json --min=0 --function=around around.dep && cp rows rows1
for k in 1 2 3 5 6 64; do
	paths --json --min=0 --function=around --iterations=$k around.dep
	is "$k known iterations" \
		"$(/usr/bin/python3 "$tests/paths_iterations.py" known rows $k rows1 "$@" 2>&1)" ""
done
for store in cc.dep gzip.dep perl.dep; do
	[ -d $store ] || continue
	paths --json --table=coverage $store
	is "status of the coverage of $store" $? 0
	# paths_coverage.py takes one process.
	[ $store = perl.dep ] || continue
	cp rows coverage
	paths --json --min=0 $store
	is "coverage of $store" \
		"$(/usr/bin/python3 "$tests/paths_coverage.py" coverage rows 2>&1)" ""
done
paths --table=coverage --top=3 cc.dep cover1.dep
is "coverage has --top" "$(grep -c '^ *[0-9.]*%' rows)" 3
paths --table=coverage --process=1 cc.dep cover1.dep
is "a process of several stores" $? 2
paths --table=paths cc.dep cover1.dep
is "other tables are of one store" $? 2
paths --table=coverage cc.dep nothing.dep
is "a store that does not exist" $? 1
mv cover covered
# Functions have no names then.
paths --csv --table=coverage cover1.dep cover2.dep
is "coverage without the file" "$(grep -c '^0.5,2,4,executed,3,' rows)" 1
mv covered cover

# ---- what is common ----
# alone NAME OPTION...: compile a program that executes nothing else
alone() {
	local name=$1
	shift
	cc -O0 -static -nostdlib -fno-stack-protector -DALONE "$@" -Wl,--build-id -o "$name" \
		"$tests/programs/paths_cover.c" || fail "compiling $name"
}

# common STORE OTHER: functions, common ones, changed ones, common paths, paths of either
common() {
	paths --csv --table=common --against "$2" "$1"
	sed 1d rows | cut -d, -f1-5,9
}

alone train
alone moved -DMOVED
alone changed -DCHANGED
recorded train.dep ./train 000
recorded ref.dep ./train 000 110
recorded moved.dep ./moved 000 110
recorded last.dep ./train 001
recorded changed.dep ./changed 001
# cover(): 1 and 2 paths; around(): 3 and 5; main(): 2 and 3; start(): 1
is "common paths" "$(common train.dep ref.dep)" 4,4,0,7,7,11
is "shares of the first one" "$(sed 1d rows | cut -d, -f6-7)" 1,1
# Of 12 executions: 1 of cover(), 4 of around(), 2 of main(), 1 of start()
is "shares of the other one" "$(sed 1d rows | cut -d, -f10-11)" 0.636364,0.666667
is "the other way round" "$(common ref.dep train.dep)" 4,4,0,7,11,7
is "shares, the other way round" "$(sed 1d rows | cut -d, -f6-7,10-11)" 0.636364,0.666667,1,1
is "functions that were moved" "$(common train.dep moved.dep)" 4,4,0,7,7,11
is "the same recording" "$(common ref.dep ref.dep)" 4,4,0,11,11,11
# Only the path of cover() has the branch that was changed.
is "a function that was changed" "$(common last.dep changed.dep)" 4,4,1,6,7,7
is "its other paths" "$(common train.dep changed.dep)" 4,4,1,5,7,7
paths --table=common --against ref.dep train.dep
is "figures in text" "$? $(grep -c '^ *[0-9.]*%\?  [a-z]' rows)" "0 12"
paths --table=common train.dep
is "common without --against" $? 2
paths --against ref.dep train.dep
is "--against without common" $? 2
paths --table=common --against ref.dep --process=1 train.dep
is "common with --process" $? 2
paths --table=common --against nothing.dep train.dep
is "common with no store" $? 1

# ---- in the report ----
for store in cc.dep gzip.dep perl.dep; do
	[ -d $store ] || continue
	paths --csv --min=0 $store
	"$DEPCTL" report --paths --json --top=100000000 $store >report 2>why
	is "status of the report" "$? $(wc -l <why)" "0 0"
	is "the report has the paths of $store" \
		"$(/usr/bin/python3 "$tests/report_paths.py" report rows 2>&1)" ""
done
paths --csv --process=1 cc.dep
"$DEPCTL" report --paths --process=1 cc.dep >report 2>why
sed -n '/^PATHS/,/^$/p' report >section
is "the hottest path is the same" "$(awk 'NR == 2 { print $3, $4, $5 }' section)" \
	"$(awk -F, 'NR == 2 { print $3, $4, $5 }' rows)"
is "8 paths, and what is left" "$(grep -c '^ *[0-9.]*%  [^i]' section) $(
	grep -c '^ *[0-9.]*%  in [0-9]* more$' section) $(
	grep -c '^ *[0-9.]*%  in [0-9]* paths that did not end$' section)" "8 1 1"
is "it counts the paths" "$(sed -n '1s/^PATHS (\([0-9]*\) executed).*/\1/p' section)" \
	"$("$DEPCTL" query paths --csv --min=0 --process=1 cc.dep |
		sed 1d | grep -c ',path,\|,loop,')"
is "it fits 100 columns" "$(awk 'length > 100' report)" ""
is "the loops are the same" "$(sed -n '/^HOT PATH/,/^$/p' report | awk '/%|-/ { print $2 }')" \
	"$(sed -n '/^LOOPS/,/^$/p' report | awk '/%/ { print $2 }')"
is "--top" "$("$DEPCTL" report --paths --top=3 cc.dep | sed -n '/^PATHS/,/ more$/p' | wc -l)" 5
"$DEPCTL" report cc.dep >report
is "no paths without --paths" "$(grep -c '^PATHS\|^HOT PATH' report)" 0
"$DEPCTL" report --json cc.dep >report
is "nor in JSON" "$(grep -c 'hot_paths\|hot_path' report)" 0

# ---- damage ----
# A segment that cannot be read is a gap for both profiles.
cp -r cc.dep bad.dep
size=$(stat -c %s cc.dep/segments.000)
for i in 1 2 3 4 5 6 7; do
	flip bad.dep/segments.000 $((size * i / 8))
done
equal "damaged segments" bad.dep
for table in "--table=coverage cover1.dep bad.dep" "--table=common --against bad.dep cc.dep"; do
	paths $table
	is "a damaged store: $table" "$? $(grep -o "^complete: no: bad.dep: " rows)" \
		"1 complete: no: bad.dep: "
	paths --json $table
	is "JSON says so" "$? $(tail -n 1 rows | grep -c '"complete":false.*"bad.dep: ')" "1 1"
	paths --csv $table
	is "CSV has a warning" "$? $(grep -o "^depctl: incomplete: bad.dep" why | sort -u)" \
		"1 depctl: incomplete: bad.dep"
done
if grep -q "^[1-9][0-9]* segments cannot be read" result; then
	pass "damaged segments are noticed"
else
	fail "damaged segments: $(cat result)"
fi

# ---- memory ----
timeout 60 "$check" cc.dep 0x40000 >result
too_little="paths: they do not fit in the memory allowed: No space left on device"
is "graphs that do not fit" "$(tail -n 1 result)" "$too_little"
# With each limit the result is that without one, or an error, or something is not counted.

# limited KIB ITERATIONS: what comes of this limit into `came', and appended to `all'
limited() {
	timeout 60 "$check" cc.dep $(($1 << 10)) "$2" >result
	if [ "$(tail -n 1 result)" = "$too_little" ]; then
		came=none
	elif cmp -s whole result; then
		came=whole
	elif grep -q "not counted" result; then
		came=less
	else
		came=wrong
		fail "limit of $1 KiB, $2 iterations: $(tail -n 1 result)"
	fi
	all+=" $came"
}

for k in 1 4; do
	all=''
	low=0
	timeout 60 "$check" cc.dep 0 $k >whole || fail "paths: $(tail -n 1 whole)"
	for ((kib = 256; kib <= 1 << 20; kib *= 2)); do
		limited $kib $k
		case $came in
		none) low=$kib ;;
		whole) break ;;
		esac
	done
	# How much the graphs take depends on the libraries: look for it between the two.
	high=$kib
	while [ $((high - low)) -gt 16 ]; do
		kib=$(((low + high) / 2))
		limited $kib $k
		if [ $came = none ]; then
			low=$kib
		else
			high=$kib
		fi
	done
	is "limits of memory, $k iterations" "$(xargs -n 1 <<<"$all" | sort -u | xargs)" \
		"less none whole"
done

# ---- two files at one address, one after the other ----
cat >unloaded.c <<'END'
#include <dlfcn.h>
#include <stddef.h>

static void nothing(void) { }

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*f)(void (*)(void)) = lib ? (void (*)(void (*)(void)))dlsym(lib, "f") : NULL;

	if (f)
		f(nothing);
	if (lib)
		dlclose(lib);
	return (void *)f;
}

int main(void)
{
	void *a, *b;
	int i;

	for (i = 0; i < 3; i++) {
		a = load("./a.so");
		b = load("./b.so");
		if (!a || a != b)
			return 1;
	}
	return 0;
}
END
echo 'void f(void (*h)(void)) { h(); }' >a.c
echo 'void f(void (*h)(void)) { h(); h(); }' >b.c
if cc -O1 -shared -fPIC -o a.so a.c && cc -O1 -shared -fPIC -o b.so b.c &&
   cc -o unloaded unloaded.c -ldl; then
	recorded unloaded.dep -- ./unloaded
	"$DEPCTL" query paths --function=f --min=0 --json unloaded.dep >json 2>why
	# f() has a block for each call, and the last one.
	is "functions of two files at one address" "$(python3 -c 'import json
rows = [r for r in map(json.loads, open("json")) if "at" in r]
print(sorted((r["at"]["module"][-4:], r["executions"], r["blocks"]) for r in rows))')" \
		"[('a.so', 3, 2), ('b.so', 3, 3)]"
else
	fail "libraries at one address"
fi
finish
