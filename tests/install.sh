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
	include/dep/symbols.h lib/pkgconfig/libdep.pc share/man/man1/depctl.1 share/man/man5/dep.5 \
	share/man/man5/depctl-json.5 share/adept/schema/info.json share/adept/schema/common.json \
	share/bash-completion/completions/depctl; do
	if [ -s "$dest/usr/$f" ]; then pass "$f"; else fail "$f is missing"; fi
done
unit=$dest/usr/lib/systemd/system/depd.service
for f in systemd/system/depd.service systemd/user/depd.service; do
	got=$(grep '^ExecStart=\|@[A-Z]*@' "$dest/usr/lib/$f" 2>&1)
	if [ "$got" = ExecStart=/usr/sbin/depd ]; then pass "$f"; else fail "$f: $got"; fi
done
for f in systemd/system/depd.socket systemd/system/depd-metrics.socket systemd/user/depd.socket \
	sysusers.d/adept.conf tmpfiles.d/adept.conf udev/rules.d/60-adept.rules; do
	if [ -s "$dest/usr/lib/$f" ]; then pass "$f"; else fail "$f is missing"; fi
done
if [ -e "$top/daemon/main.c" ]; then
	if [ -x "$dest/usr/sbin/depd" ]; then pass depd; else fail "depd is missing"; fi
fi
if ! have systemd-analyze; then
	:
elif systemd-analyze security --no-pager --offline=true --threshold=30 "$unit" \
	>"$tmp/out" 2>&1; then
	pass "depd.service: $(tail -n 1 "$tmp/out" | tr -cd '0-9A-Za-z. ')"
else
	fail "depd.service: $(tail -n 1 "$tmp/out")"
fi
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

# says PATTERN NAME TARGET...: it fails, and says what to do
says() {
	want=$1 name=$2
	shift 2
	if run_make "$@"; then
		fail "$name: it does not fail"
	elif grep -q "$want" "$tmp/log"; then
		pass "$name: $(grep "$want" "$tmp/log")"
	else
		fail "$name: $(head -n 1 "$tmp/log")"
	fi
}
says 'install linux-headers-1.2.3, or set KVER or KDIR' "no headers" modules KVER=1.2.3
says 'install linux-headers.*, or set' "no headers at KDIR" modules KDIR="$tmp/none"
says 'Run make modules first' "no module" modules_install KVER=1.2.3 M="$tmp/none"
finish
