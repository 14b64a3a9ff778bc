#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl report and the queries of profiles: counts compared with naive ones and with known ones,
# the same rows from recordings that were made in other ways, damaged stores.
. "$(dirname "$0")/lib.sh"
need_depctl
cd "$tmp" || exit 1

# compared NAME STORE [known]
compared() {
	local name=$1
	shift
	timeout 120 /usr/bin/python3 "$tests/profiles.py" "$DEPCTL" "$@" >checks 2>why
	status=$?
	while read -r word text; do
		case $word in
		ok) pass "$name: $text" ;;
		FAIL) fail "$name: $text" ;;
		esac
	done <checks
	[ $status -le 1 ] && [ ! -s why ] || fail "$name: status $status: $(tail -n 1 why)"
}

cp "$tests/programs/profile.c" .
if gcc -g -O1 -pthread -fno-optimize-sibling-calls -o profile profile.c; then
	recorded profile.dep -- ./profile && compared profile profile.dep known
else
	fail "compiling profile.c"
fi

# ---- programs ----
text 40000 >words
recorded gzip.dep --ring-size=64K -- gzip -kc words && compared gzip gzip.dep
recorded perl.dep --ring-size=64K -- \
	perl -e 'my %h; $h{$_ % 7} .= $_ for 1..300; print join(",", sort %h)' &&
	compared perl perl.dep

# ---- the same rows ----
cat >same.c <<'END'
#include <string.h>
static volatile int n = 500;
int main(void)
{
	char text[64] = "";
	int i, sum = 0;

	for (i = 0; i < n; i++) {
		text[i % 60] = 'a' + i % 26;
		if (i % 3)
			sum += strlen(text);
		if (i % 5 == 2)
			sum ^= text[i % 7];
	}
	return sum & 1;
}
END
gcc -g -O1 -fno-builtin -static -o same same.c
# rows STORE: all rows that are keyed by code alone
rows() {
	local kind
	for kind in edges blocks pairs calls methods coverage; do
		"$DEPCTL" query $kind --csv "$1" || echo "$kind failed"
	done
	"$DEPCTL" query contexts --min=0 --csv "$1"
	"$DEPCTL" query edges --annotate '*' --csv "$1"
}
recorded_same() {
	recorded "$1" --no-aslr "${@:2}" -- ./same && return
	# The program's own status is 0 or 1.
	[ -e "$1/manifest.json" ]
}
if recorded_same first.dep; then
	rows first.dep >first
	[ "$(wc -l <first)" -gt 100 ] && pass "there are rows" || fail "$(wc -l <first) rows"
	for how in --strict --self-check --ring-size=64K --no-functions --keep-translations; do
		rm -rf other.dep
		recorded_same other.dep $how || continue
		rows other.dep >other
		if cmp -s first other; then
			pass "the same rows with $how"
		else
			fail "$how: $(diff first other | head -n 3 | tr '\n' '|')"
		fi
	done
	for jobs in 1 3; do
		rm -f profile.dep/profile.counts
		"$DEPCTL" query edges --csv --jobs=$jobs profile.dep >one
		rm -f profile.dep/profile.counts
		"$DEPCTL" query edges --csv profile.dep >two
		if cmp -s one two; then pass "--jobs=$jobs"; else fail "--jobs=$jobs"; fi
	done
fi

# ---- kept counters ----
# questions OPTION...: what depctl answers about profile.dep, each from the same counters
questions() {
	local kind
	for kind in edges calls methods pairs coverage blocks "coverage --files" \
		"edges --annotate=main" "methods --inclusive" "methods --per=5ms"; do
		"$DEPCTL" query $kind --json "$@" profile.dep || echo "$kind failed"
	done
	"$DEPCTL" report --json "$@" profile.dep
	[ $# -gt 0 ] || "$DEPCTL" export lcov -o - profile.dep
}
part() {
	cp -a profile.dep/profile.counts kept
	questions "$@" >with
	rm -f profile.dep/profile.counts
	questions "$@" >without
	[ -e profile.dep/profile.counts ] && echo "$* keeps its counts" >>without
	cp -a kept profile.dep/profile.counts
	[ -s with ] && cmp -s with without && pass "the same answers with $*" ||
		fail "$*: $(diff with without | head -n 3 | tr '\n' '|')"
}
rm -f profile.dep/profile.counts
for i in 1 2 3; do
	questions >answers.$i
	[ -e profile.dep/profile.counts ] && pass "answers $i: counters are kept" ||
		fail "answers $i: no counters are kept"
done
grep -q failed answers.1 && fail "$(grep failed answers.1)"
cmp -s answers.1 answers.2 && cmp -s answers.1 answers.3 && pass "the same answers again" ||
	fail "other answers: $(diff answers.1 answers.2 | head -n 3 | tr '\n' '|')"
part --process=1
part --thread="$("$DEPCTL" ls --json profile.dep | grep -o '"tid":[0-9]*' | head -n 1 |
	cut -d : -f 2)"
part --from=1ms
part --to=24h

# ---- kept contexts ----
kept=profile.dep/profile.contexts
# by_contexts COMMAND...: what it says of profile.dep
by_contexts() {
	local stores=(profile.dep)
	[ "$1" = diff ] && stores+=(profile.dep)
	rm -f page
	"$DEPCTL" "$@" "${stores[@]}" || return
	[ ! -e page ] || cat page
}
# Each time that contexts are found, they are kept in a new file.
identity() {
	stat -c '%i %z' $kept 2>&1
}
# of_contexts WHERE: the answers of all commands, in files WHERE.N; `fresh' without kept contexts
of_contexts() {
	local n=0 command
	while read -r command; do
		[ "$1" != fresh ] || rm -f $kept
		n=$((n + 1))
		# shellcheck disable=SC2086
		by_contexts $command >"$1.$n" 2>&1 || fail "$command: $(tail -n 1 "$1.$n")"
		[ -e $kept ] && pass "$command: contexts are kept" ||
			fail "$command keeps no contexts"
	done <<-END
		query contexts --min=0 --json
		query methods --inclusive --json
		report --json
		report --html=page
		diff --contexts --json
		export folded
		export callgrind
		export perfetto
		export firefox
		export chrome
	END
}
of_contexts fresh
rm -f $kept
# The first command needs no rows of time.  A later one does, and replaces the file.
of_contexts mixed
before=$(identity)
of_contexts again
is "contexts are found no more" "$(identity)" "$before"
for how in mixed again; do
	for file in fresh.*; do
		other=$how.${file#fresh.}
		cmp -s "$file" "$other" && pass "$file and $how" ||
			fail "another answer: $(cmp "$file" "$other")"
	done
done
# With counts, contexts are found by one pass less.
rm -f $kept
"$DEPCTL" report profile.dep >/dev/null
by_contexts query contexts --min=0 --json >counted
cmp -s fresh.1 counted && pass "the same contexts with counts" ||
	fail "other contexts with counts: $(cmp fresh.1 counted)"
before=$(identity)
# A part of the recording has other contexts.
for option in --process=1 --to=24h; do
	by_contexts query contexts --min=0 --csv $option >with
	is "$option leaves the file alone" "$(identity)" "$before"
	rm -f $kept
	by_contexts query contexts --min=0 --csv $option >without
	[ -e $kept ] && fail "contexts of $option are kept" ||
		pass "contexts of $option are not kept"
	cmp -s with without && pass "the same contexts with $option" ||
		fail "other contexts with $option"
	by_contexts export chrome >out
	before=$(identity)
done
"$DEPCTL" verify -q profile.dep >out 2>&1 && pass "verify with kept counters" ||
	fail "verify with kept counters: $(tail -n 1 out)"
"$DEPCTL" verify -q --rebuild profile.dep >out 2>&1 && [ ! -e profile.dep/profile.counts ] &&
	[ ! -e $kept ] && pass "verify --rebuild removes them" ||
	fail "verify --rebuild: $(ls profile.dep)"
# A segment that was damaged since is noticed.
rm -rf damaged.dep
cp -r profile.dep damaged.dep
"$DEPCTL" report damaged.dep >out
[ -e damaged.dep/profile.counts ] && pass "counters of the copy" || fail "no counters of the copy"
[ -e damaged.dep/profile.contexts ] && pass "contexts of the copy" ||
	fail "no contexts of the copy"
half=$(($(stat -c %s damaged.dep/segments.000) / 2))
dd if=/dev/zero of=damaged.dep/segments.000 bs=$half seek=1 count=1 conv=notrunc status=none
"$DEPCTL" query edges --csv damaged.dep >out 2>err &&
	fail "damage is not noticed with kept counters" || pass "damage is noticed"
"$DEPCTL" query contexts --csv damaged.dep >out 2>err &&
	fail "damage is not noticed with kept contexts" || pass "damage is noticed with contexts"

# ---- selections ----
main=$("$DEPCTL" ls --json profile.dep | grep -o '"tid":[0-9]*' | head -n 1 | cut -d : -f 2)
# instructions OPTION...: the sum of all functions
instructions() {
	"$DEPCTL" query methods --csv "$@" profile.dep |
		awk -F, 'NR > 1 { n += $2 } END { print n + 0 }'
}
# intervals OPTION...: the same sum over all intervals of 5 ms
intervals() {
	"$DEPCTL" query methods --csv --per=5ms "$@" profile.dep |
		awk -F, 'NR > 1 { n += $3 } END { print n + 0 }'
}
all=$(instructions)
is "--per: intervals have all instructions" "$(intervals)" "$all"
sum=0
for serial in $("$DEPCTL" ls --json profile.dep | grep -o '"thread":[0-9]*' | cut -d : -f 2); do
	tid=$("$DEPCTL" ls --json profile.dep | grep -o "\"thread\":$serial,\"tid\":[0-9]*" |
		cut -d : -f 3)
	sum=$((sum + $(instructions --thread="$tid")))
done
is "the threads have all instructions" "$sum" "$all"
sum=0
for serial in $("$DEPCTL" ls --json profile.dep | grep -o '"process":[0-9]*,"pid"' |
	tr -dc '0-9\n'); do
	sum=$((sum + $(instructions --process="$serial")))
done
is "the processes have all instructions" "$sum" "$all"
is "nothing is recorded after a day" "$(instructions --from=24h)" 0
is "all is recorded within a day" "$(instructions --to=24h)" "$all"
# --per with the other selections: the same sums.
for serial in $("$DEPCTL" ls --json profile.dep | grep -o '"process":[0-9]*,"pid"' |
	tr -dc '0-9\n'); do
	is "--per --process=$serial" "$(intervals --process="$serial")" \
		"$(instructions --process="$serial")"
done
first=$("$DEPCTL" ls --json profile.dep | grep -o '"process":[0-9]*,"pid"' | head -n 1 |
	tr -dc '0-9')
some=$(instructions --thread="$main" --process="$first" --function='o*')
is "--per --thread --process --function" \
	"$(intervals --thread="$main" --process="$first" --function='o*')" "$some"
is "there are such instructions" "$((some > 0))" 1
is "--per and jobs" "$(intervals --jobs=1)" "$(intervals --jobs=3)"
is "--per --from: nothing after a day" "$(intervals --from=24h)" 0
"$DEPCTL" query methods --csv --per=1h --top=2 profile.dep >out
is "--per=1h: one interval" "$(cut -d , -f 1 out | uniq | tr '\n' ' ')" "interval_ns 0 "
"$DEPCTL" query methods --per=1h profile.dep >out
is "--per: the time is exact" "$(awk 'NR == 2 { print $1 }' out)" 0s
# What an error calls the smallest interval is accepted.
if ! "$DEPCTL" query methods --per=1us profile.dep >out 2>err; then
	smallest=$(sed -n 's/.*the smallest possible here is //p' err)
	is "--per=$smallest, the smallest" "$(intervals --per="$smallest")" "$all"
fi
"$DEPCTL" query methods --per=1h profile.dep >out
is "--per ends with complete" "$(tail -n 1 out)" "complete: yes"
"$DEPCTL" query coverage --files --per=1h --json profile.dep >out
grep -q '^{"interval_ns":0,.*profile\.c"}$' out && pass "coverage --files --per" ||
	fail "coverage --files --per: $(head -n 1 out)"
# contexts --per: one interval is the whole, but for contexts of a forked child's parent in which
# the child executed nothing; the same selections.
for min in 0 1%; do
	"$DEPCTL" query contexts --csv --per=1h --min=$min profile.dep | cut -d , -f 2- >out
	"$DEPCTL" query contexts --csv --min=$min profile.dep |
		awk -F, '$5 != 0 || $8 != 0' >whole
	[ "$(wc -l <out)" -gt 5 ] && cmp -s out whole &&
		pass "contexts --per=1h --min=$min has the rows of the whole" ||
		fail "contexts --per=1h: $(diff out whole | head -n 3 | tr '\n' '|')"
done
# context_intervals OPTION...: the instructions of all contexts and intervals of 5 ms
context_intervals() {
	"$DEPCTL" query contexts --csv --per=5ms --min=0 "$@" profile.dep |
		awk -F, 'NR > 1 { n += $7 } END { print n + 0 }'
}
is "contexts --per: intervals have all instructions" "$(context_intervals)" "$all"
for option in --process="$first" --thread="$main" --from=1ms --to=6ms --from=24h; do
	is "contexts --per $option" "$(context_intervals $option)" "$(instructions $option)"
done
"$DEPCTL" query contexts --csv --per=5ms --min=0 --jobs=1 profile.dep >out
"$DEPCTL" query contexts --csv --per=5ms --min=0 --jobs=3 profile.dep >other
[ -s out ] && cmp -s out other && pass "contexts --per and jobs" || fail "contexts --per and jobs"
"$DEPCTL" query contexts --json --per=5ms --min=0 --function=inner profile.dep >out
grep '"function":"inner","file":[^}]*}}$' out >inner
# Callers are printed in the intervals of the function only.
is "contexts --per --function: no interval without it" \
	"$(grep -o '"interval_ns":[0-9]*' out | sort -u)" \
	"$(grep -o '"interval_ns":[0-9]*' inner | sort -u)"
is "contexts --per --function has all of its calls" \
	"$(sed 's/.*"calls":\([0-9]*\).*/\1/' inner | awk '{ n += $1 } END { print n }')" 1000
"$DEPCTL" query contexts --csv --per=5ms --top=2 profile.dep >out
is "contexts --per --top: of each interval" \
	"$(tail -n +2 out | cut -d , -f 1 | uniq -c | awk '$1 != 2' | wc -l)" 0
"$DEPCTL" query contexts --per=1h profile.dep >out
is "contexts --per: the time is exact" "$(awk 'NR == 2 { print $1 }' out)" 0s
is "contexts --per ends with complete" "$(tail -n 1 out)" "complete: yes"
"$DEPCTL" query contexts --per=1us profile.dep >out 2>err && smallest=1us ||
	smallest=$(sed -n 's/.*--per: .*the smallest possible here is //p' err)
is "contexts --per=$smallest, the smallest" "$("$DEPCTL" query contexts --csv --min=0 \
	--per="$smallest" profile.dep | awk -F, 'NR > 1 { n += $7 } END { print n + 0 }')" "$all"
is "--top" "$("$DEPCTL" query methods --top=3 --csv profile.dep | wc -l)" 4
objcopy --redefine-sym inner='in[n]er' profile brackets && recorded brackets.dep -- ./brackets
is "a name with brackets matches itself" \
	"$("$DEPCTL" query methods --function='in[n]er' --csv brackets.dep | wc -l)" 2
is "--function" "$("$DEPCTL" query methods --function='inn?r' --csv profile.dep | wc -l)" 2
is "text ends with complete" "$("$DEPCTL" query methods profile.dep | tail -n 1)" "complete: yes"
"$DEPCTL" query edges --thread="$((main + 100000))" profile.dep >out 2>err
is "no such thread" "$?" 1
"$DEPCTL" query edges --annotate=no_such_function profile.dep >out 2>err
is "no such function" "$?" 1

# ---- the report ----
"$DEPCTL" report profile.dep >report 2>err || fail "report: $(head -n 1 err)"
is "the report fits 100 columns" "$(awk 'length > 100' report | wc -l)" 0
[ "$(wc -l <report)" -le 50 ] && pass "the report fits a screen" || fail "$(wc -l <report) lines"
for part in '^complete: yes$' FUNCTIONS LOOPS PROCESSES THREADS TIME NEXT; do
	grep -q "$part" report && pass "report: $part" || fail "report: no $part"
done
is "no contexts between several processes" "$(grep -c '^CONTEXTS' report)" 0
"$DEPCTL" report --process=1 profile.dep >one
is "the hottest context" "$(awk '/^CONTEXTS/ { getline; print $2, $5 }' one)" \
	"$("$DEPCTL" query contexts --csv --min=0 --process=1 profile.dep | sed 1d |
		sort -t, -k6,6nr | awk -F, 'NR == 1 { print $8, $(NF - 2) }')"
is "five contexts" "$(sed -n '/^CONTEXTS/,/^$/p' one | grep -c '%.* < ')" 5
is "it fits 100 columns" "$(awk 'length > 100' one)" ""
[ "$(wc -l <one)" -le 50 ] && pass "it fits a screen" || fail "$(wc -l <one) lines"
# Each command that the report gives works.
sed -n '/^NEXT/,$ s/^  .* depctl /depctl /p' report >next
is "the report names commands" "$(($(wc -l <next) >= 4))" 1
while read -r command; do
	# One writes a page instead of printing.
	file=out
	[[ $command != *--html* ]] || file=report.html
	if eval "${command/#depctl/\"\$DEPCTL\"}" >out 2>err && [ -s $file ]; then
		pass "$command"
	else
		fail "$command: $(head -n 1 err)"
	fi
done <next
recorded both.dep --report -- ./profile
grep -q '^FUNCTIONS' err && pass "record --report" || fail "record --report: $(head -n 3 err)"

# ---- more calls than fit into memory ----
cat >deep.c <<'END'
static volatile int one = 1;
__attribute__((noinline, noclone)) static int down(int n)
{
	return n ? down(n - one) + one : 0;
}
int main(void)
{
	return down(3000000) != 3000000;
}
END
gcc -O1 -fno-optimize-sibling-calls -o deep deep.c
if ! (ulimit -s unlimited) 2>/dev/null; then
	skip "the stack cannot be as large as the recursion needs"
elif ! (ulimit -s unlimited && recorded deep.dep -- ./deep); then
	fail "recording deep.dep: $(tail -n 1 err)"
else
	for command in report "query methods --inclusive" "query contexts --top=5" \
		"export folded"; do
		"$DEPCTL" $command deep.dep >out 2>err
		is "$command: status with too many calls" "$?" 1
		cat out err | grep -q 'calls did not fit into memory' && pass "$command says so" ||
			fail "$command: $(tail -n 1 out | cut -c 1-100)"
	done
	[ -e deep.dep/profile.contexts ] && fail "contexts are kept without all calls" ||
		pass "contexts without all calls are not kept"
	"$DEPCTL" query contexts --memory=2G --json --min=0 deep.dep 2>err | tail -n 1 >out
	grep -q '"complete":true' out && pass "with more memory all calls fit" ||
		fail "contexts --memory: $(cat out err)"
	rm -f deep.dep/profile.contexts
	"$DEPCTL" report deep.dep >out
	sed -n '/^FUNCTIONS/,/^$/p' out | grep -q 'incl is not exact' &&
		pass "the report says so next to the counts" || fail "incl: $(head -n 4 out)"
	"$DEPCTL" query methods --json deep.dep | tail -n 1 | grep -q '"complete":true' &&
		pass "counts of functions alone are complete" || fail "query methods"
	rm -rf deep.dep
fi

# ---- damaged stores ----
size=$(stat -c %s perl.dep/segments.000)
# damaged NAME FILE COMMAND...: COMMAND changes FILE of a copy.  What is printed is called
# incomplete, or it is what the store had before: values of references are not read.
damaged() {
	local name=$1 file=$2
	shift 2
	rm -rf bad.dep
	cp -r perl.dep bad.dep
	"$@" "bad.dep/$file"
	cmp -s "perl.dep/$file" "bad.dep/$file" && fail "$name: nothing has changed"
	for command in report "query methods" "query edges" "query coverage" "query contexts"; do
		timeout 60 "$DEPCTL" $command bad.dep >out 2>err
		status=$?
		if [ $status -eq 1 ] && { grep -q '^complete: no: ' out || [ -s err ]; }; then
			pass "$name: $command"
		elif [ $status -eq 0 ] && [ -n "$harmless" ] && "$DEPCTL" $command perl.dep |
			sed 's/perl\.dep/bad.dep/' | cmp -s - out; then
			pass "$name: $command has no damage"
		else
			fail "$name: $command: status $status: $(tail -n 1 out)"
		fi
	done
}
# Values of references are in the middle of the file, control flow behind the segment's header.
zeros() {
	dd if=/dev/zero of="$1" bs=512 seek="$at" count=2 conv=notrunc status=none
}
harmless=
damaged "truncated" segments.000 truncate -s $((size * 2 / 3))
damaged "no code" fragments truncate -s 0
at=1
damaged "zeros in the control flow" segments.000 zeros
harmless=1
at=$((size / 512 / 2))
damaged "zeros in the middle" segments.000 zeros
finish
