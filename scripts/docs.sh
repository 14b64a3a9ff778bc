#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build the documentation as HTML and check it: docs.sh OUTPUT-DIR
#
# Warnings of Sphinx are errors, also references that lead nowhere.  Files of this tree that the
# documentation names must exist.
cd "$(dirname "$0")/.." || exit 1
out=${1:?}
bad=0
if ! command -v sphinx-build >/dev/null; then
	echo "docs.sh: sphinx-build is not installed (scripts/install-deps.sh --long)" >&2
	exit 1
fi
mkdir -p "$out" || exit 1
sphinx-build -W --keep-going -n -q -b html -d "$out/.doctrees" Documentation "$out" || bad=1
# ``libdep/abi/stream.h`` and the like, but for patterns and names of what a build makes
top='libdep|daemon|kmod|tools|tests|include|scripts|Documentation'
for doc in README.md Documentation/*.rst; do
	grep -oE "\`($top)/[A-Za-z0-9_./-]+\`" "$doc" | tr -d '\`' | sort -u |
		while read -r path; do
		[ -e "$path" ] || echo "$doc: there is no $path"
	done
done | grep . && bad=1
sh scripts/check-man.sh || bad=1
exit $bad
