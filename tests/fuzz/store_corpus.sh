# SPDX-License-Identifier: GPL-2.0-or-later
# What the fuzzers of stores have in common; source it after fuzz.sh.
# shellcheck shell=bash disable=SC2034,SC2154
store_flags="-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fvisibility=hidden -I$build
	-DADEPT_VERSION=\"fuzz\""
store_sources="tests/fuzz/blob.c tests/fuzz/blob_mutate.c libdep/format/*/*.c
	libdep/recover/*.c libdep/recover/*/*.c libdep/x86/decode.c libdep/x86/operands.c
	libdep/x86/derive.c libdep/x86/derive_run.c libdep/collect/snapshot.c"
store_libs="-lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -lpthread"

pack_stores() {
	for how in good gap unclean drop old; do
		"$build/tests/make_store" "$tmp/$how.dep" $how &&
			"$out/$1" -pack "$tmp/$how.dep" >"$tmp/corpus/$how"
	done
	for prog in hello_static snip_implicit locked; do
		[ -x "$build/programs/$prog" ] || continue
		timeout 60 "$DEPCTL" record -q -o "$tmp/$prog.dep" -- "$build/programs/$prog" 1 &&
			"$out/$1" -pack "$tmp/$prog.dep" >"$tmp/corpus/$prog"
	done >/dev/null
}

# store_corpus NAME: stores as inputs of $out/NAME
store_corpus() {
	pack_stores "$1" 2>"$tmp/err" || cat "$tmp/err"
}
