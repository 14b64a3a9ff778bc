#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The documentation builds without a warning, and the files that it names exist.
. "$(dirname "$0")/lib.sh"

have sphinx-build || finish
if sh "$top/scripts/docs.sh" "$tmp/html" >"$tmp/out" 2>&1; then
	pass "documentation"
else
	fail "documentation: $(head -n 1 "$tmp/out")"
	cat "$tmp/out"
fi
if [ -e "$tmp/html/architecture.html" ]; then
	pass "HTML is there"
else
	fail "there is no HTML"
fi
finish
