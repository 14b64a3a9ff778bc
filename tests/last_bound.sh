#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The bound of --last holds for descriptors, too: programs that generate code for ever, and that map
# and unmap code for ever. Bytes are counted while the recording goes on; snapshots and the store
# verify, so nothing is dropped that a stored chunk names.
. "$(dirname "$0")/lib.sh"
. "$tests/last_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
. "$tests/depd.sh"
program=$build/programs/code_forever
running=
trap 'end_depd_and $running' EXIT
cd "$tmp" || exit 1
rounds=4000
[ "$LONG" != 1 ] || rounds=200000
start

# window MEMBER: of what depd says about the window of the only session
window() {
	"$DEPCTL" sessions --json | sed -n "s/.*\"$1\":\\([0-9]*\\).*/\\1/p"
}

# found NAME STORE: verify finds nothing wrong, and references in it. To look for races in it, too,
# would take minutes.
found() {
	verifies "$2" && grep -Eq ' [1-9][0-9]* references: good$' verify.out && pass "$1" ||
		fail "$1: $(unverified)"
}

# described STORE: fragments in the store
described() {
	"$DEPCTL" info --quick "$1" | sed -n 's/^fragments: \([0-9]*\),.*/\1/p'
}

for mode in rewrite map; do
	rm -f out stop
	"$DEPCTL" record -o $mode --last=8M --ring-size=128K -- "$program" $mode stop >out 2>err &
	depctl=$!
	running=$depctl
	most=0
	samples=0
	# Until there were so many rounds and samples.
	while kill -0 $depctl 2>/dev/null &&
	      { [ $samples -lt 10 ] || [ "$(grep -c . out)" -lt $((rounds / 1000)) ]; }; do
		chunks=$(window chunk_bytes)
		bytes=$(window descriptor_bytes)
		[ -n "$chunks" ] && [ -n "$bytes" ] || continue
		samples=$((samples + 1))
		[ $bytes -le $most ] || most=$bytes
		[ $chunks -le 8388608 ] || fail "$mode: $chunks bytes of chunks"
	done
	"$DEPCTL" snapshot -q -o $mode.1 $mode 2>snapshot.err ||
		fail "$mode: snapshot: $(cat snapshot.err)"
	touch stop
	wait $depctl
	is "$mode: the program's status and output" "$? $(tail -n 1 out)" "0 all sums are good"
	# Each fragment takes 64 bytes and more: all of them would take 16 MiB.  What was removed
	# stays until depd has found that nothing names it, which takes longer on a busy machine.
	[ $most -gt 0 ] && [ $most -le $((12 << 20)) ] && pass "$mode: the bound" ||
		fail "$mode: $most bytes of descriptors with --last=8M"
	found "$mode: the snapshot" $mode.1
	found "$mode: the store" $mode
	n=$(described $mode)
	[ "${n:-0}" -gt 64 ] && [ "$n" -lt $((rounds * 64 / 4 * 3)) ] &&
		pass "$mode: most fragments were dropped" || fail "$mode: $n fragments"
done

# Mappings of code that is gone are dropped, too: each round has one.
n=$("$DEPCTL" ls --modules map | grep -c /code)
[ "$n" -gt 0 ] && [ "$n" -lt $((rounds / 4)) ] && pass "most mappings were dropped" ||
	fail "$n mappings"

# ---- a process that forks: what a child has stays, and is found ----
cat >forks.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i, n, sum = 0, (*f)(void);
	int status, go[2];
	char c;

	memcpy(&f, &code, sizeof(f));
	memcpy(code, "\xb8\1\0\0\0\xc3", 6);
	f();
	if (pipe(go))
		return 1;
	if (!fork()) {
		/* The parent's code, after the parent has replaced it. */
		if (read(go[0], &c, 1) != 1)
			return 1;
		for (i = 0; i < 100000; i++)
			sum += f();
		_exit(sum != 100000);
	}
	for (n = 0; n < 20000; n++) {
		memcpy(code + 1, &n, sizeof(n));
		if (f() != n)
			return 1;
	}
	if (write(go[1], "", 1) != 1 || wait(&status) < 0)
		return 1;
	printf("%d\n", status);
	return 0;
}
END
gcc -O1 -o forks forks.c || exit 1
"$DEPCTL" record -q -o forked --last=2M --ring-size=128K -- ./forks >out 2>err
is "a child with its parent's code" "$? $(cat out)" "0 0"
found "its store" forked

# ---- more code than the bound allows: the recording ends, the program does not ----
cat >grows.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	/* Functions of 60 long instructions, so that their descriptions are long. */
	const unsigned int n = 130000, size = 608;
	unsigned char *code = mmap(0, n * size, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i, k, (*f)(void);
	unsigned char *at;

	for (i = 0, at = code; i < n; i++, at += size) {
		for (k = 0; k < 60; k++) {
			at[k * 10] = 0x48;
			at[k * 10 + 1] = 0xb8;
			memcpy(at + k * 10 + 2, &i, sizeof(i));
		}
		at[600] = 0xc3;
	}
	for (i = 0, at = code; i < n; i++, at += size) {
		memcpy(&f, &at, sizeof(f));
		if (f() != i)
			return 1;
	}
	puts("done");
	return 0;
}
END
gcc -O1 -o grows grows.c || exit 1
"$DEPCTL" record -o grown --last=2M --ring-size=128K -- ./grows >out 2>err
is "too much code: status and output" "$? $(cat out)" "1 done"
grep -q "take more than --last allows" err && pass "depctl says why" || fail "$(cat err)"
[ "$("$DEPCTL" dump --segments grown | wc -l)" -gt 0 ] &&
	pass "what the window had is stored" || fail "too much code: nothing is stored"

term_depd
depd_pid=
finish
