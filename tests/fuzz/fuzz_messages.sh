#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on packets between the processes of depd and depctl.
. "$(dirname "$0")/../lib.sh"
. "$tests/fuzz/fuzz.sh"
max_len=32768
fuzz_build fuzz_messages -I"$build" -DADEPT_VERSION='"fuzz"' daemon/link/link.c \
	daemon/link/shared_page.c daemon/front/totals.c daemon/base/account.c \
	daemon/base/subuid.c daemon/base/loop.c daemon/fdstore/holder_msg.c \
	daemon/injector/tracer_msg.c tools/depctl/record/recorder_msg.c "$build/libdep.a" \
	-lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -luring -lpthread
"$out/fuzz_messages" -make "$tmp/corpus"
fuzz_run
