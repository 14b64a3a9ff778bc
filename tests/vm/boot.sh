#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boot a guest: boot.sh KVER SECONDS NAME:SECONDS,... [KERNEL-ARGUMENT...]
#
# KVER names a kernel with headers installed and an image in /boot or $BUILD/vm; the
# module is built for it if it is not there.  The guest's output goes to stdout.
set -u
cd "$(dirname "$0")/../.." || exit 1
kver=$1 limit=$2 run=$3
shift 3
build=${BUILD:-build}
image=${VM_IMAGE:-}
for f in "/boot/vmlinuz-$kver" "$build/vm/vmlinuz-$kver"; do
	[ -n "$image" ] || [ ! -r "$f" ] || image=$f
done
if [ -z "$image" ]; then
	echo "There is no image of the kernel $kver: sh scripts/install-deps.sh --vm" >&2
	exit 1
fi
set -e
. tests/vm/module.sh
vm_module "$kver"
# For t_trouble: the same, but for its version.
other=$build/modules-$kver-other
if [[ ,$run = *,t_trouble:* ]] && outdated "$other/adept.ko"; then
	rm -rf "$other"
	mkdir -p "$other/include/uapi/linux"
	cp -r Kbuild kmod "$other"
	sed 's/\(define ADEPT_ABI_VERSION[^0-9]*\).*/\1999/' include/uapi/linux/adept.h \
		>"$other/include/uapi/linux/adept.h"
	sh kmod/kbuild.sh "${VM_KDIR:-/lib/modules/$kver/build}" "$other" -s modules \
		>"$build/vm/make.log" 2>&1 || { cat "$build/vm/make.log" >&2; exit 1; }
fi
sh tests/vm/build.sh "$build/vm/t"
root=$(mktemp -d "${TMPDIR:-/tmp}/adept-vm.XXXXXX")
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{bin,dev,proc,sys,tmp,t,etc}
cp /bin/busybox "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp tests/vm/guest.sh "$root/init"
cp tests/vm/guest_jobs.sh "$root/jobs"
chmod +x "$root/init"
cp "$ko" "$root/"
[[ ,$run != *,t_trouble:* ]] || cp "$other/adept.ko" "$root/adept-other.ko"
IFS=, read -ra jobs <<<"$run"
for j in "${jobs[@]}"; do
	if [ -e "tests/vm/${j%:*}" ]; then
		recording=1
		cp "tests/vm/${j%:*}" "$root/t/"
	else
		cp "$build/vm/t/${j%:*}" "$root/t/"
	fi
done
# Scripts record programs: these, with the libraries that they need.
if [ -n "${recording:-}" ]; then
	sh tests/programs/build.sh "$build/programs"
	mkdir -p "$root"/{usr/bin,w}
	find "$build/programs" -type f -perm -1 -exec cp {} "$root/w" \;
	sh tests/oracle/build.sh "$build"
	[[ $run != *t_policy:* ]] || {
		b=$(realpath --relative-to=. "$build")	# as dependencies have it
		make -s B="$b" "$b/tests/policy_vm" || exit 1
	}
	cp "$build"/{depctl,step_oracle,refcmp} "$root/usr/bin"
	[[ $run != *t_policy:* ]] || cp "$build/tests/policy_vm" "$root/usr/bin"
	[[ ! $run =~ t_(charged|attach): ]] || cp "$build/depd" "$root/usr/bin"
	for f in gzip bzip2 xz pigz perl mawk sqlite3; do
		cp -L "$(command -v $f)" "$root/usr/bin"
	done
	cp -L /usr/bin/python3 "$root/usr/bin"
	lib=$(/usr/bin/python3 -S -c 'import encodings; print(encodings.__path__[0])')
	mkdir -p "$root$lib"
	# with their times: else python3 compiles the files, and does so once
	cp -a "$lib/." "$root$lib"
	cp -p "${lib%/*}/os.py" "$root${lib%/*}"
	{
		# for pthread_exit()
		/sbin/ldconfig -p | sed -n 's/.*libgcc_s.so.1 (.*x86-64.* => //p'
		for f in "$root"/usr/bin/* "$root"/w/*; do
			ldd "$f" 2>/dev/null | grep -o '/[^ ]*'
		done
	} | sort -u | while read -r f; do
		mkdir -p "$root${f%/*}"
		cp -L "$f" "$root$f"
	done
fi
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$root.cpio.gz"
trap 'rm -rf "$root" "$root.cpio.gz"' EXIT
set +e
# shellcheck disable=SC2086
timeout -k 5 "$limit" qemu-system-x86_64 -accel "${VM_ACCEL:-tcg,thread=multi}" ${VM_QEMU:-} \
	-cpu max \
	-smp "${VM_SMP:-2}" -m "${VM_MEM:-2G}" -nographic -no-reboot -nic none \
	-kernel "$image" -initrd "$root.cpio.gz" \
	-append "console=ttyS0 quiet panic=-1 oops=panic softlockup_panic=1 random.trust_cpu=on \
		adept.run=$run $*" </dev/null | sed -u 's/\r//g'
exit "${PIPESTATUS[0]}"
