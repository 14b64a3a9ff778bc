#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on requests of the control socket, from one of each made
# here.  SECONDS of fuzzing: $FUZZ_SECONDS, 15 unless LONG=1.
. "$(dirname "$0")/../lib.sh"
have clang || finish
seconds=${FUZZ_SECONDS:-$([ "$LONG" = 1 ] && echo 600 || echo 15)}
out=$build/fuzz
mkdir -p "$out" "$tmp/corpus"
cd "$top" || exit 1

if ! clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-std=gnu11 -D_GNU_SOURCE -Iinclude -Ilibdep -o "$out/fuzz_request" \
	tests/fuzz/fuzz_request.c daemon/request.c daemon/json_scan.c -lcjson >"$tmp/err" 2>&1
then
	if grep -q 'cannot find.*clang_rt\|no such file.*libclang_rt' "$tmp/err"; then
		skip "fuzz_request: clang has no libFuzzer here"
	else
		fail "fuzz_request does not build: $(grep -m 1 error "$tmp/err")"
		cat "$tmp/err"
	fi
	finish
fi

# seed NAME REST
seed() {
	printf '{"v":1,"op":"%s"%s}' "$1" "$2" | tr -d '\n' >"$tmp/corpus/$1${3:-}"
}

for op in status sessions policy reload; do
	seed $op
done
seed watch ',"session":1'
seed stop ',"session":4294967295'
seed ended ',"session":7,"status":256'
seed launched ',"session":7,"pid":1234,"native":true,"why":"set-uid"'
seed record ',"argv":["ls","-l","\u00e4\"\\"],"cwd":"/tmp","store":"/tmp/ls.dep"'
seed record ',"argv":["a"],"cwd":"/","store":"/s","options":{"null":true,"drop":true,
"self_check":true,"strict":true,"no_follow":true,"ring_size":65536,"max_size":1000000,"level":3,
"aslr":false,"transport":"shm"}' .options
seed record ',"argv":["a"],"cwd":"/","options":{"no_record":true}' .none
for word in v op session argv cwd store options pid native why status no_record null drop \
	self_check strict no_follow ring_size max_size level aslr transport auto kmod shm; do
	echo "\"\\\"$word\\\"\""
done >"$tmp/words"

for seed in "$tmp"/corpus/*; do
	if "$out/fuzz_request" "$seed" >"$tmp/err" 2>&1; then
		pass "corpus $(basename "$seed")"
	else
		fail "corpus $(basename "$seed")"
		tail -n 40 "$tmp/err"
	fi
done
if timeout $((seconds + 60)) "$out/fuzz_request" -max_total_time="$seconds" -timeout=20 \
	-rss_limit_mb=2048 -max_len=4096 -dict="$tmp/words" -seed="${ADEPT_TEST_SEED:-1}" \
	-artifact_prefix="$out/" "$tmp/corpus" >"$tmp/log" 2>&1; then
	pass "fuzzing: $(grep -o 'Done.*' "$tmp/log")"
else
	fail "fuzzing: $(grep -m 1 -E 'ERROR|runtime error' "$tmp/log")"
	tail -n 60 "$tmp/log"
fi
finish
