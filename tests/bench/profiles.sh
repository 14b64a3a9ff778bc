#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-profiles`: profiles.sh [PROGRAM...]; see profiles.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
mkdir -p "$build/bench"
gcc -O2 -static -Wall -Wextra -o "$build/bench/timecmd" "$here/timecmd.c"
exec env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/profiles.py" "$build" "$@"
