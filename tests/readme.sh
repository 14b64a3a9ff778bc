#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# README.md's tour runs as printed: each command ends as shown, and prints what is shown except for
# numbers, sizes and times.  The part with depd needs root and runs with its own /run, /proc and pid
# namespace, so that `pidof depd' finds no other depd.
. "$(dirname "$0")/lib.sh"
need_depctl
readme=$top/README.md
mkdir -p "$tmp/tour/LICENSES"
cp "$top/LICENSES/GPL-2.0.txt" "$tmp/tour/LICENSES"
cd "$tmp/tour" || exit 1
export PATH=$build:$PATH
unset ADEPT_RUNDIR

# tell FILE: print the results of readme.py
tell() {
	while read -r word rest; do
		case $word in
		ok) pass "$rest" ;;
		FAIL) fail "$rest" ;;
		esac
	done <"$1"
}

# alone: run the commands in namespaces without this machine's depd
alone() {
	if [ "$(id -u)" = 0 ]; then
		unshare -m -p -f --mount-proc bash -c 'mount -t tmpfs none /run && exec bash script'
	else
		ADEPT_RUNDIR=$tmp/no-depd bash script
	fi
}

python3 "$tests/readme.py" program "$readme" >prog.c
python3 "$tests/readme.py" commands "$readme" "## A tour" "### Many programs at once" >script
alone >"$tmp/out" 2>&1 </dev/null
python3 "$tests/readme.py" check "$readme" "## A tour" "### Many programs at once" "$tmp/out" \
	>"$tmp/checked" || fail "readme.py: $(tail -n 1 "$tmp/checked")"
tell "$tmp/checked"

if [ "$(id -u)" != 0 ] || ! unshare -m -p -f --mount-proc true 2>/dev/null; then
	skip "the part with depd: not root, or no name spaces"
	finish
fi
# Background commands need time, and a reader types the next command later.
{
	echo 'sudo() { "$@"; }; PS4='
	python3 "$tests/readme.py" commands "$readme" "### Many programs at once" "### The rest" |
		sed 's/^status=$?$/status=$?; sleep 2/'
	# The end of the namespace kills the remaining processes.
	echo 'wait %2'
} >script
timeout 120 unshare -m -p -f --mount-proc bash -c \
	'mount -t tmpfs none /run && exec bash script' >"$tmp/out" 2>&1 </dev/null
python3 "$tests/readme.py" check "$readme" "### Many programs at once" "### The rest" \
	"$tmp/out" >"$tmp/checked" || fail "readme.py: $(tail -n 1 "$tmp/checked")"
tell "$tmp/checked"
finish
