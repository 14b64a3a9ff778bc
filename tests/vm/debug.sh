#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module's tests under a kernel that checks locks, memory and leaks: debug.sh [SUITE...]
#
# The kernel is Debian's linux-source-6.1 with debug.config, unpacked and built below
# $ADEPT_DEBUG_KERNEL (build/vm/debug).  It is built once, and again when the package or
# debug.config changes.  The suites are run by run.sh, with time limits for an emulated kernel
# that checks.  VM_COVERAGE=SECONDS, for coverage.sh: the suite fuzz for so long, on a module with
# gcov's counters.
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build} LONG=0 LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL
top=${ADEPT_DEBUG_KERNEL:-$BUILD/vm/debug}
config=tests/vm/debug.config
package=linux-source-6.1
jobs=${VM_JOBS:-$(nproc)}
# An idle machine takes a third of these times at most.
suites="integrity:600 life:400 storm:900 loss:300 adopt:300 uring:300 view:300 reuse:300"
suites="$suites stall:400 compat:200 charge:300 memcg:200 trace:200"

give_up() {
	echo "    FAIL $*"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

# unpack FOLDER: it is there as a whole, or not at all
unpack() {
	[ ! -e "$1" ] || return 0
	[ -r "/usr/src/$package.tar.xz" ] ||
		give_up "$package is not installed: sh scripts/install-deps.sh --vm --debug-kernel"
	echo "unpacking $package $version"
	rm -rf "$1.part"
	mkdir -p "$1.part"
	tar -xf "/usr/src/$package.tar.xz" -C "$1.part" --strip-components=1 ||
		give_up "cannot unpack $package into $1.part"
	mv "$1.part" "$1"
}

# dropped FILE: the lines of debug.config that a kernel's configuration FILE does not fulfil.  An
# option that does not exist there is as good as one that is not set.
dropped() {
	local line option
	while read -r line; do
		option=$(sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set$/\1/p' <<<"$line")
		case $line in
		CONFIG_*) grep -qxF "$line" "$1" || echo "$line" ;;
		*) [ -z "$option" ] || ! grep -q "^$option=" "$1" || echo "$line" ;;
		esac
	done <"$config"
}

# build_kernel FOLDER
build_kernel() {
	local log=$BUILD/vm/debug-kernel.log lost
	! cmp -s "$config" "$1/adept.config" || [ ! -e "$image" ] || return 0
	rm -f "$1/adept.config"
	echo "building $package $version, which takes some minutes: see $log"
	make -C "$1" tinyconfig >"$log" 2>&1 || give_up "make tinyconfig: see $log"
	(cd "$1" && sh scripts/kconfig/merge_config.sh -m .config "$(realpath "$OLDPWD/$config")" &&
		make olddefconfig) >>"$log" 2>&1 || give_up "make olddefconfig: see $log"
	lost=$(dropped "$1/.config")
	[ -z "$lost" ] || give_up "this kernel has not: ${lost//$'\n'/, }"
	make -C "$1" -j"$jobs" bzImage modules_prepare >>"$log" 2>&1 ||
		give_up "the kernel cannot be built: see $log"
	cp "$1/vmlinux.symvers" "$1/Module.symvers"
	cp "$config" "$1/adept.config"
}

mkdir -p "$BUILD/vm" "$top" || exit 1
version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null)
tree=$(realpath "$top")/linux-${version:-missing}
image=$tree/arch/x86/boot/bzImage
unpack "$tree"
begun=$SECONDS
build_kernel "$tree"
echo "the kernel: $((SECONDS - begun)) s"
name=${VM_COVERAGE:+coverage}
name=${name:-debug}
ko=$BUILD/modules-$name/adept.ko
[ "$ko" -nt "$image" ] || rm -rf "${ko%/*}"
# UBSAN for the module alone: the kernel's own would make it slower.
export VM_KERNELS=$name VM_IMAGE=$image VM_KDIR=$tree KFLAGS=UBSAN_SANITIZE=y
export VM_SUITES=$suites VM_LIMIT=4000 VM_ARGUMENTS="adept.checks=1 watchdog_thresh=60"
if [ -n "${VM_COVERAGE:-}" ]; then
	# A function that is inlined early has no counters of its own.
	KFLAGS="$KFLAGS GCOV_PROFILE=y KCFLAGS=-fno-early-inlining"
	VM_SUITES="fuzz:$((VM_COVERAGE + 600))" VM_LIMIT=$((VM_COVERAGE + 1200))
	VM_ARGUMENTS="$VM_ARGUMENTS adept.fuzz=$VM_COVERAGE adept.gcov=1"
fi
# KASAN reports once only by default, and an early access of the kernel's own with
# five levels of page tables is that one.
VM_ARGUMENTS="$VM_ARGUMENTS kasan_multi_shot no5lvl"
exec bash tests/vm/run.sh "$@"
