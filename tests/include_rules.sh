#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/check-includes.py finds includes that scripts/include-rules forbids, and no others;
# scripts/check-cycles.py finds files that call each other.
. "$(dirname "$0")/lib.sh"
top=$(realpath "$(dirname "$0")/..")
tree=$tmp/tree
mkdir -p "$tree/scripts" "$tree/low/part" "$tree/high" "$tree/include/dep"
printf '%s\n' '# a comment' 'low: include/dep' 'low/part: low' 'high: low' \
	>"$tree/scripts/include-rules"
touch "$tree/low/low.h" "$tree/low/part/part.h" "$tree/high/high.h" "$tree/include/dep/dep.h"

# found NAME FILE LINE MESSAGE: the check fails for FILE with LINE as its second, and says MESSAGE
found() {
	printf '/* */\n%s\n' "$3" >"$tree/$2"
	out=$(python3 "$top/scripts/check-includes.py" "$tree")
	status=$?
	rm "$tree/$2"
	if [ "$status" -eq 1 ] && [ "$out" = "$2:2: $4" ]; then
		pass "$1"
	else
		fail "$1: status $status: $out"
	fi
}

printf '%s\n' '#include "low.h"' '#include "dep/dep.h"' \
	'#include <stdio.h>' '#include "made_by_the_build.h"' >"$tree/low/a.c"
printf '%s\n' '#include "low/low.h"' '#include "low/part/part.h"' '#include "high.h"' \
	>"$tree/high/b.c"
if python3 "$top/scripts/check-includes.py" "$tree" >"$tmp/out"; then
	pass "allowed includes"
else
	fail "allowed includes: $(cat "$tmp/out")"
fi
found "an upward include" low/c.c '#include "high/high.h"' "low may not include high/high.h"
found "an upward include below a folder" low/part/d.c '#  include "../../high/high.h"' \
	"low/part may not include high/high.h"
found "a public header where none is allowed" high/e.h '#include <dep/dep.h>' \
	"high may not include include/dep/dep.h"
found "two folders that include each other" low/f.S '#include "part/part.h"' \
	"low may not include low/part/part.h"
if python3 "$top/scripts/check-includes.py" "$top" >"$tmp/out"; then
	pass "the includes of this tree"
else
	fail "the includes of this tree: $(head -n 3 "$tmp/out")"
fi

# cycle: compiles a.c, b.c and c.c, and looks for a cycle
cycle() {
	for file in a b c; do
		${CC:-gcc} -c -o "$tmp/$file.o" "$tmp/$file.c" || exit 1
	done
	python3 "$top/scripts/check-cycles.py" "$tmp/a.o" "$tmp/b.o" "$tmp/c.o" >"$tmp/out"
}
echo 'void b(void); void a(void) { b(); }' >"$tmp/a.c"
echo 'void c(void); void b(void) { c(); }' >"$tmp/b.c"
echo 'int global; void c(void) { global++; }' >"$tmp/c.c"
cycle && [ ! -s "$tmp/out" ] && pass "files that do not call each other" ||
	fail "files that do not call each other: $(cat "$tmp/out")"
echo 'extern void (*a)(void); void *c(void) { return (void *)&a; }' >"$tmp/c.c"
cycle
if [ $? -eq 1 ] && grep -q "c uses a of a" "$tmp/out" && grep -q "b uses c of c" "$tmp/out"; then
	pass "three files in a cycle"
else
	fail "three files in a cycle: $(cat "$tmp/out")"
fi
for part in daemon libdep/analyze libdep/attach libdep/inject tools/depctl; do
	objects=$(cd "$top" && find $part -name '*.c' ! -name '*.bpf.c' |
		sed "s,^,$build/host/,; s,c\$,o,")
	# shellcheck disable=SC2086
	if python3 "$top/scripts/check-cycles.py" $objects >"$tmp/out"; then
		pass "no file in $part calls one that calls it"
	else
		fail "$part: $(head -n 4 "$tmp/out" | tr '\n' ' ')"
	fi
done
finish
