#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Documentation/papers.rst names tests that exist.
cd "$(dirname "$0")/.." || exit 1
status=0
names=$(grep -o '``[a-z][a-z_-]*\(: [a-z_0-9]*\)\?``' Documentation/papers.rst | tr -d '` ')
for test in $names; do
	suite=${test%%:*}
	case $test in
	unit-*:*)
		file=$(ls tests/unit/*/"test_${suite#unit-}.c" 2>/dev/null)
		[ -n "$file" ] && grep -q "[(, ]${test#*:}[,)]" "$file" && continue ;;
	unit-*)
		ls tests/unit/*/"test_${suite#unit-}.c" >/dev/null 2>&1 && continue ;;
	*)
		grep -Eq "^(suite|background) $suite " tests/run.sh && continue ;;
	esac
	echo "Documentation/papers.rst: there is no test $test"
	status=1
done
exit $status
