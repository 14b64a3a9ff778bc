#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After any crash the store opens, `verify` reports the loss, and everything before it is exact: the
# program killed at random times, the collector killed, a full disk, a torn last segment.  LONG=1:
# 100 kills instead of 10.
. "$(dirname "$0")/lib.sh"
need_depctl
limit=${LIMIT:-120}
seed=${SEED:-1}
kills=10
[ "$LONG" = 1 ] && kills=100
echo "seed $seed"

text 300000 >"$tmp/text"

# random LIMIT: sets $drawn to the next pseudo-random number below LIMIT
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	drawn=$((seed / 65536 % $1))
}

# opens NAME: the store can be read; verify may report losses (1)
opens() {
	timeout "$limit" "$DEPCTL" info "$tmp/dep" >"$tmp/info" 2>&1
	s=$?
	if [ $s -ne 0 ]; then
		fail "$1: info ends with $s: $(tail -n 1 "$tmp/info")"
		return 1
	fi
	timeout "$limit" "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1
	s=$?
	if [ $s -gt 1 ]; then
		fail "$1: verify ends with $s: $(tail -n 1 "$tmp/verify")"
		return 1
	fi
	timeout "$limit" "$DEPCTL" dump "$tmp/dep" --refs >"$tmp/refs" 2>"$tmp/err"
	s=$?
	if [ $s -gt 1 ]; then
		fail "$1: dump ends with $s: $(tail -n 1 "$tmp/err")"
		return 1
	fi
}

# prefix NAME: the references are a prefix of those of the complete run
prefix() {
	n=$(wc -l <"$tmp/refs")
	cut -d' ' -f2- "$tmp/refs" >"$tmp/part"
	head -n "$n" "$tmp/whole" | cmp -s - "$tmp/part" || {
		fail "$1: the $n references are not the beginning of the whole run's"
		return 1
	}
}

record() {
	rm -rf "$tmp/dep"
	(cd "$tmp" && exec timeout "$limit" "$DEPCTL" record -q -o dep "$@") \
		>/dev/null 2>"$tmp/err"
}

# The program kills itself after a random number of lines.
killed() {
	i=0
	while [ $i -lt "$kills" ]; do
		i=$((i + 1))
		random 3000
		n=$drawn
		record --no-aslr -- mawk -v n="$n" \
			'NR > n { exit_ = system("kill -9 $PPID") } { w[$1]++ }' text
		s=$?
		if [ $s -ne 137 ] && [ $s -ne 265 ]; then
			fail "kill $i: exit status $s instead of 137"
			continue
		fi
		opens "kill $i" &&
			pass "killed by itself at line $n: $(wc -l <"$tmp/refs") references kept"
	done
}

# Pids of processes with the name $1 that belong to the recording in $tmp, without forks.
recording() {
	for p in /proc/[0-9]*; do
		read -r name <"$p/comm" && [ "$name" = "$1" ] &&
			[ "$(readlink "$p/cwd")" = "$tmp" ] && echo "${p#/proc/}"
	done 2>/dev/null
}

# In the background the shell ignores signals that gzip expects.
record_gzip() {
	(cd "$tmp" && clean "$DEPCTL" record --no-aslr -q --ring-size=256K -o "$1" -- \
		/bin/gzip -9 -c short) \
		>/dev/null 2>"$tmp/err" &
}

# kill_recording MS: record gzip; after MS milliseconds kill depctl and its collector
kill_recording() {
	rm -rf "$tmp/dep"
	record_gzip dep
	sleep "$(printf '0.%03d' "$1")"
	kill -9 $(recording depctl) $(recording depctl-collect) 2>/dev/null
	wait $! 2>/dev/null
	while [ -n "$(recording gzip)$(recording depctl-collect)" ]; do
		sleep 0.02
	done
}

# Killed from outside while it computes; otherwise deterministic, so that the references of the
# complete run are known.
killed_outside() {
	text 8000 >"$tmp/short"
	record_gzip whole.dep
	if ! wait $!; then
		fail "whole run: $(tail -n 1 "$tmp/err")"
		return
	fi
	"$DEPCTL" dump "$tmp/whole.dep" --refs | cut -d' ' -f2- >"$tmp/whole"
	whole=$(wc -l <"$tmp/whole")
	i=0
	while [ $i -lt "$kills" ]; do
		i=$((i + 1))
		random 110
		kill_recording $((20 + drawn))
		# nothing was recorded, so there is nothing to check
		[ -e "$tmp/dep/manifest.json" ] || continue
		opens "collector killed $i" && prefix "collector killed $i" &&
			pass "collector killed: the first $n of $whole references kept"
	done
}

# A child that is killed: its recording may lack at most one record, which is reported.
killed_child() {
	if ! gcc -O1 -o "$tmp/killed" "$tests/programs/killed.c" 2>"$tmp/err"; then
		fail "killed.c: $(tail -n 1 "$tmp/err")"
		return
	fi
	i=0
	while [ $i -lt "$kills" ]; do
		i=$((i + 1))
		record --ring-size=64M -- sh -c 'exec ./killed file >base'
		s=$?
		if [ $s -ne 0 ]; then
			fail "killed child $i: exit status $s: $(tail -n 1 "$tmp/err")"
			continue
		fi
		mv "$tmp/err" "$tmp/said"
		opens "killed child $i" || continue
		done=$(tr -d '\000' <"$tmp/file" | wc -c)
		last=$(grep ' 1 W$' "$tmp/refs" | tail -n 1 | cut -d' ' -f3)
		kept=$((0x$last - 0x$(cat "$tmp/base") + 1))
		n=$("$DEPCTL" info --quick --json "$tmp/dep" |
			sed -n 's/.*"unfinished_threads":\([0-9]*\).*/\1/p')
		if [ $((done - kept)) -lt 0 ] || [ $((done - kept)) -gt "$n" ]; then
			fail "killed child $i: $kept of $done bytes kept, $n threads unfinished"
		elif [ "$n" = 1 ] && ! grep -q killed "$tmp/said"; then
			fail "killed child $i: nobody said so"
		elif [ "$n" = 1 ] && ! grep -q '^loss: 1 thread was killed' "$tmp/verify"; then
			fail "killed child $i: verify does not say so"
		else
			pass "killed child: $kept of $done bytes kept, $n threads unfinished"
		fi
	done
}

# With several threads, some are in the middle of a record.
killed_threads() {
	"$tests/programs/build.sh" "$build/programs" || return
	i=0
	while [ $i -lt $((kills / 3)) ]; do
		i=$((i + 1))
		record --ring-size=64M -- \
			sh -c "\"$build/programs/ends\" wait & sleep 0.1; kill -9 \$!; wait"
		"$DEPCTL" info --quick --json "$tmp/dep" >"$tmp/json" 2>&1
		n=$(sed -n 's/.*"unfinished_threads":\([0-9]*\).*/\1/p' "$tmp/json")
		e=$(grep -o '"end":"unfinished"' "$tmp/json" | wc -l)
		"$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1
		s=$?
		if grep -v '^loss: .*killed\|segments' "$tmp/verify"; then
			fail "killed threads $i: verify: $(head -n 1 "$tmp/verify")"
		elif [ "$n" != "$e" ] || [ $s -ne $((n > 0)) ] || [ "$n" -gt 8 ]; then
			fail "killed threads $i: $n counted, $e unfinished, verify ends with $s"
		else
			pass "killed threads: $n in the middle of a record"
		fi
	done
}

disk_full() {
	if [ "$(id -u)" -ne 0 ] || ! mkdir "$tmp/small" ||
	   ! mount -t tmpfs -o size=2m none "$tmp/small" 2>/dev/null; then
		skip "disk full: mounting a tmpfs needs root"
		return
	fi
	rm -rf "$tmp/dep"
	(cd "$tmp" && timeout "$limit" "$DEPCTL" record -q -o small/dep -- gzip -9 -c text) \
		>"$tmp/out" 2>"$tmp/err"
	s=$?
	gzip -9 -c "$tmp/text" >"$tmp/out1"
	if [ $s -ne 0 ] && [ $s -ne 1 ]; then
		fail "disk full: exit status $s: $(tail -n 1 "$tmp/err")"
	elif ! gzip -dc <"$tmp/out" | cmp -s - "$tmp/text"; then
		fail "disk full: the program's output is not whole"
	elif ! [ -s "$tmp/err" ]; then
		fail "disk full: nobody said so"
	else
		cp -r "$tmp/small/dep" "$tmp/dep"
		opens "disk full" && pass "disk full: $(tail -n 1 "$tmp/err")"
	fi
	umount "$tmp/small"
}

# Truncate the last segment file to many lengths: only its end may be lost.
torn() {
	head -c 50000 "$tmp/text" >"$tmp/little"
	record --no-aslr -- gzip -9 -c little || {
		fail "torn: recording: $(tail -n 1 "$tmp/err")"
		return
	}
	mv "$tmp/dep" "$tmp/good"
	last=$(ls "$tmp"/good/segments.* 2>/dev/null | sort | tail -n 1)
	if [ -z "$last" ]; then
		fail "torn: the store has no segments file"
		return
	fi
	size=$(stat -c %s "$last")
	"$DEPCTL" dump "$tmp/good" --refs 2>/dev/null | cut -d' ' -f2- >"$tmp/whole"
	random $((size - 1))
	for cut in 1 7 64 4096 $((1 + drawn)); do
		[ "$cut" -lt "$size" ] || continue
		rm -rf "$tmp/dep"
		cp -r "$tmp/good" "$tmp/dep"
		truncate -s "-$cut" "$tmp/dep/$(basename "$last")"
		opens "torn by $cut" || continue
		if "$DEPCTL" verify "$tmp/dep" >/dev/null 2>&1; then
			# Correct only if nothing but padding was cut off.
			if prefix "torn by $cut" && [ "$n" -eq "$(wc -l <"$tmp/whole")" ]; then
				pass "torn by $cut: all $n references are there"
			else
				fail "torn by $cut: verify does not notice"
			fi
		else
			prefix "torn by $cut" && pass "torn by $cut: the first $n references kept"
		fi
	done
}

killed
killed_outside
killed_child
killed_threads
disk_full
torn
finish
