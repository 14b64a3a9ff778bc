#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make install` to a directory: the installed files work, and `make uninstall` removes them all.
# A program that has nothing but the installed files can use the library.
. "$(dirname "$0")/lib.sh"
need_depctl
dest=$tmp/dest
lib=lib/$(gcc -print-multiarch)
libdir=$dest/usr/${lib%/}

run_make() {
	make -s -C "$top" $([ "$(basename "$build")" != build-san ] || echo SAN=1) \
		DESTDIR="$dest" PREFIX=/usr "$@" >"$tmp/log" 2>&1
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
for f in "${lib%/}/libdep.so" "${lib%/}/libdep.so.0" "${lib%/}/pkgconfig/libdep.pc" \
	share/man/man1/depctl.1 share/man/man3/libdep.3 share/man/man5/dep.5 \
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

# ---- the library ----

# alone FLAGS...: does each installed header compile alone?
alone() {
	for h in "$dest"/usr/include/dep/*.h; do
		echo "#include <dep/$(basename "$h")>" >"$tmp/alone"
		"$@" -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$dest/usr/include" \
			"$tmp/alone" 2>"$tmp/err" || {
			fail "$*: $(basename "$h"): $(grep -m1 error: "$tmp/err")"
			return
		}
	done
	pass "headers: $*"
}

for cc in gcc clang; do
	have $cc && alone $cc -std=c11 -x c
	have $cc && alone $cc -std=c++11 -x c++
done

# What the headers declare is what the library exports, and a manual page has it.
for h in "$dest"/usr/include/dep/*.h; do
	echo "#include <dep/$(basename "$h")>"
done >"$tmp/all.c"
gcc -I"$dest/usr/include" -fsyntax-only -aux-info "$tmp/declared" "$tmp/all.c"
sed -n 's,^/\* [^ ]*/include/dep/.*[ *]\(dep_[a-z0-9_]*\) (.*,\1,p' "$tmp/declared" |
	sort -u >"$tmp/functions"
nm -D --defined-only "$libdir/libdep.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
	sort >"$tmp/exported"
if cmp -s "$tmp/functions" "$tmp/exported" && [ -s "$tmp/functions" ]; then
	pass "the library exports the $(wc -l <"$tmp/functions") functions of the headers"
else
	fail "not both declared and exported: $(comm -3 "$tmp/functions" "$tmp/exported" | xargs)"
fi
for page in "$dest"/usr/share/man/man3/*.3; do
	sed -n '/^\.SH NAME/,/^\.SH SYNOPSIS/p' "$page"
done | grep -o 'dep_[a-z_]*' | sort -u >"$tmp/pages"
if missing=$(comm -23 "$tmp/functions" "$tmp/pages") && [ -z "$missing" ]; then
	pass "manual pages have all functions"
else
	fail "no manual page: $missing"
fi
soname=$(objdump -p "$libdir/libdep.so" | awk '$1 == "SONAME" { print $2 }')
if [ "$soname" = libdep.so.0 ]; then pass "soname $soname"; else fail "soname: $soname"; fi

pc() {
	PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest pkg-config "$@" libdep
}

# page: the program in libdep(3)
page() {
	sed -n '/^\.SH EXAMPLES/,/^\.fi/p' "$dest/usr/share/man/man3/libdep.3" |
		sed -n '/^\.nf/,/^\.fi/p' | sed '/^\./d; s/\\e/\\/g; s/\\-/-/g'
}

# compile NAME COMPILER ARGUMENT...: the program $tmp/NAME, with what pkg-config says
compile() {
	name=$1
	shift
	"$@" -Wall -Wextra -Werror -o "$tmp/$name" $(pc --cflags --libs) 2>"$tmp/err" && return
	fail "$name: $(grep -m1 error: "$tmp/err")"
	return 1
}

if [ "$(basename "$build")" != build ]; then
	skip "programs against the library: the sanitizers must come first in them"
elif have pkg-config; then
	clean "$DEPCTL" record --alone -q -o "$tmp/p.dep" -- /bin/sh -c '/bin/true; kill -0 $$' ||
		fail "depctl record: $?"
	rows() {
		clean "$DEPCTL" dump --events "$tmp/p.dep" | grep -c "$1"
	}
	clean "$DEPCTL" dump --refs "$tmp/p.dep" >"$tmp/refs"
	want="$(rows ' syscall ') $(rows ' name=openat .* result=[0-9]') $(rows ' signal ')"
	want="$want $(rows ' thread-start ') $(wc -l <"$tmp/refs") $(grep -vc ' R$' "$tmp/refs")"
	for with in "gcc -x c -std=gnu11" "g++ -x c++ -std=gnu++11"; do
		compile reads $with "$tests/programs/reads_store.c" -x none || continue
		got=$(LD_LIBRARY_PATH=$libdir "$tmp/reads" "$tmp/p.dep")
		if [ "$got" = "$want 1 ended" ]; then
			pass "$with: $got"
		else
			fail "$with: $got instead of $want 1 ended"
		fi
	done
	page >"$tmp/page.c"
	if compile page gcc "$tmp/page.c"; then
		got=$(LD_LIBRARY_PATH=$libdir "$tmp/page" "$tmp/p.dep" |
			awk '{ n += $3 } END { print n }')
		if [ "$got" = "$(wc -l <"$tmp/refs")" ]; then
			pass "the program in libdep(3): $got references"
		else
			fail "the program in libdep(3): $got references"
		fi
	fi
fi

if ! run_make uninstall; then
	fail "make uninstall: $(tail -n 1 "$tmp/log")"
elif left=$(find "$dest" ! -type d) && [ -n "$left" ]; then
	fail "make uninstall leaves $left"
else
	pass "make uninstall"
fi

# placed FOLDER ARGUMENT...: `make install ARGUMENT...` has the library in FOLDER
placed() {
	at=$1
	shift
	rm -rf "$dest"
	run_make install "$@"
	got=$(PKG_CONFIG_PATH=$dest$at/pkgconfig pkg-config --variable=libdir libdep)
	if [ -e "$dest$at/libdep.so" ] && [ "$got" = "$at" ]; then
		pass "make install $*: $at"
	else
		fail "make install $*: not in $at; libdep.pc has $got"
	fi
	run_make uninstall "$@"
	left=$(find "$dest" ! -type d)
	[ -z "$left" ] || fail "make uninstall $* leaves $left"
}
if have pkg-config; then
	placed /opt/adept/lib PREFIX=/opt/adept
	placed /usr/lib64 PREFIX=/usr LIBDIR=/usr/lib64
fi

# says PATTERN NAME TARGET...: make fails, and its message says what to do
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
