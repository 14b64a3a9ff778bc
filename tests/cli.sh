#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The command line of depctl: usage, messages, exit status, output formats.
#
#	tests/cli.sh DEPCTL MAKE_STORE
#
# Stores come from tests/programs/make_store.c; depctl record is called only where it
# must refuse, so no engine is needed.

depctl=$(realpath "${1:?path of depctl}")
make_store=$(realpath "${2:?path of make_store}")
passed=0 failed=0 skipped=0

dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

ok() { passed=$((passed + 1)); }
# check NAME COMMAND...: it must succeed
check() {
	local name=$1
	shift
	if "$@"; then ok; else bad "$name"; fi
}

bad() {
	failed=$((failed + 1))
	printf 'FAILED: %s\n' "$1"
	sed 's/^/    /' out err
}

# expect STATUS STDOUT-PATTERN STDERR-PATTERN COMMAND...: patterns are extended regular
# expressions, found somewhere; "" means that nothing may be printed, "-" anything.
expect() {
	local want=$1 out=$2 err=$3 st
	shift 3
	timeout 20 "$@" >out 2>err </dev/null
	st=$?
	if [ $st != "$want" ]; then
		bad "status $st, not $want: $*"
	elif ! matches out "$out"; then
		bad "output of $* is not: $out"
	elif ! matches err "$err"; then
		bad "message of $* is not: $err"
	else
		ok
	fi
}

matches() {
	case $2 in
	-) true ;;
	"") [ ! -s "$1" ] ;;
	*) grep -Eq -- "$2" "$1" ;;
	esac
}

json() {
	if ! command -v python3 >/dev/null; then
		skipped=$((skipped + 1))
		return
	fi
	timeout 20 "$@" >out 2>err
	if python3 -c 'import json,sys
for line in sys.stdin: json.loads(line)' <out 2>>err; then
		ok
	else
		bad "no JSON: $*"
	fi
}

# ---- usage ----
expect 2 "" "Usage: depctl" "$depctl"
expect 0 "Usage: depctl" "" "$depctl" --help
expect 0 "^depctl .*store format" "" "$depctl" --version
expect 2 "" "no command 'frobnicate'" "$depctl" frobnicate
for c in record ls info dump verify module; do
	expect 0 "Usage: depctl $c" "" "$depctl" $c --help
	expect 2 "" "unrecognized option" "$depctl" $c --frobnicate
done
expect 2 "" "which command" "$depctl" record
expect 2 "" "which command" "$depctl" record -q --
expect 2 "" "must be a size" "$depctl" record --ring-size=many true
expect 2 "" "must be from 64" "$depctl" record --ring-size=1 true
expect 2 "" "must be from" "$depctl" record --ring-size=100G true
expect 2 "" "must be a size" "$depctl" record --max-size=-1 true
expect 2 "" "block or drop" "$depctl" record --on-full=wait true
expect 2 "" "number from 1 to 19" "$depctl" record --level 20 true
expect 2 "" "auto, kmod or shm" "$depctl" record --transport=pigeon true
expect 2 "" "makes no store" "$depctl" record --no-record -o x true
for c in info dump verify; do
	expect 2 "" "which store" "$depctl" $c
	expect 2 "" "one store at a time" "$depctl" $c a b
done
expect 2 "" "Too many arguments" "$depctl" module a
if [ ! -e /dev/adept ]; then
	expect 1 "" "not loaded: .modprobe adept" "$depctl" module
	expect 1 "" "not loaded.*transport=shm" "$depctl" record -o x --transport=kmod true
fi
expect 2 "" "say what to print" "$depctl" dump a
expect 2 "" "only one of" "$depctl" dump a --refs --blocks
expect 2 "" "must be a number" "$depctl" dump a --refs --thread x
expect 2 "" "must be a number" "$depctl" dump a --refs --jobs 0
expect 2 "" "does not go with" "$depctl" info --quick --formats a

# ---- refusals ----
mkdir there
expect 1 "" "there exists already" "$depctl" record -o there true
expect 1 "" "command not found" "$depctl" record -o s1 no-such-command
check "a store was left by a command that never ran" test ! -e s1
expect 1 "" "cannot be recorded: /dev/null" "$depctl" record -o s1 /dev/null
echo 'just text' >text
expect 1 "" "cannot be recorded: .*text" "$depctl" record -o s1 ./text
printf '\177ELF\001\001\001' >elf32
head -c 200 /dev/zero >>elf32
chmod +x elf32
expect 1 "" "cannot be recorded: .*elf32" "$depctl" record -o s1 ./elf32
expect 1 "" "cannot be made.*another place" "$depctl" record -o no/such/dir/x true
check "a store was left by a program that cannot be recorded" test ! -e s1
if [ "$(id -u)" = 0 ]; then
	expect 1 "" "cannot be made.*another place" "$depctl" record -o /proc/x true
else
	mkdir ro && chmod a-w ro
	expect 1 "" "cannot be made.*another place" "$depctl" record -o ro/x true
fi

# ---- stores that are none ----
for c in info verify "dump --refs"; do
	# shellcheck disable=SC2086
	expect 1 "" "there is no store" "$depctl" $c nowhere
	# shellcheck disable=SC2086
	expect 1 "" "is no DEP store" "$depctl" $c there
	# shellcheck disable=SC2086
	expect 1 "" "is no DEP store" "$depctl" $c text
done
mkdir bad.dep && echo '{' >bad.dep/manifest.json
expect 1 "" "bad.dep cannot be read: ." "$depctl" info bad.dep
expect 1 "-" "bad.dep cannot be read: ." "$depctl" ls
rm -r bad.dep

# ---- a good store ----
"$make_store" s.dep || exit 1
expect 0 "^s.dep .*exit 3 .*prog a \"b\"" "" "$depctl" ls
expect 0 "^process 100 +launch +1.500 s +/bin/prog" "" "$depctl" ls s.dep
expect 0 "thread 100 +2 segments" "" "$depctl" ls s.dep
expect 0 "exit status 3" "" "$depctl" info s.dep
expect 0 "loss: +none" "" "$depctl" info s.dep
expect 0 "note: +a note" "" "$depctl" info s.dep
expect 0 "BB_pc \+ Mem_addr" "" "$depctl" info --formats s.dep
expect 0 "" "" "$depctl" dump --refs s.dep
expect 0 "" "" "$depctl" dump --blocks s.dep
expect 0 "^100 401000 context fs_base=7000 rax=0 " "" "$depctl" dump --events s.dep
expect 0 "^100 [0-9a-f]+ syscall nr=39 result=1234$" "" "$depctl" dump --events s.dep
expect 0 "^100 [0-9a-f]+ fork pid=101 flags=11$" "" "$depctl" dump --events s.dep
expect 0 "^100 1 0 [0-9]+ [0-9]+ " "" "$depctl" dump --segments s.dep
expect 0 "^100 401001 context" "" "$depctl" dump --events --thread 100 --segment 1 s.dep
expect 1 "" "has no thread 7" "$depctl" dump --events --thread 7 s.dep
expect 1 "" "has no segment 9" "$depctl" dump --events --segment 9 s.dep
expect 0 "2 segments, .*: good" "" "$depctl" verify s.dep
expect 0 "" "" "$depctl" verify -q s.dep
for j in 1 2 7; do
	"$depctl" dump --events -j $j s.dep >events.$j
done
check "dump depends on --jobs" cmp -s events.1 events.2
check "dump depends on --jobs" cmp -s events.1 events.7
if [ -w /dev/full ]; then
	timeout 20 "$depctl" dump --events s.dep >/dev/full 2>err
	check "status with a full disk" test $? = 1
	check "message with a full disk" grep -q "could not be written: No space" err
else
	skipped=$((skipped + 1))
fi

json "$depctl" ls --json
json "$depctl" ls --json --modules s.dep
json "$depctl" info --json s.dep
json "$depctl" info --json --formats s.dep
json "$depctl" verify --json s.dep
json "$depctl" dump --json --events s.dep
json "$depctl" dump --json --segments s.dep

# ---- stores with losses ----
"$make_store" gap.dep gap
expect 1 "3 segments are missing before segment 4" "" "$depctl" verify gap.dep
json "$depctl" verify --json gap.dep
"$make_store" drop.dep drop
expect 0 "dropped on request.*3.00 MiB in 3 pieces" "" "$depctl" verify drop.dep
expect 0 "3145728 bytes dropped" "" "$depctl" info drop.dep
"$make_store" unclean.dep unclean
expect 1 "did not end properly" "" "$depctl" verify unclean.dep
expect 0 "how it ended is not known" "" "$depctl" info unclean.dep
"$make_store" signal.dep signal
expect 0 "killed by signal 11" "" "$depctl" info signal.dep
"$make_store" unseen.dep unseen
expect 1 "from some point on it ran unrecorded" "" "$depctl" verify unseen.dep
expect 0 "lossy" "" "$depctl" ls

# ---- a byte wrong in the second segment ----
cp -r s.dep broken.dep
size=$(stat -c %s broken.dep/segments.000)
printf '\377' | dd of=broken.dep/segments.000 bs=1 seek=$((size - 20)) conv=notrunc 2>/dev/null
expect 1 "-" "-" "$depctl" verify broken.dep
expect 1 "^100 401000 context" "-" "$depctl" dump --events broken.dep
json "$depctl" verify --json broken.dep

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
