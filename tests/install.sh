#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make install` into a folder: what is there works, `make uninstall` leaves nothing.
. "$(dirname "$0")/lib.sh"
need_depctl
dest=$tmp/dest

run_make() {
	make -s -C "$top" $([ "$(basename "$build")" != build-san ] || echo SAN=1) \
		DESTDIR="$dest" PREFIX=/usr "$@" >"$tmp/log" 2>&1
}

program() {
	cat <<-'END'
	#include <dep/recover.h>
	#include <dep/store.h>
	#include <stdio.h>
	int main(int argc, char **argv)
	{
		const struct dep_segment *seg;
		struct dep_store *s;
		if (argc < 2 || dep_store_open(&s, argv[1])) {
			fprintf(stderr, "%s\n", dep_error());
			return 1;
		}
		printf("%zu segments\n", dep_store_segments(s, &seg));
		dep_store_close(s);
		return 0;
	}
	END
}

if ! run_make install; then
	fail "make install: $(tail -n 1 "$tmp/log")"
	finish
fi
if "$dest/usr/bin/depctl" --version >"$tmp/out" 2>&1; then
	pass "depctl: $(cat "$tmp/out")"
else
	fail "the installed depctl does not run: $(head -n 1 "$tmp/out")"
fi
for f in lib/libdep.so lib/libdep.so.0 include/dep/store.h include/dep/recover.h \
	lib/pkgconfig/libdep.pc share/man/man1/depctl.1 share/man/man5/dep.5 \
	share/bash-completion/completions/depctl; do
	if [ -s "$dest/usr/$f" ]; then pass "$f"; else fail "$f is missing"; fi
done
if [ "$(basename "$build")" = build-san ]; then
	skip "a program against the library: the sanitizers must come first in it"
elif ! have pkg-config; then
	:
elif program >"$tmp/p.c" && "$build/tests/make_store" "$tmp/s.dep" &&
	gcc -Wall -Werror -o "$tmp/p" "$tmp/p.c" $(PKG_CONFIG_PATH=$dest/usr/lib/pkgconfig \
		PKG_CONFIG_SYSROOT_DIR=$dest pkg-config --cflags --libs libdep) 2>"$tmp/err" &&
	LD_LIBRARY_PATH=$dest/usr/lib "$tmp/p" "$tmp/s.dep" >"$tmp/out" 2>"$tmp/err"; then
	pass "a program built with pkg-config: $(cat "$tmp/out")"
else
	fail "a program built with pkg-config: $(head -n 3 "$tmp/err")"
fi
if ! run_make uninstall; then
	fail "make uninstall: $(tail -n 1 "$tmp/log")"
elif left=$(find "$dest" ! -type d) && [ -n "$left" ]; then
	fail "make uninstall leaves $left"
else
	pass "make uninstall"
fi
finish
