#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The first init of a guest that has the host's root file system, which cannot be written, below
# a tmpfs; what /stage has is above it.  Then adept.init=PROGRAM, or systemd with nothing to start
# but the journal and the tests.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
init=$(tr -s ' \t' '\n' </proc/cmdline | sed -n 's/^adept\.init=//p')
for m in $(cat /modules/order); do
	insmod "/modules/$m"
done
[ ! -e /adept.ko ] || insmod /adept.ko
mkdir -p /host /up /new
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=1048576,cache=loose host /host &&
	mount -t tmpfs -o size=75% up /up && mkdir /up/upper /up/work &&
	mount -t overlay -o lowerdir=/host,upperdir=/up/upper,workdir=/up/work root /new || {
	echo "There is no root file system."
	poweroff -f
}
rm -f /new/usr/lib/systemd/system-generators/* /new/usr/lib/systemd/system/sysinit.target.wants/*
rm -rf /new/etc/systemd/system/* /new/run/* /new/etc/fstab /new/etc/modules-load.d/*
rm -rf /new/usr/local/lib/systemd /new/var/log/journal /new/.dockerenv
cp -a /stage/. /new/
mkdir -p /new/run /new/tmp
mount --move /proc /new/proc
mount --move /dev /new/dev
exec switch_root /new "${init:-/lib/systemd/systemd}"
