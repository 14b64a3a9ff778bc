#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make lint`: lines, licences, shell syntax, suites that testing.rst does not have; manual pages
# by groff and sources by cppcheck where these are installed.
cd "$(dirname "$0")/.." || exit 1
bad=0

say() {
	echo "$*"
	bad=1
}

sources() {
	git ls-files '*.c' '*.h' '*.S' '*.cpp' '*.sh' '*.py' '*.js' '*.css' \
		'*.lds' '*.in' Makefile .ci/run
}

python3 scripts/check-lines.py $(sources) || bad=1
python3 scripts/check-includes.py || bad=1
python3 scripts/check-words.py || bad=1
for licence in $(sources | xargs head -q -n 3 | sed -n 's/.*SPDX-License-Identifier: //p' |
	sed 's, \*/.*,,' | sort -u | tr ' ' '_'); do
	case $licence in
	GPL-2.0-or-later | GPL-2.0-only | LGPL-2.1-or-later) ;;
	GPL-2.0-or-later_WITH_Linux-syscall-note | GPL-2.0-only_WITH_Linux-syscall-note) ;;
	*) say "a file has the licence $licence, which LICENSES does not" ;;
	esac
done
for f in $(git ls-files '*.sh'); do
	if head -n 1 "$f" | grep -q bash; then
		bash -n "$f" || bad=1
	else
		sh -n "$f" || bad=1
	fi
done
# described SUITE: is it in the list of suites?
described() {
	grep '^[a-z]' Documentation/testing.rst | tr -d ' ' | tr , '\n' | grep -qx "$1" ||
		say "Documentation/testing.rst says nothing of the suite $1"
}

for suite in $(sed -nE 's/^[	]*(begin|suite|background) ([a-z][a-z-]*) .*/\2/p' tests/run.sh); do
	described "$suite"
done
for test in $(sed -n '/^UNIT :=/,/[^\\]$/p' Makefile | sed 's/.*:=//' | tr -d '\\'); do
	described "unit-$test"
done
sh scripts/check-man.sh || bad=1
sh scripts/check-papers.sh || bad=1
if command -v cppcheck >/dev/null; then
	# Addresses of the stack go to system calls; linker symbols are subtracted; rotations
	# are of 1 to 8 bytes.
	cppcheck -q -j 2 --std=c11 --enable=warning,portability --suppress=unknownMacro \
		--suppress=nullPointerArithmetic --suppress=autoVariables \
		--suppress=subtractPointers --suppress=comparePointers --suppress=zerodivcond \
		--error-exitcode=1 -Iinclude -I. libdep tools daemon || bad=1
else
	echo "cppcheck is not installed: left out"
fi
[ $bad = 0 ] && echo "nothing found"
exit $bad
