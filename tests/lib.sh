# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of the test scripts; source this file.  Sets $tests (this directory), $top, $build, and
# $tmp (a scratch directory, removed at the end; KEEP=1 keeps it and prints its name).  $DEPCTL
# names depctl, $BUILD the build directory; LONG=1 selects longer tests.
tests=$(cd "$(dirname "$0")" && pwd)
while [ ! -e "$tests/lib.sh" ]; do
	tests=$(dirname "$tests")
done
top=$(dirname "$tests")
build=${BUILD:-$top/build}
DEPCTL=${DEPCTL:-$build/depctl}
LONG=${LONG:-0}
oracle=$build/step_oracle
passed=0
failed=0
skipped=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/adept-test.XXXXXX") || exit 1
# For the traps of suites that have their own.
drop_tmp() {
	[ -n "${KEEP:-}" ] || rm -rf "$tmp"
}
[ -z "${KEEP:-}" ] || echo "kept: $tmp"
trap drop_tmp EXIT
trap 'exit 1' INT TERM
. "$tests/environment.sh"
. "$tests/flip.sh"
# No suite uses a depd that it did not start.
export ADEPT_RUNDIR=$tmp/run

pass() {
	passed=$((passed + 1))
	[ -n "${QUIET:-}" ] || echo "ok   $*"
}

fail() {
	failed=$((failed + 1))
	echo "FAIL $*"
}

skip() {
	skipped=$((skipped + 1))
	echo "SKIP $*"
}

# is NAME THIS THAT: the test NAME passes if both are equal
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1: $2, not $3"
	fi
}

# wait_for SECONDS COMMAND...: repeat the command until it succeeds
wait_for() {
	tries=$(($1 * 20))
	shift
	while ! "$@" 2>/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit
}

# need_depctl: skip the suite if there is no depctl
need_depctl() {
	if [ ! -x "$DEPCTL" ]; then
		skip "$(basename "$0"): no depctl at $DEPCTL (set DEPCTL)"
		finish
	fi
}

# have COMMAND: is it installed?  If not, count a skip.
have() {
	command -v "$1" >/dev/null 2>&1 && return 0
	skip "$1 is not installed"
	return 1
}

# clean COMMAND...: run with a small, fixed environment, so that stacks are equal
clean() {
	env -i PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C HOME=/nonexistent \
		ADEPT_RUNDIR="$ADEPT_RUNDIR" \
		PYTHONHASHSEED=0 PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 "$@"
}

# recorded STORE OPTION... -- COMMAND...: record it alone, its output in `out', messages in `err'
recorded() {
	clean timeout 120 "$DEPCTL" record -q --alone -o "$@" >out 2>err </dev/null && return
	fail "recording $1: $(tail -n 1 err)"
	return 1
}

# programs SUITE: names of the test programs whose "Suite:" matches
programs() {
	grep -l "Suite: *$1" "$tests"/programs/*.c "$tests"/programs/*.S \
		"$tests"/programs/*.cpp 2>/dev/null | sed 's,.*/,,; s,\.[^./]*$,,'
}

# text BYTES: a deterministic text whose words have different frequencies
text() {
	awk -v n="$1" 'BEGIN {
		s = 12345
		while (out < n) {
			s = (s * 1103515245 + 12345) % 2147483648
			w = int(s / 65536) % 400
			line = line sprintf("w%d%s ", int(w * w / 400), substr("abcdefgh", w % 8))
			if (length(line) > 70) {
				print line
				out += length(line) + 1
				line = ""
			}
		}
	}' | head -c "$1"
}

# numbers COUNT: pseudo-random numbers, one per line
numbers() {
	awk -v n="$1" 'BEGIN {
		s = 4711
		while (n-- > 0) {
			s = (s * 1103515245 + 12345) % 2147483648
			print int(s / 256)
		}
	}'
}
