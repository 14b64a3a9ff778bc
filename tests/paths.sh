#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Paths of recorded programs: what they execute is what dep_profile counts, for each instruction and
# each branch; known paths; damaged stores; limits of memory.
. "$(dirname "$0")/lib.sh"
need_depctl
check=$build/tests/paths_check
cd "$tmp" || exit 1

# recorded STORE COMMAND...
recorded() {
	local store=$1
	shift
	clean timeout 120 "$DEPCTL" record -q --alone --ring-size=256K -o "$store" -- "$@" \
		>out 2>err </dev/null && return
	[ -d "$store" ] && [ ! -s err ] && return
	fail "recording $store: $(tail -n 1 err)"
	return 1
}

# equal NAME STORE: the paths are those of the other profile
equal() {
	if timeout 120 "$check" "$2" >result 2>&1; then
		pass "$1: $(tail -n 1 result)"
	else
		fail "$1: $(grep -v whole result | head -n 3 | tr '\n' ';')"
	fi
}

g++ -g -O1 -pthread -o paths "$tests/programs/paths.cc" || fail "compiling paths.cc"
recorded cc.dep ./paths && equal "exceptions, longjmp, signals, threads, fork" cc.dep
recorded gzip.dep sh -c 'head -c 200000 /usr/bin/perl | gzip -c | gzip -dc | md5sum'
equal gzip gzip.dep
have perl && recorded perl.dep perl -e 'my %h;
	for (1 .. 2000) { $h{$_ % 77} .= $_; eval { die "x" if $_ % 5 == 0 } }
	print sort keys %h' && equal perl perl.dep
have python3 && recorded python.dep python3 -S -c 'print(sum(hash(str(i)) % 7 for i in range(900)))' &&
	equal python3 python.dep

# ---- damage ----
# A segment that cannot be read is a gap for both profiles.
cp -r cc.dep bad.dep
size=$(stat -c %s cc.dep/segments.000)
for i in 1 2 3 4 5 6 7; do
	printf '\xa5\x5a\xa5' | dd of=bad.dep/segments.000 bs=1 conv=notrunc \
		seek=$((size * i / 8)) 2>err
done
equal "damaged segments" bad.dep
if grep -q "^[1-9][0-9]* segments cannot be read" result; then
	pass "damaged segments are noticed"
else
	fail "damaged segments: $(cat result)"
fi

# ---- memory ----
timeout 60 "$check" cc.dep 0x40000 >result
is "graphs that do not fit" "$(tail -n 1 result)" "paths: they do not fit in the memory allowed: No space left on device"
finish
