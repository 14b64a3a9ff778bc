#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The init of the guest that runs suites of the host's: see guest_jobs.sh; power off.  By bash,
# which waits for whom others leave behind.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tracefs trace /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
hostname guest
exec </dev/null >/dev/ttyS0 2>&1
dmesg -n 1
echo
[ -e /dev/adept ] || echo "VM insmod failed"
t=/t
. /t/jobs
busybox poweroff -f
