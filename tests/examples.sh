#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs of examples/, built against the installed library with pkg-config, and their figures.
. "$(dirname "$0")/lib.sh"
need_depctl
have pkg-config && have python3 || finish
if [ "$(basename "$build")" != build ]; then
	skip "examples: the sanitizers must come first in a program"
	finish
fi
sh "$tests/oracle/build.sh" "$build" || exit 1
dest=$tmp/dest
libdir=$dest/opt/lib
if ! make -s -C "$top" DESTDIR="$dest" PREFIX=/opt install >"$tmp/log" 2>&1; then
	fail "make install: $(tail -n 1 "$tmp/log")"
	finish
fi
cp -r "$top/examples" "$tmp/examples"
if PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest \
	make -s -C "$tmp/examples" CFLAGS="-O2 -Werror" >"$tmp/log" 2>&1; then
	pass "they compile"
else
	fail "they do not compile: $(head -n 3 "$tmp/log")"
	finish
fi

example() {
	name=$1
	shift
	LD_LIBRARY_PATH=$libdir "$tmp/examples/$name" "$@"
}

prog=$tmp/analyzed
gcc -O1 -no-pie -o "$prog" "$tests/programs/analyzed.c" || exit 1
clean "$DEPCTL" record --alone -q -o "$tmp/p.dep" -- "$prog" || fail "recording: status $?"

# References by function: nm has the functions, the single-step oracle the references.
# by_function PROGRAM: "COUNT FUNCTION" of the references in $tmp/refs, whose second field is
# the address
by_function() {
	nm -S --defined-only "$1" >"$tmp/nm"
	python3 - "$tmp/nm" "$tmp/refs" <<-'END'
	import bisect, collections, sys
	rows = (line.split() for line in open(sys.argv[1]))
	functions = sorted((int(r[0], 16), int(r[1], 16), r[3]) for r in rows
	                   if len(r) == 4 and r[2] in "tT")
	count = collections.Counter()
	for line in open(sys.argv[2]):
	    pc = int(line.split()[1], 16)
	    i = bisect.bisect(functions, (pc, 1 << 64)) - 1
	    if i >= 0 and pc < functions[i][0] + functions[i][1]:
	        count[functions[i][2]] += 1
	for name in sorted(count):
	    print(count[name], name)
	END
}

(cd "$tmp" && clean "$oracle" -o refs -- "$prog") || fail "oracle: status $?"
by_function "$prog" | sort >"$tmp/want"
example refs "$tmp/p.dep" >"$tmp/out" 2>"$tmp/err" || fail "refs: $(cat "$tmp/err")"
while read -r count name; do
	awk -v p="$prog" -v f="$name" '$2 == f && $3 == p { print $1, $2 }' "$tmp/out"
done <"$tmp/want" | sort >"$tmp/got"
if cmp -s "$tmp/want" "$tmp/got" && grep -qx '2002 fill' "$tmp/got"; then
	pass "refs: $(wc -l <"$tmp/got") functions, as the oracle counts"
else
	fail "refs: $(tr '\n' ' ' <"$tmp/got") instead of $(tr '\n' ' ' <"$tmp/want")"
fi
total=$(clean "$DEPCTL" dump --refs "$tmp/p.dep" | wc -l)
got=$(awk '{ n += $1 } END { print n }' "$tmp/out")
if [ "$got" = "$total" ] && [ ! -s "$tmp/err" ]; then
	pass "refs: $total references"
else
	fail "refs: $got references instead of $total; $(head -n 1 "$tmp/err")"
fi

# Calls of malloc: analyzed.c has the numbers.
example mallocs "$tmp/p.dep" >"$tmp/out" 2>"$tmp/err" || fail "mallocs: $(cat "$tmp/err")"
got=$(awk -v p="$prog" '$NF == p { print $5, $1, $3 }' "$tmp/out" | sort | tr '\n' ' ')
if [ "$got" = "many 25 200 ten 10 1000 " ] && [ ! -s "$tmp/err" ]; then
	pass "mallocs: $got"
else
	fail "mallocs: $got instead of many 25 200 ten 10 1000; $(head -n 1 "$tmp/err")"
fi
clean "$DEPCTL" record --alone -q --no-functions -o "$tmp/none.dep" -- "$prog"
example mallocs "$tmp/none.dep" >"$tmp/out" 2>"$tmp/err"
if [ ! -s "$tmp/out" ] && grep -q 'without function hooks' "$tmp/err"; then
	pass "mallocs: $(cat "$tmp/err")"
else
	fail "mallocs without function hooks: $(head -n 2 "$tmp/out" "$tmp/err")"
fi

# Live: while the program waits, its references up to then are counted.
# until_true COMMAND...: true within 20 seconds
until_true() {
	for i in $(seq 200); do
		"$@" 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}

# counted N: has live printed at least N references, of a program that still waits?
counted() {
	awk -v n="$1" '/^so far/ && $3 >= n { found = 1 } END { exit !found }' "$tmp/live"
}

mkfifo "$tmp/fifo"
clean "$DEPCTL" record --alone -q -o "$tmp/live.dep" -- "$prog" "$tmp/fifo" &
recorder=$!
until_true test -s "$tmp/live.dep/fragments"
example live "$tmp/live.dep" >"$tmp/live" 2>"$tmp/err" &
live=$!
# most of them are the dynamic loader's and those of the first call of fill
first=$((total * 3 / 4))
if until_true counted "$first"; then
	pass "live: $(tail -n 1 "$tmp/live"), while the program waits"
else
	fail "live: not $first references: $(tail -n 1 "$tmp/live" "$tmp/err")"
fi
timeout 20 sh -c ": >'$tmp/fifo'"
wait $recorder || fail "the recorder's status is $?"
wait $live || fail "live: status $?: $(cat "$tmp/err")"
refs=$(clean "$DEPCTL" dump --refs "$tmp/live.dep" | wc -l)
calls=$(clean "$DEPCTL" dump --events "$tmp/live.dep" | grep -c ' syscall ')
want="$refs references, $calls system calls, complete"
if [ "$(tail -n 1 "$tmp/live")" = "$want" ]; then
	pass "live: $want"
else
	fail "live: $(tail -n 1 "$tmp/live") instead of $want"
fi
if example live "$tmp/p.dep" >"$tmp/out" 2>&1; then
	fail "live, of a complete store: it does not fail"
elif grep -q 'no process is recording' "$tmp/out"; then
	pass "live, of a complete store: $(cat "$tmp/out")"
else
	fail "live, of a complete store: $(cat "$tmp/out")"
fi
finish
