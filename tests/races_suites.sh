#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Adept on the tests of other detectors, compared with these: races_suites.sh [tsan] [valgrind]
# [archer]
#
# The tests are fetched from Debian's source packages (SOURCES keeps these) and built plainly,
# "gcc -O1 -g -pthread"; TOOLS says which of adept, helgrind, drd and tsan are asked.  For tsan
# they are compiled again by clang, OpenMP's with Archer.  Some create threads without end, so
# all run as a user that may have some hundred, and for 20 seconds.
. "$(dirname "$0")/lib.sh"
. "$tests/races/cases.sh"
have python3 && have gcc && have g++ && have apt-get || finish
suites=$tests/races/suites
src=$tmp/sources
wanted=" ${*:-tsan valgrind archer} "
TOOLS=${TOOLS:-adept helgrind drd tsan}
limit=${LIMIT:-20}
processes=800
archer=$(clang -print-resource-dir 2>/dev/null)/../../libarcher.so

# there TOOL: is it installed?
there() {
	case $1 in
	adept) "$DEPCTL" query races --help >/dev/null 2>&1 ;;
	tsan) command -v clang >/dev/null ;;
	*) command -v valgrind >/dev/null ;;
	esac
}

# limited COMMAND...: run it in its own directory; if this is root, as another user, since limits do
# not apply to root
limited() {
	local as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	(cd "$dir" && exec timeout -s KILL $((limit + 10)) "${as[@]}" bash -c \
		'ulimit -c 0; ulimit -u "$0"; exec timeout -k 3 "$@"' "$processes" "$limit" "$@")
}

# compile PROGRAM SOURCE SUITE COMPILER FLAG...
compile() {
	local program=$1 source=$2 suite=$3 cc=$4 plus=
	shift 4
	[ "${source%.cpp}" = "$source" ] || plus=++
	[ $cc = clang ] || plus=${plus:+x}
	[ "$plus" != x ] || { cc=g++ plus=; }
	[ "$suite" != archer ] && ! grep -q '#pragma omp' "$source" || set -- "$@" -fopenmp
	timeout 120 $cc$plus -O1 -g -w -pthread -D_GNU_SOURCE -I"$src" -I"$src/archer" "$@" \
		-o "$program" "$source" -lm -ldl -lrt >"$program.err" 2>&1
}

# ask TOOL ARGS OMP: run the tool; its report is in $dir/TOOL.out.  Returns the program's status.
ask() {
	local tool=$1 args=$2 status options=--history-level=full
	case $tool in
	adept)
		# shellcheck disable=SC2086
		limited "$DEPCTL" record -q -o store -- ./plain $args >"$dir/run" 2>&1
		status=$?
		timeout 120 "$DEPCTL" query races "$dir/store" --json >"$dir/adept.out" \
			2>"$dir/adept.err" || rm -f "$dir/adept.out"
		;;
	tsan)
		# shellcheck disable=SC2086
		TSAN_OPTIONS="exitcode=0 history_size=7 ignore_noninstrumented_modules=$3" \
			OMP_TOOL_LIBRARIES=$archer limited ./tsan $args >"$dir/tsan.out" 2>&1
		status=$?
		! grep -q 'FATAL: ThreadSanitizer' "$dir/tsan.out" || rm "$dir/tsan.out"
		;;
	*)
		[ "$tool" = helgrind ] || options=--check-stack-var=yes
		# shellcheck disable=SC2086
		limited valgrind --tool="$tool" $options --fair-sched=try ./plain $args \
			>"$dir/$tool.out" 2>&1
		status=$?
		;;
	esac
	return $status
}

# tried NUMBER: run all tools for a case, with a line for each
tried() {
	local suite name source args tool ended status omp=0
	IFS=$'\t' read -r suite name _ _ source args < <(sed -n "${1}p" "$tmp/list")
	[ "$args" != - ] || args=
	[ "$suite" != archer ] && ! grep -q '#pragma omp' "$source" || omp=1
	dir=$tmp/case.$1
	mkdir -m 777 "$dir"
	if ! compile "$dir/plain" "$source" "$suite" gcc; then
		printf '%s\t%s\tout\n' "$suite" "$name"
		rm -rf "$dir"
		return
	fi
	for tool in $TOOLS; do
		if [ $tool = tsan ]; then
			compile "$dir/tsan" "$source" "$suite" clang -fsanitize=thread || continue
		fi
		ask "$tool" "$args" $omp
		status=$?
		ended=ended
		case $status in
		124 | 137) ended=late ;;
		esac
		printf '%s\t%s\t%s\t%s\t' "$suite" "$name" $tool $ended
		python3 "$suites/reports.py" $tool "$source" "$dir/$tool.out" | tr ' ' '\t'
	done
	rm -rf "$dir"
}

# gate WHAT LEAST GOOD BAD: is GOOD at least LEAST thousandths of both together?
gate() {
	local what=$1 least=$2 good=$3 bad=$4
	if [ $((good + bad)) = 0 ]; then
		skip "$what: nothing to judge"
	elif [ $((good * 1000)) -ge $(((good + bad) * least)) ]; then
		pass "$what: $good of $((good + bad))"
	else
		fail "$what: $good of $((good + bad)), less than $least of 1000"
	fi
}

# sum KEY SUITE...: print Adept's sum in the table
sum() {
	local key=$1
	shift
	awk -v key="$key" -v suites=" $* " '$1 == "count" && $3 == key &&
		index(suites, " " $2 " ") { n += $4 } END { print n + 0 }' "$tmp/table"
}

for tool in $TOOLS; do
	there "$tool" && present="${present:-}$tool " || skip "$tool is absent"
done
TOOLS=$present
chmod 711 "$tmp"
if ! "$suites/fetch.sh" "$src" >"$tmp/fetch" 2>&1; then
	skip "the sources cannot be had: $(tail -n 1 "$tmp/fetch")"
	finish
fi
for suite in tsan archer; do
	[[ $wanted != *" $suite "* ]] || python3 "$suites/list_llvm.py" $suite "$src/$suite"
done >"$tmp/list"
[[ $wanted != *" valgrind "* ]] || python3 "$suites/list_valgrind.py" "$src" >>"$tmp/list"
workers tried < <(awk -F '\t' '$3 != "out" { print NR }' "$tmp/list")
cat "$tmp"/lines.* >"$tmp/results"
# cases that do not compile as plain programs have no verdict
awk -F '\t' -v OFS='\t' 'NR == FNR { if ($3 == "out") out[$1, $2] = 1; next }
	($1, $2) in out { $3 = "out"; $4 = "does not compile here" } { print }' \
	"$tmp/results" "$tmp/list" >"$tmp/races-suites.cases"
awk -F '\t' 'NF == 6' "$tmp/results" >"$tmp/races-suites.results"
python3 "$suites/table.py" "$tmp/races-suites.cases" "$tmp/races-suites.results" >"$tmp/table"
mkdir -p "$build/log"
cp "$tmp/races-suites.cases" "$tmp/races-suites.results" "$build/log"
grep -v '^count ' "$tmp/table"
grep -vE '^(tsan|valgrind|archer)	' "$tmp/results" | head -n 20

echo
for suite in $wanted; do
	n=$(grep -c "^$suite	.*	\(race\|free\)	" "$tmp/races-suites.cases")
	[ "$n" -ge 25 ] && pass "$suite: $n cases" || fail "$suite: only $n cases"
done
if [[ " $TOOLS" = *" adept "* ]]; then
	gate "precision with threads" 970 "$(sum TP tsan valgrind)" "$(sum FP tsan valgrind)"
	gate "recall with threads" 850 "$(sum TP tsan valgrind)" "$(sum FN tsan valgrind)"
	gate "precision with libgomp" 950 "$(sum TP archer)" "$(sum FP archer)"
	gate "the right line" 950 "$(sum right tsan valgrind archer)" \
		"$(sum elsewhere tsan valgrind archer)"
	gate "no false report on descriptors, signals, once and atomics" 1000 1 \
		"$(sum strict tsan valgrind)"
	gate "an answer for each" 1000 1 "$(sum none tsan valgrind archer)"
fi
finish
