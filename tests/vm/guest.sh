#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the guest does, as its init: see guest_jobs.sh; power off.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /tmp /sys/fs/cgroup
mount -t tmpfs tmp /dev/shm
mount -t tmpfs tmp /tmp
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
hostname guest
ip link set lo up
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
dmesg -n 1
# after what the firmware left on the line
echo
if ! insmod /adept.ko; then
	echo "VM insmod failed"
	dmesg | tail -n 20
fi
t=/t
. /jobs
poweroff -f
