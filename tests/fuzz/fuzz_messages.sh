#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on packets between the processes of depd and depctl.
. "$(dirname "$0")/../lib.sh"
. "$tests/fuzz/fuzz.sh"
max_len=32768
fuzz_build fuzz_messages -I. -I"$build" -DADEPT_VERSION='"fuzz"' daemon/front/link.c \
	daemon/front/report.c daemon/front/page.c daemon/account.c daemon/subuid.c daemon/loop.c \
	daemon/keeper_msg.c daemon/tracer_msg.c tools/depctl/recorder_msg.c "$build/libdep.a" \
	-lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -luring -lpthread
"$out/fuzz_messages" -make "$tmp/corpus"
fuzz_run
