#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-races`: races.sh [PROGRAM...]; see detectors.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
mkdir -p "$build/bench"
gcc -O2 -static -Wall -Wextra -o "$build/bench/timecmd" "$here/timecmd.c"
gcc -O2 -Wall -Wextra -pthread -o "$build/bench/spin" "$here/spin.c"
flags="-O2 -g -Wall -Wextra -pthread"
# shellcheck disable=SC2086
gcc $flags -o "$build/bench/lu" "$here/lu.c" -lm
rm -f "$build/bench/lu.tsan"
# shellcheck disable=SC2086
! command -v clang >/dev/null ||
	clang $flags -fsanitize=thread -o "$build/bench/lu.tsan" "$here/lu.c" -lm || true
exec env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/detectors.py" "$build" "$@"
