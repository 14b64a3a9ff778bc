#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A process ends in any way while its threads run: each thread's stream has its end, and nothing is
# counted as lost.  LONG=1: 50 times instead of 3.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
limit=${LIMIT:-120}
rounds=3
[ "$LONG" = 1 ] && rounds=50

# whole NAME: the streams of all threads end where the threads ended
whole() {
	"$DEPCTL" info --quick --json "$tmp/dep" >"$tmp/json" 2>"$tmp/err" || {
		fail "$1: info: $(tail -n 1 "$tmp/err")"
		return 1
	}
	n=$(grep -o '"end":"[a-z]*"' "$tmp/json" | wc -l)
	w=$(grep -o '"end":"whole"' "$tmp/json" | wc -l)
	if [ "$n" -lt 8 ] || [ "$n" -ne "$w" ] ||
	   ! grep -q '"unfinished_threads":0' "$tmp/json"; then
		fail "$1: $w of $n streams are whole"
		return 1
	fi
}

# marks: threads that did not wait for room in their ring have an end event as well
marks() {
	"$DEPCTL" dump --events "$tmp/dep" >"$tmp/events" 2>"$tmp/err" || {
		fail "$1: dump: $(tail -n 1 "$tmp/err")"
		return 1
	}
	w=$(grep -c 'thread.end' "$tmp/events")
	[ "$w" -eq "$n" ] || {
		fail "$1: $w of $n streams have an event at their end"
		return 1
	}
}

# ends HOW STATUS OUTPUT
ends() {
	i=0
	while [ $i -lt "$rounds" ]; do
		i=$((i + 1))
		rm -rf "$tmp/dep"
		(cd "$tmp" && ulimit -c 0 &&
			exec timeout "$limit" "$DEPCTL" record -q --self-check --ring-size=128M \
				-o dep -- "$build/programs/ends" "$1") >"$tmp/out" 2>"$tmp/err"
		s=$?
		if [ $s -ne "$2" ]; then
			fail "$1: exit status $s instead of $2: $(tail -n 1 "$tmp/err")"
		elif [ "$(tail -n 1 "$tmp/out")" != "$3" ]; then
			fail "$1: the output is $(tail -n 1 "$tmp/out") instead of $3"
		elif [ -s "$tmp/err" ]; then
			fail "$1: depctl says: $(tail -n 1 "$tmp/err")"
		elif ! timeout "$limit" "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1; then
			fail "$1: verify: $(tail -n 1 "$tmp/verify")"
		else
			whole "$1" && marks "$1" && pass "$1: $n threads"
		fi
	done
}

ends exit 0 exit
ends thread 0 thread
ends both 0 both
ends vfork 0 vfork
ends exec 0 done
ends segv 139 segv
ends trap 133 trap
ends abort 134 abort
ends kill 137 kill
rounds=1
ends fails 0 fails
finish
