#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-vm`: bench.c in a guest.  The processor is emulated: compare lines of one
# run with each other, nothing else.  It is a single one: how long it takes to wake a
# second one is decided by the host's scheduler.
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-$PWD/build} VM_SMP=1
mkdir -p "$BUILD/vm" "$BUILD/log"
for k in ${VM_KERNELS:-$(ls /lib/modules | sort -V)}; do
	[ -e "/lib/modules/$k/build/Makefile" ] || continue
	[ -r "/boot/vmlinuz-$k" ] || [ -r "$BUILD/vm/vmlinuz-$k" ] || continue
	timeout -k 10 600 bash tests/vm/boot.sh "$k" 500 bench:400 >"$BUILD/log/vm-bench.log" 2>&1
	sed -n '/^VM begin/,/^VM end/p' "$BUILD/log/vm-bench.log" | grep -v '^VM'
	grep -q '^VM end bench 0' "$BUILD/log/vm-bench.log" || {
		echo "The benchmark did not come to its end, see $BUILD/log/vm-bench.log" >&2
		exit 1
	}
	exit 0
done
echo "No kernel has headers and an image: sh scripts/install-deps.sh --vm" >&2
exit 1
