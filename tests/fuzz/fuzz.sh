# SPDX-License-Identifier: GPL-2.0-or-later
# What the bounded runs of libFuzzer have in common; source it after lib.sh.  SECONDS of fuzzing:
# $FUZZ_SECONDS, 12 unless LONG=1.  Inputs to begin with go to $tmp/corpus, those that fail are left
# in $out.
#
# No reader takes more memory than 256 MiB and 16 times its input: that is the most that one
# allocation may ask for.  What is resident may be more, $rss MiB: the sanitizer doubles all, and
# keeps what was freed; tests/unit/format/test_budget.c measures without it.
have clang || finish
seconds=${FUZZ_SECONDS:-$([ "$LONG" = 1 ] && echo 600 || echo 12)}
max_len=65536
rss=1024
export ASAN_OPTIONS=quarantine_size_mb=32:allocator_may_return_null=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
out=$build/fuzz
mkdir -p "$out" "$tmp/corpus"
cd "$top" || exit 1

# is_built COMMAND: was $out/$fuzzer built by COMMAND from the current sources?
is_built() {
	[ -x "$out/$fuzzer" ] && [ "$(cat "$out/$fuzzer.how" 2>/dev/null)" = "$1" ] &&
		[ -z "$(find libdep include daemon tools tests "$build"/*.[ah] -name '*.[cha]' \
			-newer "$out/$fuzzer" -print -quit)" ]
}

compile="clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
	-std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Iinclude -I."

# not_built NAME: end the suite; the compiler's messages are in $tmp/err
not_built() {
	if grep -q 'cannot find.*clang_rt\|no such file.*libclang_rt' "$tmp/err"; then
		skip "$1: clang has no libFuzzer here"
	else
		fail "$1 does not build: $(grep -m 1 error "$tmp/err")"
		cat "$tmp/err"
	fi
	finish
}

# fuzz_build NAME FILE-OR-FLAG...: build $out/NAME from tests/fuzz/NAME.c; exits if it cannot
fuzz_build() {
	fuzzer=$1
	shift
	is_built "$*" && return
	rm -f "$out/$fuzzer.how"
	$compile -o "$out/$fuzzer" "tests/fuzz/$fuzzer.c" "$@" >"$tmp/err" 2>&1 &&
		echo "$*" >"$out/$fuzzer.how" && return
	not_built "$fuzzer"
}

# fuzz_run FLAG...: run the corpus, then new inputs
fuzz_run() {
	for seed in "$tmp"/corpus/*; do
		if "$out/$fuzzer" "$seed" >"$tmp/err" 2>&1; then
			pass "corpus $(basename "$seed"): $(stat -c %s "$seed") bytes"
		else
			fail "corpus $(basename "$seed")"
			tail -n 40 "$tmp/err"
		fi
	done
	if timeout $((seconds + 60)) "$out/$fuzzer" -max_total_time="$seconds" -timeout=20 \
		-max_len="$max_len" -malloc_limit_mb=$((256 + 16 * max_len / 1048576 + 1)) \
		-rss_limit_mb="$rss" -seed="${ADEPT_TEST_SEED:-1}" -artifact_prefix="$out/" "$@" \
		"$tmp/corpus" >"$tmp/log" 2>&1; then
		pass "fuzzing: $(grep -o 'Done.*' "$tmp/log")"
	else
		fail "fuzzing: $(grep -m 1 -E 'ERROR|runtime error' "$tmp/log")"
		tail -n 60 "$tmp/log"
	fi
	finish
}
