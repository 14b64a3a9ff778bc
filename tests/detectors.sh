#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-races` fails if it could not measure, and leaves no process running.
. "$(dirname "$0")/lib.sh"
have python3 && have gcc || finish
mkdir "$tmp/bench"
gcc -O2 -o "$tmp/bench/timecmd" "$tests/bench/timecmd.c" || exit 1
gcc -O2 -pthread -o "$tmp/bench/spin" "$tests/bench/spin.c" || exit 1
PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 "$tests/bench/check_detectors.py" "$tmp"
