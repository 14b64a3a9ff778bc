#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Build one of this folder's programs: build.sh SOURCE racy|right LEVEL PROGRAM [FLAG...]
#
# Plainly, as any program is that nobody made for a detector.  The source's "Flags:" add to
# the compiler's; CLANG=1 takes clang.  What is newer than its source is left as it is.  The program
# appears complete, since another suite may build and run the same one.
set -u
src=$1 variant=$2 level=$3 out=$4
shift 4
dir=$(dirname "$src")
[ "$out" -nt "$src" ] && [ "$out" -nt "$dir/races.h" ] && [ "$out" -nt "$0" ] && exit 0
flags=$(sed -n 's/^ \* Flags: *//p' "$src")
case $src in
*.cpp)
	cc=${CLANG:+clang++}
	cc=${cc:-g++}
	std=-std=gnu++17
	;;
*)
	cc=${CLANG:+clang}
	cc=${cc:-gcc}
	std=-std=gnu11
	;;
esac
[ "$variant" = right ] || flags="$flags -DRACY"
# shellcheck disable=SC2086
"$cc" "$std" "-$level" -g -Wall -Wextra -Werror -D_GNU_SOURCE -pthread $flags "$@" \
	-o "$out.$$" "$src" && exec mv "$out.$$" "$out"
