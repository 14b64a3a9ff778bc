#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depd under a real systemd: systemd.sh KVER SECONDS [KERNEL-ARGUMENT...]
#
# The guest's root file system is this machine's, see rootfs.sh, with what `make install DESTDIR=`
# makes on top.  Output is as boot.sh's: see evaluate in run.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
kver=$1 limit=$2
shift 2
build=${BUILD:-build}
suites=systemd
. tests/vm/rootfs.sh
[ -x /lib/systemd/systemd ] || no "systemd is not installed"
root_find "$kver"
set -e
root_make "$kver"
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
set +e
root_boot "$limit" fstab=no systemd.unit=adept-test.service systemd.show_status=0 \
	systemd.firstboot=0 "$@"
