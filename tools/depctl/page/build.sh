#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Put the page together from its parts: build.sh HEAD TAIL STYLE.css SCRIPT.js...
#
# Writes HEAD, the page up to its data, and TAIL, which follows the data.  The scripts become one
# function.  The policy in the page allows only this script and this style, by their hashes: a
# browser then executes nothing else, whatever the data contains.
set -eu
head=$1 tail=$2 style=$3
shift 3
folder=$(dirname "$0")

# hash FILE: what a content security policy calls it
hash() {
	printf "'sha256-%s'" \
		"$(sha256sum <"$1" | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64)"
}

trap 'rm -f "$tail.js" "$head.css"' EXIT
{
	echo "'use strict';"
	echo "(function () {"
	cat "$@"
	echo "})();"
} >"$tail.js"
cat "$style" >"$head.css"
if grep -qi '</script\|<!--' "$tail.js" || grep -qi '</style' "$head.css"; then
	echo "build.sh: the script or the style ends its own element" >&2
	exit 1
fi
policy="default-src 'none'; script-src $(hash "$tail.js"); style-src $(hash "$head.css")"
policy="$policy; base-uri 'none'; form-action 'none'"
{
	sed "/^@STYLE@\$/,\$d; s|@POLICY@|$policy|" "$folder/page.html"
	printf '<style>'
	cat "$head.css"
	printf '</style>\n'
	sed "1,/^@STYLE@\$/d; /^@DATA@\$/,\$d" "$folder/page.html"
	printf '<script type="application/json" id="data">'
} >"$head"
{
	printf '</script>\n<script>'
	cat "$tail.js"
	printf '</script>\n'
	sed "1,/^@DATA@\$/d" "$folder/page.html"
} >"$tail"
