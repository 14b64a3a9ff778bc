#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `record --self-check` stores every address register, and recovery compares each with the value
# that it derives; then `verify`. LONG=1 adds the large programs.  Arguments name the cases to run
# (default: all).
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
wanted=" $* "
limit=${LIMIT:-1200}

# killed_only: except for its last line, verify reported only killed threads
killed_only() {
	[ "$(grep -vc '^loss: [0-9]* threads* w[a-z]* killed: up to one' "$tmp/verify")" -eq 1 ]
}

# checked NAME COMMAND...: record with $options; $kills: the command kills its child processes
checked() {
	name=$1
	shift
	[ "$wanted" = "  " ] || case $wanted in *" $name "*) ;; *) return ;; esac
	have "$1" || return
	rm -rf "$tmp/dep"
	(cd "$tmp" && timeout "$limit" "$DEPCTL" record -q --self-check $options -o dep -- "$@") \
		<"${input:-/dev/null}" >"$tmp/out" 2>"$tmp/err"
	status=$?
	if [ $status -ne "${expect:-0}" ]; then
		fail "$name: exit status $status: $(tail -n 2 "$tmp/err")"
	elif ! timeout "$limit" "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1 &&
	     ! { [ "${kills:-}" ] && killed_only; }; then
		fail "$name: verify: $(tail -n 3 "$tmp/verify")"
	else
		pass "$name: $(tail -n 1 "$tmp/verify")"
	fi
}

size=100000
lines=20000
rows=20000
[ "$LONG" = 1 ] && size=5000000 lines=500000 rows=1000000
text $size >"$tmp/text"
numbers $lines >"$tmp/numbers"

options=
for name in $(programs .); do
	checked "$name" "$build/programs/$name"
done
# With small chunks, signals arrive in every state.
options=--ring-size=64K
for name in signals_timer signals_race signals_threads signals_locked gs_base; do
	checked "$name-small" "$build/programs/$name"
done
checked signals_rep-small "$build/programs/signals_rep" \
	"$([ "$LONG" = 1 ] && echo 200000 || echo 10000)"
# Threads wait for the slots of ended threads.
options=--ring-size=1G
checked churn-few-slots "$build/programs/thread_churn" 2000
options=
checked churn "$build/programs/thread_churn" "$([ "$LONG" = 1 ] && echo 10000 || echo 1000)"
checked gzip gzip -9 -c text
checked bzip2 bzip2 -c text
checked xz xz -6 -c text
checked perl perl -ne '$h{$_}++ for split; END { print "$_ $h{$_}\n" for sort keys %h }' text
checked awk mawk '{ for (i = 1; i <= NF; i++) w[$i]++ } END { for (k in w) print k, w[k] }' text
checked sort sort -n numbers
checked pigz pigz -p2 -c text
checked zstd zstd -T2 -q -c text
checked sqlite3 sqlite3 :memory: "create table t(a, b);
	with recursive c(n) as (select 1 union all select n + 1 from c where n < $rows)
	insert into t select n, n * 7919 % 10007 from c;
	create index i on t(b); select sum(a), b from t group by b % 10"
checked luajit luajit -e 'local t = {}
	for i = 1, 2e6 do t[i % 1000] = (t[i % 1000] or 0) + i end print(t[7])'
checked python3 /usr/bin/python3 -S -c 'import json, re
d = json.dumps({str(i): [i] * 5 for i in range(3000)})
print(len(re.findall("[0-9]+", d)))'

# c_file FUNCTIONS
c_file() {
	awk -v n="$1" 'BEGIN {
		print "#include <stdio.h>"
		for (i = 0; i < n; i++) {
			printf "int f%d(int x) { switch (x %% 7) { case 0: return x * %d; ", i, i
			printf "case 1: return x + f%d(x / 2); ", i ? i - 1 : 0
			print "default: return printf(\"%d\", x); } }"
		}
		print "int main(void) { return f" n - 1 "(12); }"
	}'
}

# verdicts OUTPUT: results of a run of python3 -m test, without times and addresses
verdicts() {
	grep -E '^((FAIL|ERROR|UNEXPECTED SUCCESS): |Ran [0-9]+ test|Tests result: )' "$1" |
		sed 's/ in [0-9.]*s$//' | sort
}

# python_test NAME: run one of Python's own tests; its verdicts equal those of a native run. The
# tests need signals that a shell ignores in background commands.
python_test() {
	[ "$wanted" = "  " ] || case $wanted in *" python3-$1 "*) ;; *) return ;; esac
	if ! /usr/bin/python3 -c "import test.$1" 2>/dev/null; then
		skip "python3-$1: libpython3.11-testsuite is not installed"
		return
	fi
	(cd "$tmp" && timeout "$limit" env --default-signal /usr/bin/python3 -m test -v "$1") \
		</dev/null >"$tmp/native" 2>&1
	expect=$?
	checked "python3-$1" env --default-signal /usr/bin/python3 -m test -v "$1"
	expect=0
	verdicts "$tmp/native" >"$tmp/verdicts1"
	cat "$tmp/out" "$tmp/err" >"$tmp/both"
	verdicts "$tmp/both" >"$tmp/verdicts2"
	if diff "$tmp/verdicts1" "$tmp/verdicts2" >"$tmp/diff"; then
		pass "python3-$1 finds what it finds natively: $(grep Ran "$tmp/verdicts1")"
	else
		fail "python3-$1: other than natively: $(head -n 3 "$tmp/diff")"
	fi
}

# redis: start a server, run a client, and ask the server to exit
redis() {
	# shellcheck disable=SC2016
	checked redis sh -c 'redis-server --port 0 --unixsocket s --save "" --daemonize no >log &
		i=0; while [ ! -S s ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done
		redis-benchmark -s s -n 2000 -c 10 -q >bench
		redis-cli -s s shutdown nosave; wait'
}

scene() {
	cat <<-'END'
	camera { location <0, 2, -5> look_at 0 }
	light_source { <5, 8, -6> 1 }
	sphere { 0, 1 pigment { rgb <1, 0.4, 0.2> } finish { reflection 0.3 } }
	plane { y, -1 pigment { checker rgb 1 rgb 0.2 } }
	END
}

if [ "$LONG" = 1 ]; then
	for t in test_json test_re test_threading test_signal; do
		python_test $t
	done
	kills=1
	python_test test_subprocess
	kills=
	c_file 400 >"$tmp/large.c"
	checked gcc gcc -O2 -c -o large.o large.c
	have redis-server && redis
	scene >"$tmp/scene.pov"
	checked povray povray -D +W80 +H60 +Iscene.pov +Oscene.png
fi
finish
