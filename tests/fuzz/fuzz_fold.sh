#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on folds, profiles, calling contexts, their encoding, and paths, from
# stores made here.
. "$(dirname "$0")/../lib.sh"
need_depctl
. "$tests/fuzz/fuzz.sh"
. "$tests/fuzz/store_corpus.sh"
max_len=524288
store_build fuzz_fold libdep/fold/*.c libdep/profile/*.c \
	libdep/contexts/*.c libdep/paths/*.c libdep/path_profile/*.c libdep/context/*.c \
	libdep/context_check/*.c tests/fuzz/any_unwind.c

store_corpus fuzz_fold
fuzz_run
