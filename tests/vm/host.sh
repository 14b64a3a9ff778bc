#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Suites of the host's in a guest: host.sh KVER SECONDS NAME:SECONDS,... [KERNEL-ARGUMENT...]
#
# There the module is loaded and BPF works, and there are all programs of this machine, see
# rootfs.sh; what was built, and the suites, in /t.  NAME names a file here, which knows the suite.
# Output is as boot.sh's.
set -u
cd "$(dirname "$0")/../.." || exit 1
kver=$1 limit=$2 run=$3
shift 3
build=${BUILD:-build}
suites=$(tr , '\n' <<<"$run" | sed 's/^t_//; s/:.*//')
. tests/vm/rootfs.sh
root_find "$kver"
set -e
root_make "$kver"
install -m 755 tests/vm/host_guest.sh "$root/stage/t/init"
install -m 644 tests/vm/guest_jobs.sh "$root/stage/t/jobs"
# What may be built anew here while it runs there.
mkdir -p "$root/stage/t/build" "$root"/stage/t/tests/{breach,programs} "$root/stage/t/libdep"
cp "$build"/{depctl,depd} "$root/stage/t/build"
cp tests/*.sh "$root/stage/t/tests"
cp tests/breach/* "$root/stage/t/tests/breach"
cp tests/programs/*.h "$root/stage/t/tests/programs"
cp -r libdep/abi "$root/stage/t/libdep"
for s in $suites; do
	install -m 755 "tests/vm/t_$s" "$root/stage/t/"
done
set +e
root_boot "$limit" adept.init=/t/init "adept.run=$run" softlockup_panic=1 "$@"
