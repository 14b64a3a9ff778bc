#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Install what Adept needs on Debian 12: install-deps.sh [--test] [--vm]
#
# Without --test what it takes to build it; with it also the programs that the tests
# and benchmarks run; with --vm what it takes to build the kernel module and to run it
# in QEMU, with a kernel image of the headers' version in build/vm.  To be run as root.
set -eu

packages="gcc make binutils libc6-dev libzydis-dev libzstd-dev libxxhash-dev libsqlite3-dev
	libcjson-dev libelf-dev libdw-dev liburing-dev"
tests="g++ libcmocka-dev clang libclang-rt-14-dev python3 strace pkg-config procps util-linux
	gawk mawk perl gzip bzip2 xz-utils zstd pigz sqlite3 luajit povray redis-server redis-tools
	libpython3.11-testsuite bc cppcheck"

vm="linux-headers-amd64 qemu-system-x86 busybox-static cpio kmod sparse bzip2 xz-utils pigz perl
	mawk sqlite3 python3"

# The image that belongs to the headers, unpacked: installing it would change what boots.
fetch_image() {
	kver=$(dpkg-query -W -f '${Depends}' linux-headers-amd64 |
		sed -n 's/.*linux-headers-\([^ ,]*-amd64\).*/\1/p')
	out=$(dirname "$0")/../build/vm
	[ ! -e "/boot/vmlinuz-$kver" ] && [ ! -e "$out/vmlinuz-$kver" ] || return 0
	dir=$(mktemp -d)
	chmod 755 "$dir"
	(cd "$dir" && apt-get download -q "linux-image-$kver" && dpkg -x ./*.deb .)
	mkdir -p "$out"
	cp "$dir/boot/vmlinuz-$kver" "$out"
	rm -r "$dir"
}

with_vm=
for arg; do
	case $arg in
	--test) packages="$packages $tests" ;;
	--vm)
		packages="$packages $vm"
		with_vm=1
		;;
	*)
		echo "Usage: install-deps.sh [--test] [--vm]" >&2
		exit 2
		;;
	esac
done
if ! command -v apt-get >/dev/null; then
	echo "install-deps.sh: there is no apt-get; install these yourself:" $packages >&2
	exit 1
fi
missing=
for p in $packages; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $p"
done
if [ -z "$missing" ]; then
	[ -z "$with_vm" ] || fetch_image
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "install-deps.sh: must be run as root, for instance by sudo" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# Not recommended ones: redis would not need them, povray would fetch a desktop.
apt-get install -q -y --no-install-recommends $missing
[ -z "$with_vm" ] || fetch_image
