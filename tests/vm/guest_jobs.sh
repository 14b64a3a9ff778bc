# SPDX-License-Identifier: GPL-2.0-or-later
# What an init of a guest does when all is mounted: run the programs named on the kernel's
# command line (adept.run=NAME:SECONDS,...), look for complaints of the kernel after each.
# Source it with $t, where they are.
word() {
	tr -s ' \t' '\n' </proc/cmdline | sed -n "s/^adept\.$1=//p"
}
export LONG="$(word long)" SEED="$(word seed)" SLOW="$(word slow)" FUZZ_SECONDS="$(word fuzz)"
complaints='WARNING|BUG|Oops|general protection|INFO: |possible|stall|hung_task'
complaints="$complaints|blocked for|leak|Bad page|bad:|UBSAN|KASAN|Redzone|Poison|corrupt"

# One line for each object that was allocated by the module and that nothing refers to.
leaks() {
	awk '/^unreferenced/ { object = $0; shown = 0 }
	     /\[adept\]/ && !shown { shown = 1; print object $0 }' /sys/kernel/debug/kmemleak
}

# Whether a kernel that checks (debug.sh) still does so, and what needs a question: kmemleak.
checks() {
	mount -t debugfs debug /sys/kernel/debug 2>/dev/null
	good=0 bad=0
	if grep -q 'debug_locks: *1' /proc/lockdep_stats; then
		echo "ok   lockdep is on"
		good=$((good + 1))
	else
		echo "FAIL lockdep has switched itself off"
		bad=$((bad + 1))
	fi
	# It passes over what is younger than five seconds; a second look finds fewer by mistake.
	sleep 6
	if ! echo scan >/sys/kernel/debug/kmemleak ||
		! echo scan >/sys/kernel/debug/kmemleak; then
		echo "FAIL kmemleak is off"
		bad=$((bad + 1))
	elif [ -n "$(leaks)" ]; then
		leaks | sed 's/^/FAIL kmemleak: /'
		bad=$((bad + 1))
	else
		echo "ok   kmemleak finds nothing of the module's"
		good=$((good + 1))
	fi
	echo "$good passed, $bad failed, 0 skipped"
	[ $bad = 0 ]
}

# What the module's functions have executed, for coverage.py.  It is still there when the module is
# gone, and then has its end, too.
coverage() {
	mount -t debugfs debug /sys/kernel/debug 2>/dev/null
	find /sys/kernel/debug/gcov -name '*.gcda' | while read -r f; do
		echo "VM gcda ${f##*/}"
		base64 "$f"
	done
	echo "VM gcda"
}

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
if [ -n "$(word checks)" ]; then
	echo "VM begin t_checks"
	checks
	echo "VM end t_checks $?"
fi
if [ -n "$(word rmmod)" ]; then
	rmmod adept && echo "VM rmmod 0" || echo "VM rmmod 1"
fi
[ -z "$(word gcov)" ] || coverage
dmesg | grep -E "$complaints" | grep -v "kmemleak: .* suspected" | sed 's/^/VM late /'
echo "VM done"
