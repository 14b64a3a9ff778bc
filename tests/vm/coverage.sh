#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which of the module's functions and lines random calls execute: coverage.sh
#
# The suite fuzz runs for COVERAGE_SECONDS (3600) of the guest's clock under the kernel of
# debug.sh, which checks locks, memory and leaks, on a module with gcov's counters.  Two lines
# "N passed, M failed, K skipped": of the suites, and of the module's functions, where one that
# was never executed is a failure.  ADEPT_TEST_SEED repeats the numbers.
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build} VM_COVERAGE=${COVERAGE_SECONDS:-3600}
export ADEPT_TEST_SEED=${ADEPT_TEST_SEED:-$(date +%s)}
log=$BUILD/log/vm-coverage.log
rm -f "$log"
echo "seed $ADEPT_TEST_SEED, $VM_COVERAGE s"
bash tests/vm/debug.sh fuzz
status=$?
[ -e "$log" ] || exit 1
grep -a ' operations as ' "$log"
python3 tests/vm/coverage.py "$log" "$BUILD/modules-coverage" || status=1
exit $status
