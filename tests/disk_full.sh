#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A store on a disk that fills up: the program continues and ends as natively, depctl reports the
# error, and everything stored before can be read.
. "$(dirname "$0")/lib.sh"
need_depctl

# The disk is a small tmpfs that only this script and its children see.
if [ -z "${DISK_FULL:-}" ]; then
	rm -rf "$tmp"
	if ! unshare -rm true 2>/dev/null; then
		skip "a user and mount namespace cannot be made here"
		finish
	fi
	DISK_FULL=1 exec unshare -rm sh "$0"
fi
mkdir "$tmp/disk"
if ! mount -t tmpfs -o size=3m tmpfs "$tmp/disk" 2>"$tmp/err"; then
	skip "no tmpfs in a user namespace: $(tail -n 1 "$tmp/err")"
	finish
fi
# The script exits before $tmp is removed, which fails while something is mounted there.
trap 'umount "$tmp/disk"; drop_tmp' EXIT

awk 'BEGIN { for (i = 0; i < 300000; i++) print (i * 7919) % 10007 }' >"$tmp/in"
sort "$tmp/in" >"$tmp/native"
# For a successful command the status would be 1, see depctl-record(1).
timeout 60 "$DEPCTL" record --alone -o "$tmp/disk/dep" -- sh -c 'sort "$0"; exit 3' "$tmp/in" \
	>"$tmp/out" 2>"$tmp/err"
status=$?
[ $status -eq 3 ] && pass "the command's exit status" || fail "exit status $status"
cmp -s "$tmp/out" "$tmp/native" && pass "its output" || fail "its output differs"
grep -q "No space left" "$tmp/err" && pass "depctl's warning" ||
	fail "depctl says: $(tail -n 1 "$tmp/err")"
timeout 60 "$DEPCTL" verify "$tmp/disk/dep" >"$tmp/verify" 2>&1
status=$?
[ $status -eq 1 ] && pass "verify's exit status" || fail "verify's exit status is $status"
grep -q "No space left" "$tmp/verify" && pass "verify names the cause" ||
	fail "verify says: $(tail -n 1 "$tmp/verify")"
timeout 60 "$DEPCTL" info --quick --json "$tmp/disk/dep" >"$tmp/json" 2>&1 &&
	grep -q '"segments":[1-9]' "$tmp/json" && pass "what was stored can be read" ||
	fail "info says: $(cut -c 1-200 "$tmp/json")"
finish
