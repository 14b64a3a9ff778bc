#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Run every test program natively, twice: exit status 0, the same output both times.
# run_native.sh BUILD-DIR
. "$(dirname "$0")/../lib.sh"
dir=$1
"$(dirname "$0")/build.sh" "$dir" || exit 1
for name in $(programs .); do
	if ! timeout 120 "$dir/$name" >"$tmp/a" 2>"$tmp/err" </dev/null; then
		fail "$name: $(head -n 3 "$tmp/err")"
		continue
	fi
	timeout 120 "$dir/$name" >"$tmp/b" 2>&1 </dev/null
	if ! [ -s "$tmp/a" ]; then
		fail "$name: no output"
	elif ! cmp -s "$tmp/a" "$tmp/b"; then
		fail "$name: two runs differ"
	elif grep -q '^skipped' "$tmp/a"; then
		skip "$name: $(cat "$tmp/a")"
	else
		pass "$name"
	fi
done
finish
