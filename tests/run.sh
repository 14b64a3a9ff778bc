#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run the test suites and add up: run.sh [SUITE...]
#
# One line for each suite, with the failures below it; the last line is "N passed, M failed, K
# skipped".  $BUILD is the build folder (`make tests` fills it).  $BUILD/log has whole outputs, and
# in the file times the seconds of each suite and the processor time of its processes.  A suite that
# dies, hangs, prints no totals or runs no test counts as one failure.  LONG=1 asks for larger
# inputs; V=1 shows all output.  TEST selects tests of suites: a pattern for unit tests, arguments
# for the scripts that take names.

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
. tests/environment.sh
export BUILD=${BUILD:-$top/build} LONG=${LONG:-0}
export DEPCTL=$BUILD/depctl
export ADEPT_TEST_SEED=${ADEPT_TEST_SEED:-$(date +%s)}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
unset MAKEFLAGS MFLAGS MAKELEVEL
# Tests hold thousands of files open; the usual limit of a plain user is 1024.
ulimit -Sn "$(ulimit -Hn)"
# The tests must not use a depd of this machine; those that need one start it.
own=$(mktemp -d "${TMPDIR:-/tmp}/adept-run.XXXXXX") || exit 1
trap 'end_tree $(jobs -p); rm -rf "$own"' EXIT
trap 'exit 1' INT TERM
export ADEPT_RUNDIR=$own/run
log=$BUILD/log
mkdir -p "$log"
: >"$log/times"
passed=0 failed=0 skipped=0 bad=
wanted=" $* "
# Their scripts take names of tests as arguments.
with_names=" attach-servers attach-stress breach exactness predict races races-suites races-truth"
with_names="$with_names selfcheck chaos "
known=" "

# end_tree PID...: end processes and all that they have started
end_tree() {
	local pid children
	for pid; do
		children=$(pgrep -P "$pid")
		kill "$pid" 2>/dev/null
		# shellcheck disable=SC2086
		end_tree $children
	done
}

# totals FILE: passed, failed and skipped, from a suite's last line
totals() {
	tail -n 1 "$1" |
		sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p'
}

# the same from cmocka's output
cmocka_totals() {
	awk '/^\[  PASSED  \] [0-9]+ test/ { p += $4; seen = 1 }
		/^\[  FAILED  \] [0-9]+ test/ { f += $4; seen = 1 }
		/^\[  SKIPPED \] [0-9]+ test/ { s += $4 }
		END { if (seen) print p + 0, f + 0, s + 0 }' "$1"
}

# the same from the lines of a suite that did not end properly
counted() {
	awk '/^ok / { p++ } /^FAIL/ { f++ } /^SKIP/ { s++ } END { print p + 0, f + 0, s + 0 }' "$1"
}

# run NAME SECONDS COMMAND...: output to NAME.log, totals to NAME.sum, what to print to
# NAME.report
run() {
	local name=$1 limit=$2 file=$log/$1.log p f s status sum cpu begun=$SECONDS why=
	local TIMEFORMAT='%0U user %0S system'
	shift 2
	# If this shell is killed the suite ends, too.
	cpu=$({ time setpriv --pdeathsig TERM timeout -k 10 "$limit" "$@" </dev/null >"$file" 2>&1
	} 2>&1)
	status=$?
	case $name in
	unit-*) sum=$(cmocka_totals "$file") ;;
	*) sum=$(totals "$file") ;;
	esac
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		why="did not end within $limit seconds"
	elif [ -z "$sum" ]; then
		why="died with status $status and printed no totals"
	fi
	read -r p f s <<<"${sum:-$(counted "$file")}"
	if [ -z "$why" ] && [ "$status" != 0 ] && [ "$f" = 0 ]; then
		why="exit status $status"
	elif [ -z "$why" ] && [ "$p $f $s" = "0 0 0" ]; then
		why="ran no test"
	fi
	[ -z "$why" ] || f=$((f + 1))
	# The shell may have printed that the command was killed.
	echo "$((SECONDS - begun)) $name ${cpu##*$'\n'}" >>"$log/times"
	{
		printf '%-16s %s passed, %s failed, %s skipped (%s s)\n' "$name" "$p" "$f" "$s" \
			$((SECONDS - begun))
		grep -E '^SKIP' "$file" | sed 's/^/    /' | cut -c 1-200
		if [ "$f" != 0 ]; then
			grep -E '^(FAIL|\[  FAILED  \] [^0-9])' "$file" | sort -u | head -n 20 |
				sed 's/^/    /' | cut -c 1-200
			if [ -n "$why" ]; then
				echo "    FAIL $name: $why"
				tail -n 3 "$file" | sed 's/^/    | /' | cut -c 1-200
			fi
			echo "    all of it: $file; random cases: ADEPT_TEST_SEED=$ADEPT_TEST_SEED"
		fi
	} >"$log/$name.report"
	echo "$p $f $s" >"$log/$name.sum"
}

# admit NAME SECONDS: is it known and selected? Then sets $limit to its time limit, and $names to
# the arguments that select tests.
admit() {
	limit=$2 names=()
	known="$known$1 "
	[ "$wanted" = "  " ] || [[ $wanted = *" $1 "* ]] || return
	if [[ $with_names = *" $1 "* ]]; then
		read -ra names <<<"${TEST:-}"
	elif [[ -n ${TEST:-} && $1 != unit-* ]]; then
		echo "the suite $1 cannot run a part of its tests" >&2
		failed=$((failed + 1))
		return 1
	fi
	[ "$LONG" = 1 ] && limit=$((limit * 10))
	# make SAN=1
	[ -z "${SAN:-}" ] || limit=$((limit * 4))
	rm -f "$log/$1".*
}

# report NAME: print the report of a suite that has ended
report() {
	local p f s
	if [ ! -e "$log/$1.sum" ]; then
		printf '%-16s 0 passed, 1 failed, 0 skipped\n    FAIL %s: its shell was killed\n' \
			"$1" "$1" >"$log/$1.report"
		echo "0 1 0" >"$log/$1.sum"
	fi
	[ "${V:-}" != 1 ] || cat "$log/$1.log"
	cat "$log/$1.report"
	read -r p f s <"$log/$1.sum"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$f" = 0 ] || bad="$bad $1"
}

# suite NAME SECONDS COMMAND...: run it and report
suite() {
	local limit names
	admit "$1" "$2" || return
	# A shell that waits acts on signals at once.
	run "$1" "$limit" "${@:3}" "${names[@]}" &
	wait $!
	report "$1"
}

# Background suites run in parallel with those of suite(), so that all processors are busy: one at
# a time for each processor but one.  They record, ask and compute.  A suite that attaches to
# processes, has a depd, measures time or memory, or uses what the machine has once is not one of
# them: two of those could disturb each other.
# background NAME SECONDS COMMAND...: add a suite; start_background, wait_background: run all, and
# report in the order of the list
queued=() background=''
workers=$(($(nproc) > 2 ? $(nproc) - 1 : 1))
background() {
	local limit names
	admit "$1" "$2" || return
	queued+=("$(printf '%q ' run "$1" "$limit" "${@:3}" "${names[@]}")")
	background="$background $1"
}

run_queued() {
	local command n=0
	for command in "${queued[@]}"; do
		[ $((n++)) -lt "$workers" ] || wait -n
		eval "$command" &
	done
	wait
}

start_background() {
	run_queued &
	queue=$!
}

wait_background() {
	local s
	wait "$queue"
	for s in $background; do
		report "$s"
	done
}

# cases SHORT LONG: how many random cases a unit test tries
cases() {
	[ "$LONG" = 1 ] && echo "$2" || echo "$1"
}

# Time limits are for what hangs: a suite takes several times as long while the machine does other
# work.
echo "seed $ADEPT_TEST_SEED"
# These two build what other suites run.
suite oracle 300 sh tests/oracle/check.sh "$BUILD"
suite programs 300 sh tests/programs/run_native.sh "$BUILD/programs"
# Long ones first.
background exactness 1200 sh tests/exactness.sh
# races_truth tests the programs of races, races_suites uses those of other detectors
background races "$(cases 1200 3000)" env LEVELS="$(cases O2 "O0 O2")" bash tests/races.sh
background profiles 1200 bash tests/profiles.sh
background selfcheck 600 sh tests/selfcheck.sh
background fuzz-insn 300 bash tests/fuzz/insn_fuzz.sh
background fuzz-store 600 bash tests/fuzz/fuzz_store.sh
background fuzz-fold 600 bash tests/fuzz/fuzz_fold.sh
background fuzz-request 300 bash tests/fuzz/fuzz_request.sh
background fuzz-resume 300 bash tests/fuzz/fuzz_resume.sh
background fuzz-messages 300 bash tests/fuzz/fuzz_messages.sh
background fuzz-policy 300 bash tests/fuzz/fuzz_policy.sh
background fuzz-suppressions 300 bash tests/fuzz/fuzz_suppressions.sh
background fuzz-productions 300 bash tests/fuzz/fuzz_productions.sh
background where 300 sh tests/where.sh
background export 300 bash tests/export.sh
background export-compilers 300 bash tests/export_compilers.sh
background export-viewers 300 bash tests/export_viewers.sh
background diff 300 bash tests/diff.sh
background overlap 480 bash tests/overlap.sh
background streams 300 bash tests/streams.sh
background paths 300 bash tests/paths.sh
background formats 300 bash tests/formats.sh
background page 300 bash tests/page.sh
background stacks 300 bash tests/stacks.sh
background encoding 600 bash tests/encoding.sh
background backtraces 300 bash tests/backtraces.sh
background order 300 bash tests/order.sh
background functions 300 bash tests/functions.sh
background predict "$(cases 600 1200)" env LEVELS="$(cases O2 "O0 O2")" bash tests/predict.sh
background races-report 300 bash tests/races_report.sh
background races-programs 300 bash tests/races_programs.sh
background races-stacks 120 bash tests/races_stacks.sh
background races-locks 300 bash tests/races_locks.sh
background badinput 300 sh tests/badinput.sh
background install 300 sh tests/install.sh
background examples 300 sh tests/examples.sh
background kbuild 400 bash tests/kbuild.sh
background compile-commands 300 bash tests/compile_commands.sh
background manuals 600 /usr/bin/python3 tests/manuals.py "$DEPCTL"
background include-rules 300 sh tests/include_rules.sh
background prose 300 sh tests/prose.sh
background unit-decode 300 \
	env ADEPT_TEST_COUNT="$(cases 1000000 20000000)" "$BUILD/tests/test_decode"
background unit-derive 300 \
	env ADEPT_TEST_COUNT="$(cases 200000 5000000)" "$BUILD/tests/test_derive"
for t in $UNIT; do
	case $t in
	decode | derive | resume | durable) continue ;;
	esac
	background unit-$t 300 "$BUILD/tests/test_$t"
done
background unit-resume 300 "$BUILD/tests/test_resume"
background unit-durable 300 "$BUILD/tests/test_durable"
start_background
suite cli 300 bash tests/cli.sh "$DEPCTL" "$BUILD/tests/make_store"
suite json 600 bash tests/json.sh
suite live-profiles 900 bash tests/live_profiles.sh
suite metrics 300 bash tests/metrics.sh
suite display 300 bash tests/display.sh
suite transparency 480 sh tests/transparency.sh
suite attach 300 bash tests/attach.sh
suite attach-record 600 bash tests/attach_record.sh
suite last 300 bash tests/last.sh
suite last-depd 300 bash tests/last_depd.sh
suite last-disk-depd 300 bash tests/last_disk_depd.sh
suite last-bound 300 bash tests/last_bound.sh
suite last-disk 300 bash tests/last_disk.sh
suite snapshot 300 bash tests/snapshot.sh
suite triggers 300 bash tests/triggers.sh
suite triggers-depd 300 bash tests/triggers_depd.sh
suite detach 600 bash tests/detach.sh
suite pause 300 bash tests/pause.sh
suite attach-store 300 bash tests/attach_store.sh
suite attach-contexts 120 bash tests/attach_contexts.sh
suite native-children 300 bash tests/native_children.sh
suite attach-cases 300 bash tests/attach_cases.sh
suite attach-servers 300 bash tests/attach_servers.sh
suite attach-stress 300 bash tests/attach_stress.sh
suite chaos "$(cases 400 3000)" bash tests/chaos.sh
suite fragments 300 bash tests/fragments.sh
suite gdb 300 bash tests/gdb.sh
suite signal-events 300 bash tests/signal_events.sh
suite memory 300 sh tests/memory.sh
suite children 480 bash tests/children.sh
suite terminal 300 /usr/bin/python3 tests/terminal.py "$DEPCTL"
suite daemon 1200 bash tests/daemon.sh
suite attach-depd 300 bash tests/attach_depd.sh
suite share 300 bash tests/share.sh
suite temporary 300 bash tests/temporary.sh
suite depd-gone 300 bash tests/depd_gone.sh
suite crash 400 sh tests/crash.sh
suite kills "$(cases 300 360)" bash tests/kills.sh
suite ends 300 sh tests/ends.sh
suite disk-full 300 sh tests/disk_full.sh
suite first-engine 1400 bash tests/first_engine.sh
suite first-namespaces 300 bash tests/first_namespaces.sh
suite first-signals 300 bash tests/first_signals.sh
suite daemon-rules 300 bash tests/daemon_rules.sh
suite daemon-redis 300 bash tests/daemon_redis.sh
suite races-live 600 bash tests/races_live.sh
suite detectors 300 sh tests/detectors.sh
if [ "$LONG" = 1 ]; then
	suite races-truth 200 bash tests/races_truth.sh
	suite races-suites 1000 bash tests/races_suites.sh
	suite docs 60 sh tests/docs.sh
fi
suite readme 300 bash tests/readme.sh
wait_background
# Attacks, the number of the next process, and what depd's memory is after a while: alone.
suite rules-last 300 bash tests/rules_last.sh
suite breach 1200 bash tests/breach/run.sh
# SOAK_SECONDS, plus the time for starting and ending; LONG=1 multiplies it by ten
suite daemon-soak "$(cases 240 1080)" bash tests/daemon_soak.sh
sort -rn -o "$log/times" "$log/times"
for s in $wanted; do
	if [[ $known != *" $s "* ]]; then
		echo "there is no suite $s, but:$known" >&2
		failed=$((failed + 1))
	fi
done

# Repeat the failures near the end of the output.
for s in $bad; do
	echo
	cat "$log/$s.report"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
