#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Check the manual pages with groff: macros that do not exist, or with missing arguments.
cd "$(dirname "$0")/.." || exit 1
if ! command -v groff >/dev/null; then
	echo "groff is not installed: manual pages are left out"
	exit 0
fi
bad=0
for page in Documentation/man/*; do
	groff -man -w mac -w missing -z "$page" 2>&1 | grep . && bad=1
done
exit $bad
