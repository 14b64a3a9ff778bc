#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depd under a real systemd: systemd.sh KVER SECONDS [KERNEL-ARGUMENT...]
#
# The guest's root file system is this machine's, read-only by 9p below a tmpfs, with what
# `make install DESTDIR=` makes on top.  Output is as boot.sh's: see evaluate in run.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
kver=$1 limit=$2
shift 2
build=${BUILD:-build}
systemd=/lib/systemd/systemd

# no REASON: the suite is left out
no() {
	printf 'VM begin t_systemd\nSKIP %s\n0 passed, 0 failed, 1 skipped\n' "$*"
	printf 'VM end t_systemd 0\nVM done\n'
	exit 0
}

for f in "/boot/vmlinuz-$kver" "$build/vm/vmlinuz-$kver"; do
	[ ! -r "$f" ] || image=$f
done
for f in / "$build/vm"; do
	[ ! -d "$f/lib/modules/$kver/kernel" ] || modules=$f
done
[ -x $systemd ] || no "systemd is not installed"
[ -n "${image:-}" ] || no "there is no image of the kernel $kver"
[ -n "${modules:-}" ] || no "there are no modules of the kernel $kver: install-deps.sh --vm"
set -e
root=$(mktemp -d "${TMPDIR:-/tmp}/adept-vm.XXXXXX")
trap 'rm -rf "$root" "$root.cpio.gz"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{bin,dev,proc,sys,modules,stage/t}
cp /bin/busybox "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
install -m 755 tests/vm/systemd_init.sh "$root/init"
[ ! -e "$build/modules-$kver/adept.ko" ] || cp "$build/modules-$kver/adept.ko" "$root/"

for m in virtio_pci 9pnet_virtio 9p overlay; do
	PATH=$PATH:/sbin modprobe -d "$modules" -S "$kver" --show-depends "$m"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r f; do
	name=$(basename "$f" .xz)
	case $f in
	*.xz) xz -dc "$f" >"$root/modules/$name" ;;
	*) cp "$f" "$root/modules/$name" ;;
	esac
	echo "$name" >>"$root/modules/order"
done

make -s install B="$build" PREFIX=/usr DESTDIR="$root/stage" >"$build/vm/install.log" 2>&1 ||
	{ cat "$build/vm/install.log" >&2; exit 1; }
[ ! -e "$root/stage/usr/sbin/depd" ] || mv "$root/stage/usr/sbin/depd" "$root/stage/t/depd"
# First a stand-in for depd, which does what depd cannot be asked to do.
make -s "$build/tests/keep_driver" B="$build" >>"$build/vm/install.log" 2>&1 ||
	{ cat "$build/vm/install.log" >&2; exit 1; }
install -D -m 755 "$build/tests/keep_driver" "$root/stage/usr/sbin/depd"
install -m 755 "$build/tests/keep_driver" "$root/stage/t/"
install -m 755 tests/vm/systemd_guest.sh "$root/stage/t/systemd"
install -m 644 tests/vm/systemd_driver.sh "$root/stage/t/hooks"
install -m 644 tests/vm/systemd_depd.sh "$root/stage/t/real"
mkdir -p "$root/stage/etc/systemd/system"
cat >"$root/stage/etc/systemd/system/adept-test.service" <<'END'
[Unit]
Description=Tests of depd's units
DefaultDependencies=no
Requires=systemd-journald.service
After=systemd-journald.service
[Service]
ExecStart=/t/systemd
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
END
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$root.cpio.gz"
set +e
# shellcheck disable=SC2086
timeout -k 5 "$limit" qemu-system-x86_64 -accel "${VM_ACCEL:-tcg,thread=multi}" ${VM_QEMU:-} \
	-cpu max -smp "${VM_SMP:-2}" -m "${VM_MEM:-2G}" -nographic -no-reboot -nic none \
	-fsdev local,id=host,path=/,security_model=none,multidevs=remap,readonly=on \
	-device virtio-9p-pci,fsdev=host,mount_tag=host \
	-kernel "$image" -initrd "$root.cpio.gz" \
	-append "console=ttyS0 quiet panic=-1 oops=panic random.trust_cpu=on fstab=no \
		systemd.unit=adept-test.service systemd.show_status=0 systemd.firstboot=0 \
		$*" </dev/null | sed -u 's/\r//g'
exit "${PIPESTATUS[0]}"
