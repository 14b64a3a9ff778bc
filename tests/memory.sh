#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Memory: what a recorded program has resident at most is what it has natively, 4 times
# the code that it touched, and 32 MiB, its ring of default size among them; a small one that
# fills no chunk 2 MiB.
#
# The peak is the kernel's (ru_maxrss): anonymous, file and shared memory of the process,
# so the engine's heap and code cache, its descriptor ring and the rings of its threads
# are in it.  Touched code are the different bytes of the executed instructions, taken
# of code as of the rest, resident are whole pages.
. "$(dirname "$0")/lib.sh"
need_depctl
wanted=" $* "
gcc -O2 -static -Wall -Wextra -o "$build/peak" "$tests/programs/peak.c" || exit 1

# within NAME COMMAND...
within() {
	name=$1
	shift
	[ "$wanted" = "  " ] || case $wanted in *" $name "*) ;; *) return ;; esac
	have "$1" || return
	rm -rf "$tmp/dep"
	cd "$tmp" || exit 1
	if ! "$build/peak" native "$@" >out1 2>err </dev/null ||
	   ! timeout 600 "$DEPCTL" record -q -o dep -- "$build/peak" recorded "$@" \
		>out2 2>err </dev/null ||
	   ! "$build/tests/touched" dep >touched 2>err; then
		fail "$name: $(tail -n 1 err)"
		return
	fi
	read -r bytes pages <touched
	result=$(awk -v native="$(cat native)" -v recorded="$(cat recorded)" -v bytes="$bytes" \
		-v pages="$pages" -v more="$more" 'BEGIN {
		code = bytes / 1024
		limit = native + 4 * pages + more
		printf "%d KiB natively, %d KiB recorded, ", native, recorded
		printf "%d KiB of code touched on %d KiB of pages; limit %d KiB\n",
			code, pages, limit
		exit recorded > limit
	}') && pass "$name: $result" || fail "$name: $result"
}

lines=50000
text 300000 >"$tmp/text"
more=2048
within true /bin/true
more=32768
within gzip gzip -9 -c text
within perl perl -ne '$h{$_}++ for split; END { print "$_ $h{$_}\n" for sort keys %h }' text
within sqlite3 sqlite3 :memory: "create table t(a, b);
	with recursive c(n) as (select 1 union all select n + 1 from c where n < $lines)
	insert into t select n, n * 7919 % 10007 from c;
	create index i on t(b); select sum(a), b from t group by b % 10"
within python3 /usr/bin/python3 -S -c 'import json, re
print(len(re.findall("[0-9]+", json.dumps([[i] * 5 for i in range(3000)]))))'
if [ "$LONG" = 1 ]; then
	awk 'BEGIN { for (i = 0; i < 30; i++) {
		printf "int f%d(int x) { int y = %d; ", i, i
		printf "while (x-- > y) y += x %% 7 ? x / 3 : f%d(x / 2); return y; }\n", i
	} }' >"$tmp/some.c"
	within gcc "$(gcc -print-prog-name=cc1)" -quiet -O2 some.c -o some.s
fi
finish
