#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-vm`: bench.c in a guest.  First with a clock that counts instructions, one to
# the nanosecond: exact, the same in every run, and blind to caches and to other
# processors.  Then by time, with one and with two processors.  They are emulated: compare
# lines of one run with each other, nothing else, and not from a single run.
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-$PWD/build}
mkdir -p "$BUILD/vm" "$BUILD/log"

# guest NAME KVER [VARIABLE=VALUE...]
guest() {
	local log=$BUILD/log/vm-bench-$1.log kver=$2
	shift 2
	env "$@" timeout -k 10 600 bash tests/vm/boot.sh "$kver" 500 bench:400 >"$log" 2>&1
	sed -n '/^VM begin/,/^VM end/p' "$log" | grep -v '^VM'
	grep -q '^VM end bench 0' "$log" && return
	echo "The benchmark did not come to its end, see $log" >&2
	exit 1
}

for k in ${VM_KERNELS:-$(ls /lib/modules | sort -V)}; do
	[ -e "/lib/modules/$k/build/Makefile" ] || continue
	[ -r "/boot/vmlinuz-$k" ] || [ -r "$BUILD/vm/vmlinuz-$k" ] || continue
	echo "$k, million instructions for ms, thousand for us"
	guest count "$k" VM_SMP=1 VM_ACCEL=tcg,thread=single \
		VM_QEMU="-icount shift=0,sleep=off"
	for smp in 1 2; do
		echo "$k, $smp processors, host's load $(cut -d' ' -f1 /proc/loadavg)"
		guest $smp "$k" VM_SMP=$smp
	done
	exit 0
done
echo "No kernel has headers and an image: sh scripts/install-deps.sh --vm" >&2
exit 1
