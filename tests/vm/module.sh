# SPDX-License-Identifier: GPL-2.0-or-later
# The module for a guest's kernel; source it in the top folder, after setting $build.

# Asking kbuild whether there is anything to do takes longer than booting.
outdated() {
	[ ! -e "$1" ] || [ -n "$(find Kbuild kmod include/uapi -newer "$1" -type f)" ]
}

# vm_module KVER: $ko
vm_module() {
	ko=$build/modules-$1/adept.ko
	outdated "$ko" || return 0
	make -s modules B="$build" KVER="$1" M="$build/modules-$1" ${VM_KDIR:+KDIR=$VM_KDIR} \
		>"$build/vm/make.log" 2>&1 || { cat "$build/vm/make.log" >&2; return 1; }
}
