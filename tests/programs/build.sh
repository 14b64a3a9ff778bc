#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build the test programs, the sources with a "Suite:" line: build.sh OUTPUT-DIR.  A
# source's "Flags:" line adds to the compiler's; the programs' names are their sources'
# without the ending.  Suites that run in parallel call this: one builds, the others wait for it.
set -u
here=$(dirname "$0")
out=$1
mkdir -p "$out"
exec 9<"$out"
flock 9
common="-O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -pthread -I$here/../../include"

newer() {
	for dep in "$here"/*.h "$here"/snip_main.c "$here"/snip_run.S "$0"; do
		[ "$dep" -nt "$1" ] && return 0
	done
	[ "$2" -nt "$1" ]
}

failed=0
for src in "$here"/*.c "$here"/*.S "$here"/*.cpp; do
	name=$(basename "${src%.*}")
	exe=$out/$name
	grep -q 'Suite: ' "$src" || continue
	[ -e "$exe" ] && ! newer "$exe" "$src" && continue
	flags=$(sed -n 's,.*Flags: *\([-+a-z_ ]*\).*,\1,p' "$src" | head -n 1)
	case $src in
	*/snip_*.S)
		gcc $common -no-pie -o "$exe" "$src" "$here/snip_run.S" "$here/snip_main.c" ;;
	*.S)
		gcc -nostdlib -static $flags -o "$exe" "$src" $flags ;;
	*.cpp)
		if grep -q 'ifdef LIBRARY' "$src"; then
			g++ -O2 -g -Wall -Wextra -Werror -DLIBRARY -shared -fPIC -o "$exe.so" "$src"
		fi &&
		g++ -O2 -g -Wall -Wextra -Werror $flags -o "$exe" "$src" $flags ;;
	*)
		gcc $common $flags -o "$exe" "$src" $flags ;;
	esac || failed=1
done
exit $failed
