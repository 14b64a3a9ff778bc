#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-attach`: attach.sh [CASE...]; see attach.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
mkdir -p "$build/bench"
gcc -O2 -Wall -Wextra -pthread -o "$build/bench/threads" "$here/threads.c"
exec env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/attach.py" "$build" "$@"
