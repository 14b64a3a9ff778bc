#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on depd.conf's parser, from the examples of its manual page.
# SECONDS of fuzzing: $FUZZ_SECONDS, 15 unless LONG=1.
. "$(dirname "$0")/../lib.sh"
have clang || finish
seconds=${FUZZ_SECONDS:-$([ "$LONG" = 1 ] && echo 600 || echo 15)}
out=$build/fuzz
mkdir -p "$out" "$tmp/corpus"
cd "$top" || exit 1
files=
for f in rules keys match describe compile; do
	files="$files daemon/policy/$f.c"
done

# shellcheck disable=SC2086
if ! clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -std=gnu11 -D_GNU_SOURCE -Wall -Wextra \
	-Iinclude -Ilibdep -o "$out/fuzz_policy" tests/fuzz/fuzz_policy.c $files -lcjson \
	>"$tmp/err" 2>&1; then
	if grep -q 'cannot find.*clang_rt\|no such file.*libclang_rt' "$tmp/err"; then
		skip "fuzz_policy: clang has no libFuzzer here"
	else
		fail "fuzz_policy does not build: $(grep -m 1 error "$tmp/err")"
		cat "$tmp/err"
	fi
	finish
fi
sed -n '/^\.nf/,/^\.fi/p' Documentation/man/depd.conf.5 | grep -v '^\.' | sed 's/\\-/-/g' \
	>"$tmp/corpus/manual"
{
	printf '[depd]\nstore = /s\nworkers = 2\n[rule a]\n'
	for key in comm=x path=/x* 'cgroup=/*' argv=x uid=3 every=2 at-once=1 terminal=yes \
		ring-size=1M on-full=drop max-size=1G level=3 transport=shm follow=no \
		self-check=yes null=yes store=/x; do
		echo "$key"
	done
} >"$tmp/corpus/all"
for seed in "$tmp"/corpus/*; do
	if "$out/fuzz_policy" "$seed" >"$tmp/err" 2>&1; then
		pass "corpus $(basename "$seed"): $(stat -c %s "$seed") bytes"
	else
		fail "corpus $(basename "$seed")"
		tail -n 40 "$tmp/err"
	fi
done
if timeout $((seconds + 60)) "$out/fuzz_policy" -max_total_time="$seconds" -timeout=20 \
	-rss_limit_mb=4096 -max_len=8192 -seed="${ADEPT_TEST_SEED:-1}" \
	-artifact_prefix="$out/" "$tmp/corpus" >"$tmp/log" 2>&1; then
	pass "fuzzing: $(grep -o 'Done.*' "$tmp/log")"
else
	fail "fuzzing: $(grep -m 1 -E 'ERROR|runtime error' "$tmp/log")"
	tail -n 60 "$tmp/log"
fi
finish
