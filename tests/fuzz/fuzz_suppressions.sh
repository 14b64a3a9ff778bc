#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on suppressions, from entries of both formats and, where it is
# installed, from Valgrind's own file.
. "$(dirname "$0")/../lib.sh"
. "$tests/fuzz/fuzz.sh"
max_len=4096
fuzz_build fuzz_suppressions tools/depctl/races/suppressions.c \
	tools/depctl/races/suppressions_match.c
cat >"$tmp/corpus/tsan" <<'END'
# a comment
race:^inner(int*$
race_top:out*r
called_from_lib:prog
mutex:x
deadlock:y
race:*a*$
END
cat >"$tmp/corpus/valgrind" <<'END'
{
   a name
   Helgrind,drd:Race
   fun:_Z5inner*
   ...
   obj:*/prog
   src:a?c:12
}
{
   another
   Memcheck:Param
   write(buf)
   obj:*
}
END
head -c 20000 /usr/libexec/valgrind/default.supp >"$tmp/corpus/default" 2>/dev/null
for word in race: race_top: called_from_lib: '{' '}' Helgrind:Race drd:ConflictingAccess fun: \
	obj: src: ... '*' '$' '^'; do
	echo "\"$word\""
done >"$tmp/words"
fuzz_run -dict="$tmp/words"
