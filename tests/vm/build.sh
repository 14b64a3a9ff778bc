#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs that run in the guest, static: build.sh OUTPUT-FOLDER
set -eu
cd "$(dirname "$0")/../.."
out=$1
mkdir -p "$out"
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -ffixed-r15 -pthread -static
	-Iinclude/uapi"
common="tests/vm/report.c tests/vm/writer.c tests/vm/consumer.c"
for c in tests/vm/t_*.c tests/vm/bench.c; do
	[ -e "$c" ] || continue
	o=$out/$(basename "$c" .c)
	own=$c
	[ "$c" != tests/vm/t_fuzz.c ] || own="$c tests/vm/fuzz_calls.c"
	newer=
	for f in $own $common tests/vm/vm.h tests/vm/fuzz.h include/uapi/linux/adept.h \
		tests/vm/build.sh; do
		[ "$o" -nt "$f" ] || newer=1
	done
	[ -n "$newer" ] || continue
	# shellcheck disable=SC2086
	${CC:-gcc} $flags -o "$o" $own $common -luring
done
