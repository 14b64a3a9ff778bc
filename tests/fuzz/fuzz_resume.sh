#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on resumed stores, starting with small stores.
. "$(dirname "$0")/../lib.sh"
need_depctl
. "$tests/fuzz/fuzz.sh"
max_len=524288
fuzz_build fuzz_resume -I"$build" -DADEPT_VERSION='"fuzz"' tests/fuzz/blob.c \
	tests/fuzz/blob_mutate.c libdep/format/*/*.c libdep/x86/decode.c libdep/x86/operands.c \
	-lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -lpthread

corpus() {
	"$build/tests/make_store" "$tmp/unclean.dep" unclean &&
		"$out/fuzz_resume" -pack "$tmp/unclean.dep" >"$tmp/corpus/unclean"
	"$build/tests/make_store" "$tmp/good.dep" good &&
		"$out/fuzz_resume" -unclosed "$tmp/good.dep" >"$tmp/corpus/good"
	timeout 60 "$DEPCTL" record -q -o "$tmp/real.dep" -- "$build/programs/hello_static" \
		>/dev/null &&
		"$out/fuzz_resume" -unclosed "$tmp/real.dep" >"$tmp/corpus/real"
}

corpus 2>"$tmp/err" || cat "$tmp/err"
fuzz_run
