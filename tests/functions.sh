#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recorded calls of hooked functions are exactly those that tests/programs/functions.c prints: in
# their order, with their arguments and results.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1

# Print what functions.c would print, from dump --functions.  Returns are matched by the stack
# pointer; calls by hooked functions themselves are removed.
paired() {
	awk '
	# a number of 64 bits as text that sorts by value
	function wide(hex) { return substr("0000000000000000" hex, length(hex) + 1) }
	function text(    s, k) {
		s = $1 " " $4
		for (k = 5; k <= NF; k++) s = s " " $k
		return s
	}
	$4 == "return" {
		s = wide($3)
		while (n[$1] && open[$1, n[$1]] < s) {
			k = line[$1, n[$1]]
			# rax after free is no result, but the return is recorded
			if (ret[$1, n[$1]] == s) result[k] = name[k] == "free" ? "-" : $5
			n[$1]--
		}
		next
	}
	$4 == "pthread_spin_destroy" {
		# It returns to its own return address, so the return shows nothing.
		inside[$1] = !inside[$1]
		n[$1] = 0
		next
	}
	$4 != "sem_post" && !inside[$1] { next }
	{
		s = wide($3)
		while (n[$1] && (open[$1, n[$1]] < s ||
		       (open[$1, n[$1]] == s && name[line[$1, n[$1]]] == $4))) n[$1]--
		if (n[$1] && $4 != "sem_post") next
		k = ++lines
		said[k] = text()
		name[k] = $4
		n[$1]++
		open[$1, n[$1]] = s
		ret[$1, n[$1]] = wide(above($3))
		line[$1, n[$1]] = k
	}
	# $1 + 8
	function above(hex,    i, d, carry, out) {
		carry = 8
		for (i = length(hex); i; i--) {
			d = index("0123456789abcdef", substr(hex, i, 1)) - 1 + carry
			carry = d > 15
			out = substr("0123456789abcdef", d % 16 + 1, 1) out
		}
		return (carry ? "1" : "") out
	}
	END {
		for (k = 1; k <= lines; k++) {
			r = k in result ? result[k] : "left"
			# an int is in the lower half
			if (r != "-" && name[k] !~ /alloc|align$/ || name[k] == "posix_memalign") {
				if (length(r) > 8) r = substr(r, length(r) - 7)
				while (r ~ /^0./) r = substr(r, 2)
			}
			print said[k] " = " r
		}
	}'
}

# by_thread: the calls of each thread, separated from those of its signal handlers.  Two names of
# one function are unified; which one appears depends on the C library.
by_thread() {
	sed 's/ aligned_alloc / memalign /' | awk '{ print ($2 == "sem_post") " " $0 }' |
		sort -s -k 1,1 -k 2,2n
}

# calls_of NAME PROGRAM ROUNDS OPTION...
calls_of() {
	name=$1 program=$2 rounds=$3
	shift 3
	rm -rf "$tmp/dep"
	if ! timeout 120 "$DEPCTL" record --alone -q "$@" -o "$tmp/dep" -- "$program" "$rounds" \
		>"$tmp/made" 2>"$tmp/err"; then
		fail "$name: $(tail -n 2 "$tmp/err")"
		return
	fi
	if ! "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1; then
		fail "$name: verify: $(tail -n 2 "$tmp/verify")"
		return
	fi
	"$DEPCTL" dump --functions "$tmp/dep" >"$tmp/dump"
	by_thread <"$tmp/made" >"$tmp/want"
	paired <"$tmp/dump" | by_thread >"$tmp/got"
	if ! [ -s "$tmp/want" ]; then
		fail "$name: no calls"
	elif diff "$tmp/want" "$tmp/got" >"$tmp/diff"; then
		pass "$name: $(wc -l <"$tmp/want") calls, $(tail -n 1 "$tmp/verify")"
	else
		fail "$name: $(head -n 5 "$tmp/diff")"
	fi
}

# compile NAME FLAG...: functions.c, with other kinds of binding and linking
compile() {
	name=$1
	shift
	gcc -O2 -std=gnu11 -D_GNU_SOURCE -pthread -fno-builtin -rdynamic "$@" \
		-o "$tmp/$name" "$tests/programs/functions.c"
}

functions=$build/programs/functions
calls_of "one megabyte" "$functions" 100 --transport=shm
# Many chunks end while arguments and results are stored.
calls_of "small chunks" "$functions" 200 --transport=shm --ring-size=64K
calls_of "default transport" "$functions" 100
calls_of "self-check" "$functions" 100 --self-check --ring-size=64K
calls_of "strict" "$functions" 100 --strict --ring-size=64K
compile lazy -Wl,-z,lazy && calls_of "bound when called" "$tmp/lazy" 50
compile now -Wl,-z,now && calls_of "bound at once" "$tmp/now" 50
compile no_plt -fno-plt && calls_of "without a procedure linkage table" "$tmp/no_plt" 50
compile no_pie -no-pie && calls_of "not position independent" "$tmp/no_pie" 50
compile ibt -fcf-protection=full -Wl,-z,ibtplt && calls_of "with endbr64" "$tmp/ibt" 50

# Modules that are mapped at the same address in succession; only the first and the last one have a
# hooked function.
cat >"$tmp/module.c" <<-'END'
	void NAME(void *p) { __asm__ volatile("" : : "r"(p)); }
END
cat >"$tmp/modules.c" <<-'END'
	#include <dlfcn.h>
	int main(int argc, char **argv)
	{
		for (long i = 1; i + 1 < argc; i += 2) {
			void *module = dlopen(argv[i], RTLD_NOW);
			void (*function)(void *) = dlsym(module, argv[i + 1]);

			function((void *)(0x1000 + i));
			dlclose(module);
		}
		return 0;
	}
END
module="gcc -O2 -fno-builtin -shared -fPIC $tmp/module.c"
$module -DNAME=cfree -o "$tmp/gnu.so" && $module -DNAME=cfrex -o "$tmp/other.so" &&
	$module -DNAME=cfree -Wl,--hash-style=sysv -o "$tmp/sysv.so" &&
	gcc -O2 -o "$tmp/modules" "$tmp/modules.c" || fail "modules: do not build"
rm -rf "$tmp/dep"
"$DEPCTL" record --alone -q -o "$tmp/dep" -- "$tmp/modules" "$tmp/gnu.so" cfree \
	"$tmp/other.so" cfrex "$tmp/sysv.so" cfree
"$DEPCTL" dump --functions "$tmp/dep" | awk '$4 == "cfree" { print $5 }' >"$tmp/got"
[ "$(tr '\n' ' ' <"$tmp/got")" = "1001 1005 " ] && pass "modules come and go" ||
	fail "modules: $(head -n 3 "$tmp/got")"

rm -rf "$tmp/dep"
"$DEPCTL" record --alone -q --no-functions -o "$tmp/dep" -- "$functions" 2 >"$tmp/made" 2>&1 &&
	[ -s "$tmp/made" ] && ! "$DEPCTL" dump --functions "$tmp/dep" | grep -q . &&
	"$DEPCTL" info "$tmp/dep" | grep -q no-functions &&
	pass "switched off" || fail "switched off: $(head -n 3 "$tmp/made")"
finish
