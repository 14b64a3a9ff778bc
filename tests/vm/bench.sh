#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-vm`: bench.c in a guest with one and with two processors.  They are emulated:
# compare lines of one run with each other, nothing else, and not from a single run.
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-$PWD/build}
mkdir -p "$BUILD/vm" "$BUILD/log"
for k in ${VM_KERNELS:-$(ls /lib/modules | sort -V)}; do
	[ -e "/lib/modules/$k/build/Makefile" ] || continue
	[ -r "/boot/vmlinuz-$k" ] || [ -r "$BUILD/vm/vmlinuz-$k" ] || continue
	for smp in 1 2; do
		log=$BUILD/log/vm-bench-$smp.log
		echo "$k, $smp processors, host's load $(cut -d' ' -f1 /proc/loadavg)"
		VM_SMP=$smp timeout -k 10 600 bash tests/vm/boot.sh "$k" 500 bench:400 >"$log" 2>&1
		sed -n '/^VM begin/,/^VM end/p' "$log" | grep -v '^VM'
		grep -q '^VM end bench 0' "$log" || {
			echo "The benchmark did not come to its end, see $log" >&2
			exit 1
		}
	done
	exit 0
done
echo "No kernel has headers and an image: sh scripts/install-deps.sh --vm" >&2
exit 1
