#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/gdb/adept.py in a process that is recorded: addresses in both directions, fragments, and
# backtraces out of the code cache and out of a system call name the program's functions.
. "$(dirname "$0")/lib.sh"
need_depctl
have gdb || finish
if ! gdb -nx -batch -ex 'python import gdb.unwinder; print("python works")' 2>&1 |
	grep -qx "python works"; then
	skip "gdb has no Python"
	finish
fi
cd "$tmp" || exit 1
cat >spin.c <<'END'
#include <stdlib.h>
#include <unistd.h>

volatile unsigned long count;

__attribute__((noipa)) void leaf(int x)
{
	count += x;
}

__attribute__((noipa)) void inner(int x, int waits)
{
	leaf(x);
	write(1, "leaf was called\n", 16);
	do {
		leaf(x);
		if (waits)
			pause();
	} while (count);
}

__attribute__((noipa)) void middle(int x, int waits)
{
	inner(x + 1, waits);
	abort();
}

int main(int argc, char **argv)
{
	(void)argv;
	middle(1, argc > 1);
	return 0;
}
END
gcc -O1 -g -o spin spin.c || exit 1
recorder=

# begin OPTION... -- ARGUMENT...: record ./spin; $pid is its pid once it has called leaf
begin() {
	rm -rf spin.dep out
	setsid "$DEPCTL" record -q --alone "$@" >out 2>err &
	recorder=$!
	for _ in $(seq 100); do
		[ -s out ] && break
		sleep 0.1
	done
	pid=$(pgrep -P $recorder -x spin)
	sleep 0.3
}

end() {
	kill -KILL "$pid" 2>/dev/null
	wait $recorder 2>/dev/null
}

# debug COMMAND...: what gdb prints for these commands, attached to $pid
debug() {
	local args=() c
	for c in "$@"; do
		args+=(-ex "$c")
	done
	timeout 100 gdb -nx -q -batch -iex 'set debuginfod enabled off' -p "$pid" \
		-x "$top/scripts/gdb/adept.py" -ex "adept load $build/engine.elf" "${args[@]}" \
		>gdb.out 2>&1
}

# chain FUNCTION...: does each backtrace in gdb.out have these functions, the innermost first?
chain() {
	awk -v want="$*" '
		BEGIN { n = split(want, name, " ") }
		/^#0 / { traces++; at = 1 }
		/^#/ && at && $0 ~ " " name[at] " \\(" && ++at > n { good++; at = 0 }
		END { exit !(traces && good == traces) }' gdb.out
}

# result NAME COMMAND...: it succeeds
result() {
	local name=$1
	shift
	if "$@"; then pass "$name"; else fail "$name: $(tail -n 12 gdb.out)"; fi
}

for mode in "" --no-record --strict; do
	name=${mode:-record}
	if [ "$mode" = --no-record ]; then
		begin --no-record -- ./spin
	else
		begin $mode -o spin.dep -- ./spin
	fi
	debug backtrace 'adept where leaf'
	result "$name: wherever it is stopped it has the program's frames" chain inner middle main
	all=$(sed -n 's/^program 0x[0-9a-f]* leaf .*: cache \(0x[0-9a-f]*\), .*/\1/p' gdb.out)
	cache=${all%%$'\n'*}
	result "$name: the program's address has one in the cache" test -n "$cache"
	# From the beginning of leaf each instruction of the loop, with its value stores, exits and
	# landings.
	steps=()
	for c in $all; do
		steps+=("break *$c")
	done
	steps+=(continue delete backtrace)
	for _ in $(seq 60); do
		steps+=(stepi backtrace)
	done
	debug "${steps[@]}"
	result "$name: 61 stops in the cache have the program's frames" chain inner middle main
	result "$name: the cache is named" grep -q '^#0 .*\[code cache\]' gdb.out
	result "$name: some are in leaf" grep -q '^#1 .* leaf (x=' gdb.out
	result "$name: arguments are right" \
		awk '/ inner \(x=/ && !/x=(x@entry=)?2,/ { exit 1 }' gdb.out
	debug "adept where $cache" "adept fragment $cache" 'adept fragment leaf'
	result "$name: and that leads back" grep -q "^cache $cache: .* leaf at .*spin.c:" gdb.out
	result "$name: the fragment has both sides" awk '
		/^fragment .* leaf at / { n++ }
		/^ .*mov .*\|.*mov / { both++ }
		END { exit !(n >= 2 && both) }' gdb.out
	if [ "$mode" != --no-record ]; then
		debug 'handle SIGSEGV nostop noprint pass' 'break ring_next_chunk' continue \
			backtrace
		result "$name: at the end of a chunk it has them, too" chain ring_next_chunk \
			signal_restorer inner middle main
	fi
	end
done

begin -o spin.dep -- ./spin wait
debug backtrace 'frame function inner' 'print waits'
result "a thread in a system call has the program's frames" chain inner middle main
result "variables of these frames can be printed" grep -q ' = 1$' gdb.out
end

./spin wait &
pid=$!
debug
result "a native process is refused" grep -q 'no engine in process .* it is not recorded' gdb.out
kill -KILL $pid
wait $pid 2>/dev/null
cp "$build/engine.elf" other.elf
offset=$((0x$(readelf -S -W other.elf | awk '$2 == ".text" || $3 == ".text" {
	for (i = 1; i < NF; i++) if ($i == "PROGBITS") print $(i + 2) }') + 64))
flip other.elf "$offset"
begin -o spin.dep -- ./spin
gdb -nx -q -batch -p "$pid" -x "$top/scripts/gdb/adept.py" -ex "adept load other.elf" \
	>gdb.out 2>&1
result "symbols of another build are refused" \
	grep -q 'other.elf is not the engine .* another build' gdb.out
end
finish
