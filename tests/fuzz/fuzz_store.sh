#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on the store's reader, from stores made here.  SECONDS
# of fuzzing: $FUZZ_SECONDS, 15 unless LONG=1.
. "$(dirname "$0")/../lib.sh"
need_depctl
have clang || finish
seconds=${FUZZ_SECONDS:-$([ "$LONG" = 1 ] && echo 600 || echo 15)}
out=$build/fuzz
mkdir -p "$out" "$tmp/corpus"
cd "$top" || exit 1

# Only what reads stores: no engine, no collector.
if ! clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -std=gnu11 -D_GNU_SOURCE -fvisibility=hidden \
	-I"$build" -Iinclude -Ilibdep -DADEPT_VERSION='"fuzz"' -o "$out/fuzz_store" \
	tests/fuzz/fuzz_store.c libdep/format/*.c libdep/recover/*.c libdep/x86/decode.c \
	libdep/x86/operand.c libdep/x86/derive.c libdep/x86/derive_run.c \
	-lzstd -lxxhash -lsqlite3 -lcjson -lelf -ldw -lpthread >"$tmp/err" 2>&1; then
	if grep -q 'cannot find.*clang_rt\|no such file.*libclang_rt' "$tmp/err"; then
		skip "fuzz_store: clang has no libFuzzer here"
	else
		fail "fuzz_store does not build: $(grep -m 1 error "$tmp/err")"
		cat "$tmp/err"
	fi
	finish
fi

corpus() {
	for how in good gap unclean drop; do
		"$build/tests/make_store" "$tmp/$how.dep" $how &&
			"$out/fuzz_store" -pack "$tmp/$how.dep" >"$tmp/corpus/$how"
	done
	for prog in hello_static snip_implicit; do
		[ -x "$build/programs/$prog" ] || continue
		timeout 60 "$DEPCTL" record -q -o "$tmp/$prog.dep" -- "$build/programs/$prog" &&
			"$out/fuzz_store" -pack "$tmp/$prog.dep" >"$tmp/corpus/$prog"
	done >/dev/null
}

corpus 2>"$tmp/err" || cat "$tmp/err"
for seed in "$tmp"/corpus/*; do
	if "$out/fuzz_store" "$seed" >"$tmp/err" 2>&1; then
		pass "corpus $(basename "$seed"): $(stat -c %s "$seed") bytes"
	else
		fail "corpus $(basename "$seed")"
		tail -n 40 "$tmp/err"
	fi
done
if timeout $((seconds + 60)) "$out/fuzz_store" -max_total_time="$seconds" -timeout=20 \
	-rss_limit_mb=4096 -max_len=65536 -seed="${ADEPT_TEST_SEED:-1}" \
	-artifact_prefix="$out/" "$tmp/corpus" >"$tmp/log" 2>&1; then
	pass "fuzzing: $(grep -o 'Done.*' "$tmp/log")"
else
	fail "fuzzing: $(grep -m 1 -E 'ERROR|runtime error' "$tmp/log")"
	tail -n 60 "$tmp/log"
fi
finish
