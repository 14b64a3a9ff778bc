#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# At signals of a profiling timer, the stacks of libdep equal those of libgcc's unwinder.
#
# programs/backtraces.c is preloaded into real programs and takes the backtraces;
# programs/backtraces_check.c compares them.  How many signals come depends on the machine, so a
# program is run again until it had enough of them.
. "$(dirname "$0")/lib.sh"
need_depctl
have g++ || finish
check=$build/tests/backtraces_check
few=20			# samples of each program, at least
most=8			# runs of each program
gcc -O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -shared -fPIC \
	-ftls-model=initial-exec -Wl,-z,now -o "$tmp/backtraces.so" \
	"$tests/programs/backtraces.c" -lgcc_s || exit 1
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1

# record COMMAND...: into dep, with the backtraces in seen
record() {
	rm -rf dep seen
	clean timeout 120 "$DEPCTL" record -q -o dep -- \
		env LD_PRELOAD="$tmp/backtraces.so" BACKTRACES="$tmp/seen" "$@" </dev/null \
		>out 2>err
}

# number WORDS: the number in front of the words in the result
number() {
	sed -n "s/.*[^0-9]\([0-9]*\) $1.*/\1/p" <<<" $(tail -n 1 result)"
}

# compare NAME FUNCTION ARGUMENT...: the function records; until there are enough samples
compare() {
	name=$1
	shift
	have "$2" || return
	samples=0 frames=0 partial=0 runs=0
	while [ "$samples" -lt $few ] && [ $runs -lt $most ]; do
		runs=$((runs + 1))
		if ! "$@"; then
			fail "$name: $(tail -n 1 err)"
			return
		fi
		if ! timeout 120 "$check" dep seen >result 2>&1; then
			fail "$name: $(head -n 1 result); $(tail -n 1 result)"
			sed 's/^/    /' result
			return
		fi
		samples=$((samples + $(number samples)))
		frames=$((frames + $(number frames,)))
		partial=$((partial + $(number "up to")))
	done
	if [ "$samples" -lt $few ]; then
		fail "$name: only $samples stacks in $runs runs"
	elif [ "$frames" -lt $((2 * samples)) ]; then
		fail "$name: only $frames frames of $samples stacks"
	else
		pass "$name: $samples stacks, $frames frames, $partial stacks in part, $runs runs"
	fi
}

# serve REDIS-SERVER: record the server while a client loads it
serve() {
	record "$1" --port 0 --unixsocket "$tmp/redis.sock" --save "" &
	if wait_for 60 redis-cli -s redis.sock ping >pong && grep -q PONG pong; then
		timeout 60 redis-benchmark -s redis.sock -n 100 -c 5 -q \
			-t set,lpush,zadd,lrange_100 >bench 2>&1
	fi
	redis-cli -s redis.sock shutdown nosave >/dev/null 2>&1
	wait $!
}

compare throw record "$build/programs/stacks_throw" 1500
# Handlers at work, and handlers, functions and loops that longjmp left
compare signals record "$build/programs/stacks" ranges \
	$(for i in $(seq 100); do echo signals siglongjmps jumps; done)
compare perl record perl -e 'for (1..50000) { $h{$_ % 100} .= "x" } eval { die } for 1..5000;
	$s = join ",", sort { $a <=> $b } map { $_ * 7919 % 10007 } 1..5000;
	$s =~ s/(\d)(\d)/$2$1/g'
compare python record /usr/bin/python3 -Sc 'import json, re, threading
def work():
    f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)
    f(12)
    for i in range(300):
        try: int("x")
        except ValueError: pass
    json.loads(json.dumps([{"a": i} for i in range(300)]))
    re.sub("(a|b)+c", "x", "abababc" * 500)
    sorted((i * 7919 % 10007 for i in range(2000)), key=lambda x: -x)
threads = [threading.Thread(target=work) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()'
compare sqlite3 record sqlite3 :memory: 'create table t(a, b);
	with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)
		insert into t select x, x * 7919 % 10007 from c;
	create index i on t(b);
	select sum(a) from t group by b % 3;
	select count(*) from t x join t y on x.a = y.b'
compare lua record lua5.4 -e 'for i = 1, 10000 do pcall(error, i) end
	local c = coroutine.wrap(function() for i = 1, 5000 do coroutine.yield(i) end end)
	for i = 1, 5000 do c() end
	local t = {}
	for i = 1, 5000 do t[i] = i * 7919 % 10007 end
	table.sort(t, function(a, b) return a < b end)
	table.concat(t, ","):gsub("%d%d", function(x) pcall(error, x) end)'
for i in $(seq 3); do
	echo "int f$i(int a, int *p) { int s = 0; for (int i = 0; i < a; i++) switch (p[i] % 7) {" \
		"case 0: s += i * $i; break; case 1: s ^= p[i]; break;" \
		"default: s = s * 3 + f$i(a / 2, p + 1); } return s; }"
done >f.c
cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
compare cc1 record "${cc1:-cc1}" -quiet -O1 f.c -o f.s
if have redis-cli && have redis-benchmark; then
	compare redis serve redis-server
fi
[ "$LONG" != 1 ] || compare node record node -e 'let s = 0;
	for (let i = 0; i < 100000; i++) s += [1, 2].map(x => x * i)[1];
	for (let i = 0; i < 500; i++) try { JSON.parse("{") } catch (e) {}'
finish
