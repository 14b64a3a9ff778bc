#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl where on recordings of the programs that print their own addresses.
. "$(dirname "$0")/lib.sh"
need_depctl

# addr NAME: print the address that the recorded program printed for NAME
addr() {
	awk -v n="$1" '($1 == "pc" || $1 == "data") && $2 == n { print $3; exit }' "$tmp/out"
}

# line MARK: print the number of the source line that has it
line() {
	grep -n "MARK $1 " "$tests/programs/$source" | cut -d : -f 1
}

# says NAME ADDRESS-NAME PATTERN..: where prints lines that match, each an extended regular
# expression
says() {
	name=$1
	timeout 60 "$DEPCTL" where $options "$tmp/dep" "$(addr "$2")" >"$tmp/where" 2>"$tmp/err"
	status=$?
	shift 2
	for p; do
		if ! grep -Eq -- "$p" "$tmp/where"; then
			fail "$name: no $p: $(tr '\n' '|' <"$tmp/where")$(head -n 1 "$tmp/err")"
			return
		fi
	done
	if [ $status -eq 0 ] && [ ! -s "$tmp/err" ]; then
		pass "$name"
	else
		fail "$name: status $status: $(head -n 1 "$tmp/err")"
	fi
}

# recorded SOURCE COMMAND...
recorded() {
	source=$1
	shift
	rm -rf "$tmp/dep"
	timeout 60 "$DEPCTL" record -q -o "$tmp/dep" -- "$@" >"$tmp/out" 2>"$tmp/err" && return
	fail "recording $1: $(tail -n 1 "$tmp/err")"
	return 1
}

options=
for form in pie nopie static link; do
	recorded sym_c.c "$build/tests/sym_$form" || continue
	says "$form: inlined functions" innermost \
		"^    innermost at .*sym_c.c:$(line innermost):[0-9]+, inlined into$" \
		"^    middle at .*sym_c.c:$(line middle):[0-9]+, inlined into$" \
		"^    outer at .*sym_c.c:$(line outer):[0-9]+$" \
		"^    in $build/tests/sym_$form\+0x[0-9a-f]+, build-id [0-9a-f]{40}$"
	says "$form: a member" next "^    queue.head\[3\].next, struct node \*$" \
		"^    declared at .*sym_c.c:$(line queue)$" "^    in .*, linked at 0x"
	says "$form: an atomic" ticks "^    ticks, _Atomic long( int)?, atomic$"
done
if recorded sym_c.c "$build/tests/sym_pie" "$build/tests/sym_liba.so" \
	"$build/tests/sym_libb.so"; then
	says "a library's function, by its name" b_work "^    b_work at .*sym_lib.c:"
	says "a library's variable" b_data "^    b_data\[4\], int"
fi
if recorded sym_cpp.cpp "$build/tests/sym_cpp"; then
	says "C++" touch "^    app::Box<long>::touch\(long\) at .*sym_cpp.cpp:$(line touch):"
	says "std::atomic" hits "^    app::box.hits\[2\], std::atomic<long( int)?>, atomic$"
	options=--json
	says "JSON" refs '"name":"app::box.refs","type_name":"std::atomic<int>"' '"atomic":true'
	says "JSON" touch '"function":"app::Box<long>::touch\(long\)","symbol":"_ZN3app3BoxIlE5'
	options=
fi
# A shell and its child; each result is printed once for all processes that have it.
if recorded sym_c.c sh -c '"$0"; :' "$build/tests/sym_nopie"; then
	says "several processes" plain "^[0-9a-f]+, process [0-9]+ \([0-9]+\):$" \
		"^    plain at .*sym_c.c:$(line plain):"
fi
finish
