#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on the store's reader, from stores made here.
. "$(dirname "$0")/../lib.sh"
need_depctl
. "$tests/fuzz/fuzz.sh"
max_len=524288
# Only the sources that read stores: no engine, no collector.
fuzz_build fuzz_store -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fvisibility=hidden -I"$build" \
	-DADEPT_VERSION='"fuzz"' tests/fuzz/blob.c tests/fuzz/blob_mutate.c libdep/format/*/*.c \
	libdep/recover/*.c libdep/recover/*/*.c libdep/x86/decode.c libdep/x86/operands.c \
	libdep/x86/derive.c libdep/x86/derive_run.c libdep/analyze/*.c libdep/analyze/*/*.c \
	libdep/collect/snapshot.c \
	-lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -lpthread

corpus() {
	for how in good gap unclean drop old; do
		"$build/tests/make_store" "$tmp/$how.dep" $how &&
			"$out/fuzz_store" -pack "$tmp/$how.dep" >"$tmp/corpus/$how"
	done
	for prog in hello_static snip_implicit locked; do
		[ -x "$build/programs/$prog" ] || continue
		timeout 60 "$DEPCTL" record -q -o "$tmp/$prog.dep" -- "$build/programs/$prog" 1 &&
			"$out/fuzz_store" -pack "$tmp/$prog.dep" >"$tmp/corpus/$prog"
	done >/dev/null
}

corpus 2>"$tmp/err" || cat "$tmp/err"
fuzz_run
