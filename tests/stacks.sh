#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The stacks of dep_contexts_make() equal those by true stack pointers, at each call.
. "$(dirname "$0")/lib.sh"
need_depctl
check=$build/tests/stacks_check
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1

# stacks NAME COMMAND...: record it and compare; RANGES names the file with its stacks
stacks() {
	name=$1
	shift
	have "$1" || return
	rm -rf dep
	if ! clean timeout 240 "$DEPCTL" record -q -o dep -- "$@" </dev/null >out 2>err; then
		fail "$name: $(tail -n 1 err)"
	elif "$check" dep ${RANGES:+"$RANGES"} >result 2>&1; then
		pass "$name: $(tail -n 1 result)"
	else
		fail "$name: $(head -n 1 result); $(tail -n 1 result)"
	fi
}

# The number of a word in the last result: at_most NAME "contexts" LIMIT
at_most() {
	n=$(sed -n "s/.* \([0-9]*\) $2.*/\1/p" result | tail -n 1)
	if [ "${n:-$(($3 + 1))}" -le "$3" ]; then
		pass "$1: $n $2"
	else
		fail "$1: ${n:-unknown number of} $2, more than $3"
	fi
}

# same NAME COMMAND...: the tree does not depend on where segments end, nor on the translation
same() {
	name=$1
	shift
	trees=
	for option in --ring-size=4M --ring-size=256K --strict; do
		rm -rf dep
		clean timeout 240 "$DEPCTL" record -q --no-aslr $option -o dep -- "$@" \
			</dev/null >out 2>err && "$check" dep ranges >result 2>&1 ||
			trees="$trees $option: $(tail -n 1 err result)"
		trees="$trees$(sed -n 's/.*tree /\n/p' result)"
	done
	n=$(printf %s "$trees" | sort -u | wc -w)
	is "$name has the same tree with each way to record" "$n" 1
}

for case in jumps signals siglongjmps coroutines children assembly ring recursion; do
	RANGES=ranges stacks "$case" "$build/programs/stacks" ranges $case
	case $case in
	ring) at_most "a ring of tail calls has a context for each function" contexts 1500 ;;
	esac
done

same "a program with many stacks" "$build/programs/stacks" ranges jumps signals siglongjmps \
	coroutines assembly ring
same perl perl -e 'for (1..500) { $h{$_ % 100} .= "x" } eval { die } for 1..50'

stacks throw "$build/programs/stacks_throw"
stacks perl perl -e 'for (1..1000) { $h{$_ % 100} .= "x" } eval { die } for 1..100'
stacks python /usr/bin/python3 -Sc 'f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)
f(6)
try: int("x")
except ValueError: pass'
stacks sqlite3 sqlite3 :memory: 'with recursive c(x) as (select 1 union all
	select x + 1 from c where x < 300) select sum(x) from c group by x % 3'
stacks lua lua5.4 -e 'for i = 1, 500 do pcall(error, i) end
	local c = coroutine.wrap(function() for i = 1, 50 do coroutine.yield(i) end end)
	for i = 1, 50 do c() end'
cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
echo 'int f(int a) { int s = 0, i; for (i = 0; i < a; i++) s += i; return s; }' >f.c
stacks cc1 "${cc1:-cc1}" -quiet -O1 f.c -o f.s
[ "$LONG" != 1 ] || stacks node node --single-threaded -e \
	'let s = 0; for (let i = 0; i < 2000; i++) s += [1, 2].map(x => x * i)[1];
	try { JSON.parse("{") } catch (e) {}'
finish
