#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on depd.conf's parser, from the examples of its manual page.
. "$(dirname "$0")/../lib.sh"
. "$tests/fuzz/fuzz.sh"
max_len=8192
files=
for f in policy/{conf,config,config_keys,match,describe} pending/kernel_rules; do
	files="$files daemon/$f.c"
done
# shellcheck disable=SC2086
fuzz_build fuzz_policy -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION $files -lcjson
sed -n '/^\.nf/,/^\.fi/p' Documentation/man/depd.conf.5 | grep -v '^\.' | sed 's/\\-/-/g' \
	>"$tmp/corpus/manual"
{
	printf '[depd]\nstore = /s\nworkers = 2\n[rule a]\n'
	for key in comm=x path=/x* 'cgroup=/*' argv=x uid=3 every=2 at-once=1 terminal=yes \
		ring-size=1M on-full=drop max-size=1G level=3 transport=shm follow=no \
		self-check=yes null=yes store=/x; do
		echo "$key"
	done
} >"$tmp/corpus/all"
fuzz_run
