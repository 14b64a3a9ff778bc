#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Install what Adept needs on Debian 12: install-deps.sh [--test] [--long] [--vm] [--debug-kernel]
#
# Without options: the packages for the build.  --test adds the programs that tests and benchmarks
# run, --long those that only make check-long runs.  --vm adds the packages for building the kernel
# module and running it in QEMU, with a kernel image of the headers' version in build/vm.
# --debug-kernel, in addition to --vm, adds the kernel's source for make check-vm-debug.  Run as
# root.
set -eu

packages="gcc make binutils libc6-dev libzydis-dev libzstd-dev liblz4-dev libxxhash-dev
	libsqlite3-dev libcjson-dev libelf-dev libdw-dev liburing-dev libbpf-dev libsystemd-dev
	zlib1g-dev libbz2-dev liblzma-dev bpftool clang llvm"
tests="g++ libcmocka-dev libclang-rt-14-dev python3 strace pkg-config procps util-linux
	gawk mawk perl gzip bzip2 xz-utils zstd pigz sqlite3 luajit povray redis-server redis-tools
	libpython3.11-testsuite bc cppcheck python3-prometheus-client python3-jsonschema valgrind
	libomp-dev libcap2-bin sudo iputils-ping gdb jq nginx-light memcached postgresql
	postgresql-client stress-ng lua5.4 lcov protobuf-compiler golang-1.19-go autofdo bolt-16
	chromium dpkg-dev"

long="libevent-dev bzip2 python3-sphinx nodejs openjdk-17-jdk-headless"

vm="linux-headers-amd64 qemu-system-x86 busybox-static cpio kmod sparse bzip2 xz-utils pigz perl
	mawk sqlite3 python3"

debug_kernel="linux-source-6.1 flex bison bc libelf-dev libssl-dev xz-utils"

# The image that belongs to the headers, unpacked: installing it would change what boots.
# Of its modules those that a root file system by 9p takes.
fetch_image() {
	kver=$(dpkg-query -W -f '${Depends}' linux-headers-amd64 |
		sed -n 's/.*linux-headers-\([^ ,]*-amd64\).*/\1/p')
	out=$(dirname "$0")/../build/vm
	[ ! -e "/boot/vmlinuz-$kver" ] || return 0
	[ ! -e "$out/vmlinuz-$kver" ] || [ ! -e "$out/lib/modules/$kver/modules.dep" ] || return 0
	dir=$(mktemp -d)
	chmod 755 "$dir"
	(cd "$dir" && apt-get download -q "linux-image-$kver" && dpkg -x ./*.deb .)
	mkdir -p "$out"
	cp "$dir/boot/vmlinuz-$kver" "$out"
	(cd "$dir" && for m in modules.builtin modules.builtin.modinfo modules.order \
		kernel/fs/9p kernel/net/9p kernel/fs/netfs kernel/fs/fscache kernel/fs/overlayfs \
		kernel/drivers/virtio; do
		[ ! -e "lib/modules/$kver/$m" ] || echo "lib/modules/$kver/$m"
	done | xargs tar -c) | tar -x -C "$out"
	PATH=$PATH:/sbin depmod -b "$out" "$kver"
	rm -r "$dir"
}

# promtool out of its package, whose installation would start a server.
fetch_promtool() {
	out=$(dirname "$0")/../build/promtool
	! command -v promtool >/dev/null && [ ! -e "$out/promtool" ] || return 0
	dir=$(mktemp -d)
	chmod 755 "$dir"
	if (cd "$dir" && apt-get download -q prometheus && dpkg -x ./*.deb .); then
		mkdir -p "$out"
		cp "$dir/usr/bin/promtool" "$out"
		# make runs as whom the sources belong to.
		chown --reference="$out/../.." "$out/.." "$out"
	else
		echo "install-deps.sh: there is no promtool; the test of metrics does without" >&2
	fi
	rm -r "$dir"
}

# Viewers that read exported profiles, of npm; without npm their tests are skipped.
fetch_viewers() {
	out=$(dirname "$0")/../build/npm
	command -v npm >/dev/null || return 0
	for p in speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0; do
		[ ! -e "$out/node_modules/${p%@*}" ] || continue
		mkdir -p "$out"
		npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$out" \
			"$p" >/dev/null ||
			echo "install-deps.sh: npm has no $p; its test is skipped" >&2
		chown --reference="$out/../.." "$out/.."
		chown -R --reference="$out/../.." "$out"
	done
}

with_vm=
with_fetched=
for arg; do
	case $arg in
	--test)
		packages="$packages $tests"
		with_fetched=1
		;;
	--long)
		packages="$packages $long"
		;;
	--vm)
		packages="$packages $vm"
		with_vm=1
		;;
	--debug-kernel)
		packages="$packages $debug_kernel"
		;;
	*)
		echo "Usage: install-deps.sh [--test] [--long] [--vm] [--debug-kernel]" >&2
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
	[ -z "$with_fetched" ] || fetch_promtool
	[ -z "$with_fetched" ] || fetch_viewers
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "install-deps.sh: must be run as root, for instance by sudo" >&2
	exit 1
fi
# No server is started: as if in single user mode, and by a policy, which systemd's helper asks for.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ] && [ ! -L $policy ]; then
	trap 'rm -f $policy' EXIT
	trap 'exit 1' INT TERM
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi
apt-get update -q
# Not recommended ones: redis would not need them, povray would fetch a desktop.
apt-get install -q -y --no-install-recommends $missing
[ -z "$with_vm" ] || fetch_image
[ -z "$with_fetched" ] || fetch_promtool
[ -z "$with_fetched" ] || fetch_viewers
