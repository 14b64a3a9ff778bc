# SPDX-License-Identifier: GPL-2.0-or-later
# A guest whose root file system is this machine's, read-only by 9p below a tmpfs, with what is
# in $root/stage on top; source it in the top folder, after setting $build and $suites, the
# names of what is to be run there.
root='' image='' modules=''
. tests/vm/module.sh

# no REASON: the suites are left out
no() {
	for s in $suites; do
		printf 'VM begin t_%s\nSKIP %s\n0 passed, 0 failed, 1 skipped\n' "$s" "$*"
		printf 'VM end t_%s 0\n' "$s"
	done
	echo "VM done"
	exit 0
}

# root_find KVER: its image and modules
root_find() {
	for f in "/boot/vmlinuz-$1" "$build/vm/vmlinuz-$1"; do
		[ ! -r "$f" ] || image=$f
	done
	for f in / "$build/vm"; do
		[ ! -d "$f/lib/modules/$1/kernel" ] || modules=$f
	done
	[ -n "$image" ] || no "there is no image of the kernel $1"
	[ -n "$modules" ] || no "there are no modules of the kernel $1: install-deps.sh --vm"
}

# root_make KVER: the folder $root, which goes at the end
root_make() {
	root=$(mktemp -d "${TMPDIR:-/tmp}/adept-vm.XXXXXX")
	trap 'rm -rf "$root" "$root.cpio.gz"' EXIT
	chmod 755 "$root"
	mkdir -p "$root"/{bin,dev,proc,sys,modules,stage/t}
	cp /bin/busybox "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	install -m 755 tests/vm/rootfs_init.sh "$root/init"
	vm_module "$1"
	cp "$ko" "$root/"
	for m in virtio_pci 9pnet_virtio 9p overlay; do
		PATH=$PATH:/sbin modprobe -d "$modules" -S "$1" --show-depends "$m"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r f; do
		name=$(basename "$f" .xz)
		case $f in
		*.xz) xz -dc "$f" >"$root/modules/$name" ;;
		*) cp "$f" "$root/modules/$name" ;;
		esac
		echo "$name" >>"$root/modules/order"
	done
}

# root_boot SECONDS KERNEL-ARGUMENT...
root_boot() {
	local limit=$1
	shift
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$root.cpio.gz"
	# shellcheck disable=SC2086
	timeout -k 5 "$limit" qemu-system-x86_64 -accel "${VM_ACCEL:-tcg,thread=multi}" \
		${VM_QEMU:-} -cpu max -smp "${VM_SMP:-2}" -m "${VM_MEM:-2G}" -nographic \
		-no-reboot -nic none \
		-fsdev local,id=host,path=/,security_model=none,multidevs=remap,readonly=on \
		-device virtio-9p-pci,fsdev=host,mount_tag=host \
		-kernel "$image" -initrd "$root.cpio.gz" \
		-append "console=ttyS0 quiet panic=-1 oops=panic random.trust_cpu=on $*" \
		</dev/null | sed -u 's/\r//g'
	return "${PIPESTATUS[0]}"
}
