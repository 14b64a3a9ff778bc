#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on productions of grammars: from repeated text, runs, numbers as wide
# as addresses, more symbols than a small grammar takes, and serialised grammars.
. "$(dirname "$0")/../lib.sh"
. "$tests/fuzz/fuzz.sh"
# Longer inputs have little that shorter ones do not have, but for grammars that are full.
max_len=16384
sources=
for f in digrams hot sequitur walk write; do
	sources="$sources libdep/streams/$f.c"
done
# shellcheck disable=SC2086
fuzz_build fuzz_productions $sources tests/unit/streams/grammar_check.c \
	tests/unit/streams/grammar_read.c -lcmocka

# seed NAME FIRST-BYTE: standard input is the rest
seed() {
	{
		# shellcheck disable=SC2059
		printf "$2"
		cat
	} >"$tmp/corpus/$1"
}
# The first byte: fuzz_productions.c.
printf 'abcdbcabcdbcabaabcabcabcabcabcabdabcabd' | seed text '\000'
printf 'abcdbcabcdbcabaabcabcabcabcabcabdabcabd' | seed text_all '\070'
printf 'baaabaaaaabaaabaaaaaaaaaaaaaaaaabababababcabab' | seed runs '\010'
head -c 4000 libdep/streams/sequitur.c | seed source '\060'
head -c 4000 libdep/streams/sequitur.c | seed pairs '\051'
head -c 4096 "$top/tests/fuzz/fuzz.sh" | seed addresses '\077'
# Hardly any two pairs of these are equal.
awk 'BEGIN { for (i = 0; i < 8000; i++) printf "%c%c", 1 + i * i % 127, 1 + i * 7 % 113 }' |
	seed full '\171'
# 2 symbols, a and b; 2 rules: two uses of the other rule, and a b
printf '\002\141\001\002\002\003\003\002\000\002' | seed grammar '\200'
# Each of 20 rules is the next one twice: 2^21 symbols, more than are read
{
	printf '\001\141\025'
	for _ in {1..20}; do printf '\002\003\003'; done
	printf '\002\000\000'
} | seed grammar_long '\200'
fuzz_run
