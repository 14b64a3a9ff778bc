#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The engine does not change the recorded program's behaviour: with more processes than slots, core
# dumps, and locked memory it behaves as natively.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
limit=${LIMIT:-420}
programs=$build/programs

# record DIR COMMAND...: messages of depctl go to $tmp/err
record() {
	local dir=$1
	shift
	rm -rf "$dir"
	timeout "$limit" "$DEPCTL" record -q --alone -o "$dir" -- "$@" 2>"$tmp/err"
}

# number NAME: print one of the store's totals from $tmp/json
number() {
	grep -o "\"$1\":[0-9]*" "$tmp/json" | head -n 1 | cut -d: -f2
}

# ---- more processes than slots ----

# crowd CHILDREN: each process and each executed image is recorded or counted as lost
crowd() {
	local n=$1 all recorded lost
	"$programs/crowd" "$n" >"$tmp/native"
	record "$tmp/crowd" "$programs/crowd" "$n" >"$tmp/out"
	s=$?
	if [ $s -ne 0 ] || ! cmp -s "$tmp/native" "$tmp/out"; then
		fail "$n processes: status $s, $(tail -n 1 "$tmp/out"): $(tail -n 1 "$tmp/err")"
		return
	fi
	pass "$n processes: output and statuses are as natively"
	"$DEPCTL" info --quick --json "$tmp/crowd" >"$tmp/json" 2>"$tmp/err"
	# 0 and 1 modulo 3 create one more image; 2 creates two, by fork and execve.
	all=$((1 + n + (n + 2) / 3 + (n + 1) / 3 + n / 3 * 2))
	recorded=$("$DEPCTL" ls "$tmp/crowd" | grep -c '^process')
	lost=$(number lost_processes)
	if [ $((recorded + lost)) -eq $all ]; then
		pass "$n processes: $recorded images recorded + $lost lost = $all"
	else
		fail "$n processes: $recorded images recorded + $lost lost, but $all ran"
	fi
	rm -rf "$tmp/crowd"
}

# row CHILDREN: one after another, while the collector is stopped repeatedly
row() {
	local n=$1 depctl collector= recorded lost i
	rm -rf "$tmp/row"
	timeout "$limit" "$DEPCTL" record -q --alone -o "$tmp/row" -- sh -c "i=0
		while [ \$i -lt $n ]; do (exit 3); [ \$? = 3 ] || echo wrong; i=\$((i + 1)); done
		echo done" >"$tmp/out" 2>"$tmp/err" &
	depctl=$!
	for i in $(seq 100); do
		for p in /proc/[0-9]*; do
			[ "$(cat "$p/comm" 2>/dev/null)" = depctl-collect ] &&
				tr '\0' ' ' <"$p/cmdline" | grep -qF " $tmp/row " &&
				collector=${p#/proc/}
		done
		[ -z "$collector" ] || break
		sleep 0.05
	done
	if [ -z "$collector" ]; then
		fail "$n processes in a row: there is no collector"
		wait $depctl
		return
	fi
	for i in $(seq 8); do
		kill -STOP "$collector" 2>/dev/null || break
		sleep 0.8
		kill -CONT "$collector" 2>/dev/null || break
		sleep 0.1
	done
	wait $depctl
	s=$?
	"$DEPCTL" info --quick --json "$tmp/row" >"$tmp/json" 2>>"$tmp/err"
	recorded=$("$DEPCTL" ls "$tmp/row" | grep -c '^process')
	lost=$(number lost_processes)
	if [ $s -eq 0 ] && [ "$(cat "$tmp/out")" = done ] &&
		[ $((recorded + ${lost:-0})) -eq $((n + 1)) ]; then
		pass "$n processes in a row, collector stopped: $recorded recorded + $lost lost"
	else
		fail "$n processes in a row: status $s, $recorded recorded + $lost lost"
	fi
	rm -rf "$tmp/row"
}

# ---- core dumps ----

# core_of HOW [STORE]: make $tmp/cores/core...; print its apparent and its allocated bytes
core_of() {
	rm -rf "$tmp/cores"
	mkdir "$tmp/cores"
	(
		cd "$tmp/cores" || exit
		# If the engine's reserved memory is dumped, it must not fill the disk.
		ulimit -c 1048576
		if [ $# -gt 1 ]; then
			record "$2" "$programs/dumps_core" "$1"
		else
			"$programs/dumps_core" "$1"
		fi
	) >/dev/null 2>&1
	stat -c '%s %b' "$tmp"/cores/core* 2>/dev/null | awk '{ print $1, $2 * 512; exit }'
}

# core HOW: at most twice the size of the native one and 16 MiB
core() {
	local native recorded
	native=$(core_of "$1")
	recorded=$(core_of "$1" "$tmp/dep")
	if [ -z "$native" ]; then
		skip "core of $1: natively there is none"
	elif [ -z "$recorded" ]; then
		fail "core of $1: there is none"
	elif echo "$native $recorded" | awk '{ exit !($3 <= 2 * $1 + 16777216 &&
			$4 <= 2 * $2 + 16777216) }'; then
		pass "core of $1: $recorded bytes, natively $native"
	else
		fail "core of $1: $recorded bytes, natively $native"
	fi
}

cores() {
	local pattern
	pattern=$(cat /proc/sys/kernel/core_pattern)
	case $pattern in
	"|"* | */*)
		skip "core dumps: kernel.core_pattern is $pattern"
		return
		;;
	esac
	if ! (ulimit -c 1048576) 2>/dev/null; then
		skip "core dumps: the hard limit of their size is $(ulimit -Hc)"
		return
	fi
	for how in self fork exec dodump; do
		core $how
	done
	have gdb || return
	core_of self "$tmp/dep" >/dev/null
	if gdb -batch -nx -ex 'info threads' "$programs/dumps_core" "$tmp"/cores/core* \
		>"$tmp/gdb" 2>&1 && grep -q 'SIGABRT' "$tmp/gdb"; then
		pass "core of self: gdb reads it"
	else
		fail "core of self: gdb: $(tail -n 1 "$tmp/gdb")"
	fi
}

# ---- locked memory ----

# locks NAME PREFIX...: the same results natively and recorded; locked memory may differ by 1 MiB,
# resident memory by 32 MiB
locks() {
	local name=$1
	shift
	rm -rf "$tmp/locks"
	mkdir -m 777 "$tmp/locks"
	timeout "$limit" "$@" "$programs/locks_memory" "$tmp/locks/native" \
		>"$tmp/native" 2>"$tmp/err"
	s=$?
	if [ $s -ne 0 ]; then
		skip "$name: natively the status is $s: $(tail -n 1 "$tmp/err")"
		return
	fi
	timeout 60 "$@" "$DEPCTL" record -q --alone -o "$tmp/locks/dep" -- \
		"$programs/locks_memory" "$tmp/locks/recorded" >"$tmp/out" 2>"$tmp/err"
	s=$?
	if [ $s -ne 0 ] || ! cmp -s "$tmp/native" "$tmp/out"; then
		fail "$name: status $s: $(diff "$tmp/native" "$tmp/out" | sed -n 2p)"
		return
	fi
	pass "$name: results are as natively"
	paste -d: "$tmp/locks/native" "$tmp/locks/recorded" | awk -F: '{
		split($2, n, " "); split($4, r, " ")
		if (r[1] > n[1] + 1024 || r[1] < n[1] - 1024 || r[2] > n[2] + 32768) {
			print $1 ": " r[1] " KiB locked, " r[2] " resident; natively" $2
			bad = 1
		}
	} END { exit bad }' >"$tmp/bad" &&
		pass "$name: as much is locked" || fail "$name: $(head -n 1 "$tmp/bad")"
}

locked_memory() {
	locks "locked memory" env
	if [ "$(id -u)" != 0 ] || ! have setpriv || ! have prlimit; then
		return
	fi
	chmod 755 "$tmp"
	for bytes in 8388608 65536 0; do
		locks "locked memory, limit of $bytes bytes" prlimit --memlock=$bytes \
			setpriv --reuid 65534 --clear-groups
	done
}

# ---- no /proc, no descriptors ----

# hindered HOW [PREFIX...]: runs as natively, and each of its 6 images is recorded or counted as
# lost
hindered() {
	local how=$1 n lost
	shift
	rm -rf "$tmp/empty"
	mkdir -m 777 "$tmp/empty"
	timeout -k 5 60 "$@" "$programs/no_proc" "$how" "$tmp/empty" >"$tmp/native" 2>&1
	s=$?
	if [ $s -ne 0 ]; then
		skip "no_proc $how: natively the status is $s: $(tail -n 1 "$tmp/native")"
		return
	fi
	rm -rf "$tmp/hindered"
	mkdir -m 777 "$tmp/hindered"
	timeout -k 5 60 "$@" "$DEPCTL" record -q --alone -o "$tmp/hindered/dep" -- \
		"$programs/no_proc" "$how" "$tmp/empty" >"$tmp/out" 2>"$tmp/err"
	s=$?
	if [ $s -ne 0 ] || ! cmp -s "$tmp/native" "$tmp/out"; then
		fail "no_proc $how: status $s: $(diff "$tmp/native" "$tmp/out" | sed -n 2p)"
		return
	fi
	"$DEPCTL" info --quick --json "$tmp/hindered/dep" >"$tmp/json" 2>>"$tmp/err"
	n=$("$DEPCTL" ls "$tmp/hindered/dep" | grep -c '^process')
	lost=$(number lost_processes)
	if ! whole "$tmp/hindered/dep" 6; then
		fail "no_proc $how: verify: $(tail -n 1 "$tmp/verify")"
	elif [ $((n + ${lost:-0})) -ne 6 ]; then
		fail "no_proc $how: $n images recorded + ${lost:-0} lost instead of 6"
	else
		pass "no_proc $how${1:+ (not root)}: $n images recorded + ${lost:-0} lost"
	fi
	rm -rf "$tmp/hindered"
}

# ---- limits of memory ----

# whole STORE NUMBER: at most NUMBER images could not be followed, and nothing else is missing
whole() {
	local lost
	timeout 60 "$DEPCTL" verify "$1" >"$tmp/verify" 2>&1 && return
	"$DEPCTL" info --quick --json "$1" >"$tmp/json" 2>>"$tmp/err"
	lost=$(number lost_processes)
	[ "$(grep -cv '^loss: .* programs\? ran unrecorded:' "$tmp/verify")" = 1 ] &&
		[ "$lost" -gt 0 ] && [ "$lost" -le "$2" ]
}

# limited WHAT MIB: the program gets as much memory as natively, and its limits; they may leave no
# room for the engine in an image that it executes
limited() {
	"$programs/limits" "$@" >"$tmp/native" 2>&1
	record "$tmp/limits" "$programs/limits" "$@" >"$tmp/out"
	s=$?
	if [ $s -ne 0 ] || ! cmp -s "$tmp/native" "$tmp/out"; then
		fail "limits $*: status $s: $(diff "$tmp/native" "$tmp/out" | sed -n 2p)"
	elif ! whole "$tmp/limits" 1; then
		fail "limits $*: verify: $(tail -n 1 "$tmp/verify")"
	else
		pass "limits $*: as natively"
	fi
	rm -rf "$tmp/limits"
}

# refused KIB: a limit that leaves no room for the engine
refused() {
	(ulimit -d "$1" && timeout 60 "$DEPCTL" record -q --alone -o "$tmp/limits" -- true) \
		2>"$tmp/err"
	s=$?
	[ $s = 126 ] && [ ! -e "$tmp/limits" ] &&
		grep -q "cannot be recorded: .*ulimit -d" "$tmp/err" &&
		pass "an inherited limit of $1 KiB: $(tail -n 1 "$tmp/err")" ||
		fail "an inherited limit of $1 KiB: status $s: $(tail -n 1 "$tmp/err")"
	rm -rf "$tmp/limits"
}

# inherited KIB: a limit that leaves enough room
inherited() {
	local want="$1 end" got
	rm -rf "$tmp/limits"
	got=$(ulimit -d "$1" && timeout 60 "$DEPCTL" record -q --alone -o "$tmp/limits" -- \
		sh -c 'echo $(ulimit -d) end' 2>"$tmp/err")
	[ "$got" = "$want" ] && pass "an inherited limit of $1 KiB" ||
		fail "an inherited limit of $1 KiB: $got: $(tail -n 1 "$tmp/err")"
	rm -rf "$tmp/limits"
}

# handed_on: an image that runs natively gets the limits that the program has set
handed_on() {
	cp /bin/cat "$tmp/privileged"
	chown nobody "$tmp/privileged" && chmod 4755 "$tmp/privileged"
	set -- sh -c 'ulimit -d 3000000; exec "$0" /proc/self/limits' "$tmp/privileged"
	"$@" | grep "data size" >"$tmp/native"
	record "$tmp/limits" "$@" | grep "data size" >"$tmp/out"
	[ -s "$tmp/native" ] && cmp -s "$tmp/native" "$tmp/out" &&
		pass "limits of an image that runs natively" ||
		fail "limits of an image that runs natively: $(cat "$tmp/native" "$tmp/out")"
	rm -rf "$tmp/limits"
}

# mappings: close to the kernel's limit of mappings
mappings() {
	timeout 60 "$programs/mappings" all >"$tmp/native" 2>&1
	if [ "$(head -n 1 "$tmp/native")" != "all made" ]; then
		skip "mappings: vm.max_map_count is too large: $(head -n 1 "$tmp/native")"
		return
	fi
	record "$tmp/mappings" "$programs/mappings" all >"$tmp/out"
	s=$?
	if [ $s -ne 0 ] || ! cmp -s "$tmp/native" "$tmp/out"; then
		fail "mappings: status $s: $(tail -n 1 "$tmp/err")"
		return
	fi
	"$DEPCTL" info --quick --json "$tmp/mappings" >"$tmp/json" 2>>"$tmp/err"
	[ "$(number lost_threads)" -gt 0 ] &&
		pass "mappings: as natively, $(number lost_threads) threads unrecorded" ||
		fail "mappings: no thread was unrecorded, so this has shown nothing"
	rm -rf "$tmp/mappings"
}

mappings
limited none 0
limited data 200
limited space 300
limited soft 100
refused 600000
inherited 3000000
if [ "$(id -u)" = 0 ]; then
	handed_on
else
	skip "limits of an image that runs natively: it is set-uid, which takes root to make"
fi
for how in none descriptors limit errno kill trap; do
	hindered $how
done
if [ "$(id -u)" = 0 ]; then
	hindered chroot
	chmod 755 "$tmp"
	have setpriv && hindered kill setpriv --reuid 65534 --clear-groups
else
	skip "no_proc chroot: not root"
fi
locked_memory
cores
crowd 20
crowd 2000
row 1500
finish
