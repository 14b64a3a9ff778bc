#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl export to chrome, firefox, perfetto and perf-script: their readers find the exact counts,
# by thread and function.
. "$(dirname "$0")/lib.sh"
need_depctl
python=/usr/bin/python3
npm=$build/npm/node_modules
cd "$tmp" || exit 1

# passes NAME COMMAND...: the command succeeds
passes() {
	local name=$1
	shift
	if timeout 240 "$@" >out 2>err </dev/null; then
		pass "$name"
	else
		fail "$name: $(cat out err | tail -n 2 | tr '\n' ' ' | cut -c 1-300)"
		return 1
	fi
}

# compare WHAT ARGUMENT...: what tests/export_viewers.py compares
compare() {
	passes "$1 of $store${2:+: $2}" $python "$tests/export_viewers.py" "$1" "${@:3}"
}

# export_to FORMAT FILE OPTION...
export_to() {
	passes "$1 of $store ${*:3}" "$DEPCTL" export "$1" "$store.dep" -o "$2" "${@:3}"
}

# record STORE COMMAND...: with small rings, which make more segments
record() {
	store=$1
	clean timeout 120 "$DEPCTL" record -q --no-aslr --ring-size=256K -o "$1.dep" -- "${@:2}" \
		>printed 2>err || {
		fail "recording ${*:2}: $(tail -n 1 err)"
		finish
	}
	$python "$tests/export_viewers.py" expect "$DEPCTL" "$1.dep" "$1.expected" >out 2>&1 || {
		fail "depctl query contexts of $1: $(tail -n 1 out)"
		finish
	}
}

# The number of instructions in the text of perf script
events() {
	awk '$NF == "instructions:u:" { n += $(NF - 1) } END { print n + 0 }' "$1"
}

# decode FILE: FILE.txt is what protoc reads in Perfetto's format
decode() {
	have protoc && passes "protoc --decode $1" sh -c 'protoc --proto_path="$1" \
		--decode=perfetto.protos.Trace perfetto.proto <"$2" >"$2.txt"' sh "$tests" "$1"
}

cp "$tests/programs/viewed.c" . && gcc -O0 -g -pthread -o viewed viewed.c || {
	fail "viewed.c does not compile"
	finish
}
# line FUNCTION: that of its first instruction, the opening bracket
line() {
	grep -n "static .* $1(" viewed.c | awk -F : '{ print $1 + 1 }'
}


# all_formats STORE [FUNCTION LINE]: the formats' rules, and sums, as read by the Python here
all_formats() {
	export_to chrome "$1.chrome" && compare chrome "" "$1.chrome" "$1.expected" "${@:2}"
	export_to chrome "$1.counted" --axis=instructions &&
		compare chrome "by instructions" "$1.counted" "$1.expected"
	export_to firefox "$1.firefox" &&
		compare firefox "" "$1.firefox" "$1.expected" "${@:2}"
	export_to perf-script "$1.perf" && compare perf-script "" "$1.perf" "$1.expected"
	export_to perfetto "$1.perfetto" && decode "$1.perfetto" &&
		compare perfetto "" "$1.perfetto.txt" "$1.expected"
}

record threads ./viewed
is "the program has several segments" \
	"$(("$("$DEPCTL" dump --segments threads.dep | wc -l)" > 8))" 1
all_formats threads fib "$(line fib)"

is "perfetto: the build-id is binary" "$($python -c 'import sys
print(bytes.fromhex(sys.argv[1]) in open("threads.perfetto", "rb").read())' \
	"$(readelf -n viewed | sed -n 's/.*Build ID: //p')")" True

# A program without line numbers.
record perl perl -e 'sub f { my $n = shift; $n < 2 ? $n : f($n - 1) + f($n - 2) }
	f(9); eval { die } for 1..20; print sort { $a <=> $b } 3, 1, 2'
all_formats perl

# ---- the viewers themselves ----

cli=$npm/@firefox-devtools/profiler-cli/dist/profiler-cli.js
if node "$cli" --version >out 2>&1; then
	for store in threads perl; do
		HOME=$tmp compare profiler-cli "" "$cli" $store.firefox
	done
else
	skip "the Firefox Profiler: npm's @firefox-devtools/profiler-cli or node is not installed"
fi

store=threads
page=$npm/speedscope/dist/release/index.html
if [ -e "$page" ] && command -v chromium >/dev/null; then
	compare speedscope "" "$page" . threads.expected threads.counted instructions.json \
		threads.chrome time.json threads.perf time.linux-perf.txt
else
	skip "speedscope: npm's speedscope or chromium is not installed"
fi

# ---- deep stacks, and parts of a profile ----

record deep ./viewed 1200
total=$("$DEPCTL" info --json deep.dep | sed 's/.*"total"//' |
	grep -o '"instructions":[0-9]*' | cut -d : -f 2)
store=deep
export_to chrome deep.chrome && compare chrome "" deep.chrome deep.expected
export_to firefox deep.firefox && compare firefox "" deep.firefox deep.expected deep \
	"$(line deep)"
export_to perf-script deep.perf
is "perf-script: instructions of deep stacks" "$(events deep.perf)" "$total"
is "perf-script: frames of the deepest stack" \
	"$(awk '/^\t/ { n++ } /^$/ { if (n > most) most = n; n = 0 } END { print most }' \
		deep.perf)" 1001
is "perf-script: frames are left out once in a stack" "$(awk '/frames left out/ { n++ }
	/^$/ { if (n > most) most = n; n = 0 } END { print most }' deep.perf)" 1
export_to perfetto deep.perfetto && decode deep.perfetto &&
	is "perfetto: instructions of deep stacks" \
		"$(awk '$1 == "primary_weight:" { n += $2 } END { print n }' deep.perfetto.txt)" \
		"$total"

store=threads
fib=$("$DEPCTL" query methods --json --function=fib threads.dep |
	grep -o '"instructions":[0-9]*' | head -n 1 | cut -d : -f 2)
export_to perf-script part.perf --function=fib
is "perf-script --function" "$(events part.perf)" "$fib"
tid=$("$DEPCTL" ls --json threads.dep | grep -o '"tid":[0-9]*' | tail -n 1 | cut -d : -f 2)
export_to perf-script part.perf --thread "$tid"
is "perf-script --thread" "$(sed -n 's,^[^\t]*/\([0-9]*\) .*,\1,p' part.perf | sort -u)" "$tid"
is "perf-script --thread: instructions" "$(events part.perf)" \
	"$("$DEPCTL" export folded threads.dep --thread "$tid" |
		awk '{ n += $NF } END { print n }')"

# ---- names ----

# A thread's name cannot end a field or a line, or begin a comment.
cat >named.c <<'END'
#include <pthread.h>

static void *thread(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	return 0;
}

int main(void)
{
	static char *name[] = { "#1 2/3 4.5: (a)", " \n\t\"\\", "\033[31m\377" };
	pthread_t t;
	int i;

	for (i = 0; i < 3; i++)
		if (pthread_create(&t, 0, thread, name[i]) || pthread_join(t, 0))
			return 1;
	return 0;
}
END
gcc -O0 -D_GNU_SOURCE -pthread -o 'a program (1)' named.c && record named './a program (1)'
all_formats named
cat >words <<'END'
?[31m?
_1_2/3_4.5:__a_
_?_"\
a_program__1_
END
is "perf-script: names of threads are words" "$(sed -n 's/^\([^\t ]*\)  .*/\1/p' named.perf |
	LC_ALL=C sort -u | diff words -)" ""

# ---- arguments ----

# refuses PATTERN ARGUMENT...
refuses() {
	"$DEPCTL" export "${@:2}" >out 2>err </dev/null
	is "depctl export ${*:2}" "$? $(grep -Ec -- "$1" err) $(wc -c <out)" "2 1 0"
}

refuses "chrome has no --weight" chrome threads.dep --weight=calls
refuses "firefox has no --axis" firefox threads.dep --axis=instructions
refuses "must be time or instructions" chrome threads.dep --axis=calls
is "perfetto is not written to a terminal" \
	"$($python "$tests/pty_run.py" 80 "$DEPCTL" export perfetto threads.dep 2>&1 |
		grep -c 'is not text: give a file by -o')" 1
finish
