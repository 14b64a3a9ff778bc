# SPDX-License-Identifier: GPL-2.0-or-later
# What an init of a guest does when all is mounted: run the programs named on the kernel's
# command line (adept.run=NAME:SECONDS,...), look for complaints of the kernel after each.
# Source it with $t, where they are.
word() {
	tr -s ' \t' '\n' </proc/cmdline | sed -n "s/^adept\.$1=//p"
}
export LONG="$(word long)" SEED="$(word seed)" SLOW="$(word slow)"
complaints='WARNING|BUG|Oops|general protection|INFO: |possible|stall|hung_task'
complaints="$complaints|blocked for|leak|Bad page|bad:|UBSAN|KASAN|Redzone|Poison|corrupt"
dmesg -c >/dev/null
for job in $(word run | tr , ' '); do
	name=${job%:*}
	echo "VM begin $name"
	timeout -s KILL "${job#*:}" "$t/$name"
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
