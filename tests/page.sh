#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl report --html: the sums in the page, and the page in a browser.
. "$(dirname "$0")/lib.sh"
need_depctl
python=$(command -v python3)

# in_browser TEST ARGUMENT...: run a test of page.py
in_browser() {
	mkdir -p "$tmp/browser"
	"$python" "$tests/page.py" "$1" "$tmp/browser" "${@:2}" >"$tmp/checks" 2>&1
	status=$?
	while IFS= read -r line; do
		case $line in
		"ok "*) pass "${line#ok }" ;;
		"FAIL "*) fail "${line#FAIL }" ;;
		esac
	done <"$tmp/checks"
	grep -q '^ok ' "$tmp/checks" || fail "$1 made no check: $(tail -n 1 "$tmp/checks")"
	[ $status = 0 ] || fail "$1: status $status: $(tail -n 1 "$tmp/checks")"
}

line() {
	grep -n "MARK $1 " "$tests/programs/page_target.c" | cut -d : -f 1
}

record() {
	gcc -O0 -g -pthread -o "$tmp/target" "$tests/programs/page_target.c" &&
		"$DEPCTL" record -o "$tmp/target.dep" -- "$tmp/target" >"$tmp/out" 2>&1 &&
		"$DEPCTL" report --html="$tmp/target.html" "$tmp/target.dep" >"$tmp/out" 2>&1
}

if record; then
	pass "a page of a recording"
	is "nothing is printed" "$(cat "$tmp/out")" ""
	"$DEPCTL" query methods --json "$tmp/target.dep" >"$tmp/methods" 2>&1
	in_browser recorded "$tmp/target.html" "$tmp/methods" "$(line leaf)"
	"$DEPCTL" query paths --csv --min=0 "$tmp/target.dep" >"$tmp/paths" 2>&1
	"$DEPCTL" report --html="$tmp/paths.html" --paths "$tmp/target.dep" >"$tmp/out" 2>&1
	is "a page with paths" "$? $(cat "$tmp/out")" "0 "
	in_browser paths "$tmp/paths.html" "$tmp/paths" "$(line leaf)"
else
	fail "a page of a recording: $(tail -n 1 "$tmp/out")"
fi
is "with source there are lines of it" "$(grep -c 'MARK leaf' "$tmp/target.html")" 1
"$DEPCTL" report --html="$tmp/without.html" --no-source "$tmp/target.dep" >"$tmp/out" 2>&1
is "without source there is no line of it" "$(grep -c 'MARK leaf' "$tmp/without.html")" 0
"$DEPCTL" report --html="$tmp" "$tmp/target.dep" >"$tmp/out" 2>&1
is "a directory is no file" "$?" 1
"$DEPCTL" report --html="$tmp/none/x.html" "$tmp/target.dep" >"$tmp/out" 2>&1
is "a missing directory is an error" "$?" 1
ln -s nowhere/file "$tmp/dangling"
"$DEPCTL" report --html="$tmp/dangling" "$tmp/target.dep" >"$tmp/out" 2>&1
is "a dangling link is not followed" "$?" 1
echo old >"$tmp/limited.html"
(trap '' XFSZ && ulimit -f 8 &&
	"$DEPCTL" report --html="$tmp/limited.html" "$tmp/target.dep") >"$tmp/out" 2>&1
is "a page that cannot be written" "$? $(cat "$tmp/limited.html")" "1 old"
is "no temporary file is left" "$(find "$tmp" -name '.*.html.*')" ""

if ! "$python" -c "import sys; sys.path.insert(0, '$tests'); import browser
sys.exit(not browser.find())"; then
	skip "the page in a browser: chromium is not installed"
	finish
fi
for name in big hostile deep empty; do
	FAKE_SOURCE=$tests/programs/page_target.c \
		"$BUILD/tests/write_page" $name "$tmp/$name.html" ||
		fail "a made-up page: $name"
done
in_browser big "$tmp/big.html"
in_browser hostile "$tmp/hostile.html"
in_browser plain "$tmp/deep.html"
in_browser plain "$tmp/empty.html"
finish
