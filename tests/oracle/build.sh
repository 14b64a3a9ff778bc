#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build step_oracle and refcmp, unless they are newer than their sources: build.sh OUTPUT-DIR.
# Suites that run in parallel call this: one builds, the others wait for it.
set -eu
here=$(dirname "$0")
out=$1
flags="-O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE"
mkdir -p "$out"
exec 9<"$out"
flock 9

# stale PROGRAM: is it missing, or older than a source?
stale() {
	for src in "$here"/*.[ch] "$0"; do
		[ "$1" -nt "$src" ] || return 0
	done
	return 1
}

if stale "$out/step_oracle"; then
	gcc $flags -o "$out/step_oracle" "$here"/main.c "$here"/step.c "$here"/decode.c \
		"$here"/refs.c "$here"/code.c "$here"/memory.c "$here"/print.c -lZydis
fi
if stale "$out/refcmp"; then
	gcc $flags -o "$out/refcmp" "$here"/refcmp.c
fi
