#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on the store's reader, from stores made here.
. "$(dirname "$0")/../lib.sh"
need_depctl
. "$tests/fuzz/fuzz.sh"
. "$tests/fuzz/store_corpus.sh"
max_len=524288
# Only the sources that read stores: no engine, no collector.
store_build fuzz_store libdep/analyze/*.c libdep/analyze/*/*.c \
	libdep/fold/*.c libdep/contexts/*.c libdep/streams/*.c tests/fuzz/any_unwind.c

store_corpus fuzz_store
fuzz_run
