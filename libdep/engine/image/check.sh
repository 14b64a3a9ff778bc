#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The engine image must stand alone: nothing undefined, nothing to relocate, no vector
# registers and no fs (the application's).
set -eu
elf=$1
shift
if [ -n "$(nm -u "$elf")" ]; then
	echo "$elf: undefined symbols: $(nm -u "$elf")" >&2
	exit 1
fi
if readelf -rW "$elf" | grep -q R_X86_64; then
	echo "$elf: has relocations" >&2
	exit 1
fi
bad=$(readelf -rW "$@" | awk '
	/^Relocation section/ { section = $3 }
	/R_X86_64_(64|32|32S) |GOT/ && section !~ /debug/')
if [ -n "$bad" ]; then
	echo "$elf: addresses that do not move with the code:" "$bad" >&2
	exit 1
fi
if objdump -d --no-show-raw-insn "$elf" | grep -E '%(x|y|z)mm|%fs:|%st' >&2; then
	echo "$elf: touches vector state or fs" >&2
	exit 1
fi
