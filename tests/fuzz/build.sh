#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build insn_fuzz: build.sh OUTPUT-DIR.  Linked at a fixed address, because the transit area is
# addressed absolutely; without a stack protector, because the handler runs with the fs base of the
# case.
set -eu
here=$(dirname "$0")
out=$1
mkdir -p "$out"
exec 9<"$out"
flock 9
for src in "$here"/insn_*.[chS] "$0"; do
	if ! [ "$out/insn_fuzz" -nt "$src" ]; then
		exec gcc -O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -no-pie \
			-fno-stack-protector -fcf-protection=none -mcrc32 -Wl,-z,now \
			-o "$out/insn_fuzz" "$here"/insn_*.c "$here"/insn_*.S -lZydis
	fi
done
