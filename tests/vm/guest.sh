#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the guest does, as its init: run the programs named on the kernel's command line
# (adept.run=NAME:SECONDS,...), look for complaints of the kernel after each, power off.
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
word() {
	tr -s ' \t' '\n' </proc/cmdline | sed -n "s/^adept\.$1=//p"
}
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LONG="$(word long)" SEED="$(word seed)" HOME=/tmp
export SLOW="$(word slow)"
complaints='WARNING|BUG|Oops|general protection|INFO: |possible|stall|hung_task'
complaints="$complaints|blocked for|leak|Bad page|bad:|UBSAN|KASAN|Redzone|Poison|corrupt"
dmesg -n 1
# behind what the firmware left on the line
echo
if ! insmod /adept.ko; then
	echo "VM insmod failed"
	dmesg | tail -n 20
fi
dmesg -c >/dev/null
for job in $(word run | tr , ' '); do
	name=${job%:*}
	echo "VM begin $name"
	timeout -s KILL "${job#*:}" "/t/$name"
	status=$?
	if dmesg | grep -qE "$complaints"; then
		echo "VM dmesg $name"
		dmesg | tail -n 60
		dmesg -c >/dev/null
	fi
	echo "VM end $name $status"
done
if [ -n "$(word rmmod)" ]; then
	rmmod adept && echo "VM rmmod 0" || echo "VM rmmod 1"
fi
dmesg | grep -E "$complaints" | sed 's/^/VM late /'
echo "VM done"
poweroff -f
