# SPDX-License-Identifier: GPL-2.0-or-later
# What the fuzzers of stores have in common; source it after fuzz.sh.
# shellcheck shell=bash disable=SC2034,SC2154
store_flags="-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fvisibility=hidden -I$build
	-DADEPT_VERSION=\"fuzz\""
store_sources="tests/fuzz/blob.c tests/fuzz/blob_mutate.c libdep/format/*/*.c
	libdep/recover/*.c libdep/recover/*/*.c libdep/x86/decode.c libdep/x86/operands.c
	libdep/x86/derive.c libdep/x86/derive_run.c libdep/collect/snapshot.c"
store_libs="-lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -lpthread"

# store_build NAME SOURCE...: build $out/NAME from tests/fuzz/NAME.c, $store_sources and SOURCE.  A
# source of several fuzzers is compiled once.
store_build() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	set -- $store_sources "$@"
	(flock 9 && make -s -f tests/fuzz/store.mk OUT="$out/store" SOURCES="$*" \
		COMPILE="$(echo $compile $store_flags)") 9<"$out" >"$tmp/err" 2>&1 ||
		not_built "$name"
	set -- "${@/#/$out/store/}"
	# shellcheck disable=SC2086
	fuzz_build "$name" $store_flags "${@/%.c/.o}" $store_libs
}

# pack NAME FUZZER: the store $tmp/NAME.dep
pack() {
	"$out/$2" -pack "$tmp/$1.dep" >"$tmp/corpus/$1" || fail "$1 cannot be packed"
}

# record NAME FUZZER COMMAND...: record COMMAND
record() {
	name=$1 target=$2
	shift 2
	if timeout 60 "$DEPCTL" record -q -o "$tmp/$name.dep" -- "$@" >/dev/null 2>"$tmp/err"; then
		pack "$name" "$target"
	else
		fail "$name cannot be recorded: $(tail -n 1 "$tmp/err")"
	fi
}

# store_corpus NAME: stores as inputs of $out/NAME
store_corpus() {
	for how in good gap unclean drop old; do
		"$build/tests/make_store" "$tmp/$how.dep" $how || fail "make_store $how"
		pack $how "$1"
	done
	"$tests/programs/build.sh" "$build/programs" || fail "the programs cannot be built"
	for prog in hello_static snip_implicit locked; do
		record $prog "$1" "$build/programs/$prog" 1
	done
	record stacks "$1" "$build/programs/stacks" "$tmp/ranges" jumps
}
