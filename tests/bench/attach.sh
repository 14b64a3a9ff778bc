#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-attach`: attach.sh [CASE...]; see attach.py, and pauses.py for stampN and redis.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
mkdir -p "$build/bench"
for name in threads stamps; do
	gcc -O2 -Wall -Wextra -pthread -o "$build/bench/$name" "$here/$name.c"
done
stops='' pauses=''
for case; do
	case $case in
	stamp* | redis) pauses="$pauses $case" ;;
	*) stops="$stops $case" ;;
	esac
done
status=0
export PYTHONDONTWRITEBYTECODE=1
# shellcheck disable=SC2086
[ $# != 0 ] && [ -z "$stops" ] || /usr/bin/python3 "$here/attach.py" "$build" $stops || status=1
# shellcheck disable=SC2086
[ $# != 0 ] && [ -z "$pauses" ] || /usr/bin/python3 "$here/pauses.py" "$build" $pauses || status=1
exit $status
