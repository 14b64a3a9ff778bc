#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module's tests, in QEMU: run.sh [SUITE...]
#
# Each suite is a program t_SUITE.  All run in one guest; the last line is "N passed, M
# failed, K skipped".  What the kernel complains about, a suite that dies or does not
# end, a guest that hangs, and a module that cannot be removed afterwards count as
# failures.  Which kernels: VM_KERNELS, or all that have headers and an image; the first
# one runs all suites, the others those that are quick.  LONG=1: longer fuzzing and storms.
# VM_SUITES ("NAME:SECONDS ..."), VM_LIMIT (seconds in all), VM_ARGUMENTS (of the kernel): for
# debug.sh.
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build} LONG=${LONG:-0} LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL
suites="integrity:120 trace:30 loss:60 life:60 adopt:60 uring:60 memcg:30 storm:150 fuzz:100"
suites="$suites view:60 reuse:60 stall:90 compat:30 charge:60"
suites="$suites policy:400 record:900 trouble:60 charged:200 attach:700"
# Only those that are named, or with LONG=1: threads takes minutes, the others have guests of their
# own, see host.sh and systemd.sh.
named="threads:500"
suites=${VM_SUITES:-$suites}
of_host="redis:600 rules:2000 attack:3600"
quick="integrity:120 trace:30 loss:60 life:60 adopt:60 uring:60 view:60 reuse:60 compat:30"
log=$BUILD/log
mkdir -p "$log" "$BUILD/vm"
passed=0 failed=0 skipped=0

# kernels: those with headers and an image, the newest last
kernels() {
	for h in /lib/modules/*/build; do
		k=$(basename "$(dirname "$h")")
		[ -e "$h/Makefile" ] || continue
		[ -r "/boot/vmlinuz-$k" ] || [ -r "$BUILD/vm/vmlinuz-$k" ] || continue
		echo "$k"
	done | sort -V
}

# plan LIST: "t_NAME:SECONDS," of those that are wanted
plan() {
	local list=$1 j
	for j in $list; do
		if [ -z "$wanted" ] || [[ " $wanted " = *" ${j%:*} "* ]]; then
			printf 't_%s:%s,' "${j%:*}" $((${j#*:} * (LONG == 1 ? 10 : 1)))
		fi
	done
}

bad() {
	failed=$((failed + 1))
	echo "    FAIL $*"
}

# evaluate FILE: print a line per suite, add up
evaluate() {
	local file=$1 name= line p f s since=0
	while read -r line; do
		case $line in
		"VM begin "*)
			name=${line#VM begin t_}
			p= f= s=
			;;
		*" passed, "*" failed, "*" skipped")
			read -r p f s < <(tr -dc '0-9 ' <<<"$line")
			;;
		FAIL* | SKIP*) echo "    $name: $line" | cut -c 1-200 ;;
		"VM dmesg "*) bad "$name: the kernel complains, see $file" ;;
		"VM late "*) bad "the kernel complains: ${line#VM late }" ;;
		"VM insmod failed") bad "the module cannot be loaded" ;;
		"VM rmmod 1") bad "the module cannot be removed" ;;
		"VM end "*)
			printf '%-12s %s passed, %s failed, %s skipped\n' "$name" "${p:-?}" \
				"${f:-?}" "${s:-?}"
			[ -n "$p" ] && [ "${line##* }" -le 1 ] ||
				bad "$name: died or did not end (${line##* })"
			[ "${p:-1}${f:-1}" != 00 ] || bad "$name: it tested nothing"
			passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0}))
			skipped=$((skipped + ${s:-0}))
			name=
			;;
		esac
	done <"$file"
	[ -z "$name" ] || bad "$name: the guest did not live to its end"
	grep -q '^VM done' "$file" || bad "the guest did not come to its end, see $file"
}

# guest KVER LIST ARGUMENT...
guest() {
	local kver=$1 run file=$log/vm-$1.log begun=$SECONDS limit=60 most j
	run=$(plan "$2")
	shift 2
	[ -n "$run" ] || return
	for j in ${run//,/ }; do
		limit=$((limit + ${j#*:}))
	done
	# What hangs is to end, whatever single suites may take; an idle machine takes five minutes.
	most=${VM_LIMIT:-1800}
	[ "$LONG" = 1 ] || [ "$limit" -lt "$most" ] || limit=$most
	timeout -k 10 $((limit + 180)) bash tests/vm/boot.sh "$kver" "$limit" "${run%,}" \
		adept.rmmod=1 adept.long="$LONG" adept.seed="${ADEPT_TEST_SEED:-}" "$@" \
		>"$file" 2>&1
	evaluate "$file"
	echo "$kver: $((SECONDS - begun)) s"
}

# of_host KVER: those that are the host's
of_host() {
	local file=$log/vm-host.log begun=$SECONDS run limit=120 j
	run=$([ "$LONG" = 1 ] || [ -n "$wanted" ] && LONG=0 plan "$of_host")
	[ -n "$run" ] || return
	for j in ${run//,/ }; do
		limit=$((limit + ${j#*:}))
	done
	timeout -k 10 $((limit + 180)) bash tests/vm/host.sh "$1" "$limit" "${run%,}" \
		adept.rmmod=1 adept.slow=4 adept.long="$LONG" slub_debug=FZP page_poison=1 \
		>"$file" 2>&1
	evaluate "$file"
	echo "$1 with the host's programs: $((SECONDS - begun)) s"
}

# with_systemd KVER
with_systemd() {
	local file=$log/vm-systemd.log begun=$SECONDS
	# Only when asked for, or with LONG=1: its time limits are real, and emulation slow.
	[ "$LONG" = 1 ] || [[ " $wanted " = *" systemd "* ]] || return
	timeout -k 10 700 bash tests/vm/systemd.sh "$1" 600 >"$file" 2>&1
	evaluate "$file"
	echo "$1 with systemd: $((SECONDS - begun)) s"
}

wanted=$*
for name in $wanted; do
	[[ " $suites $named $of_host systemd:" = *" $name:"* ]] ||
		bad "there is no suite $name, but: $(sed 's/:[0-9]*//g' \
			<<<"$suites $named $of_host systemd")"
done
if ! command -v qemu-system-x86_64 >/dev/null || [ ! -x /bin/busybox ]; then
	bad "qemu or busybox is not installed: sh scripts/install-deps.sh --vm"
else
	mapfile -t found < <(kernels)
	read -ra found <<<"${VM_KERNELS:-${found[*]}}"
	if [ ${#found[@]} = 0 ]; then
		bad "no kernel has headers and an image: sh scripts/install-deps.sh --vm"
	fi
	# The kernel's own checks, as far as Debian's has any.
	for i in "${!found[@]}"; do
		list=$quick
		if [ "$i" = 0 ]; then
			list=$suites
			[ "$LONG$wanted" = 0 ] || list="$list $named"
		fi
		# shellcheck disable=SC2086
		guest "${found[$i]}" "$list" slub_debug=FZP page_poison=1 ${VM_ARGUMENTS:-}
		[ "$i" != 0 ] || of_host "${found[$i]}"
		[ "$i" != 0 ] || with_systemd "${found[$i]}"
	done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
