#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depctl verify --contexts: all calls of a recording are encoded, and contexts decode to the stacks.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1

# field NAME FILE: a number of the object "contexts" of verify --json
field() {
	/usr/bin/python3 -c 'import json, sys
print(json.load(open(sys.argv[2]))["contexts"][sys.argv[1]])' "$1" "$2"
}

# verified NAME N ENCODINGS COMMAND...: record it, and check one call in N; the graph must have been
# encoded at least ENCODINGS times
verified() {
	name=$1 every=$2 encodings=$3
	shift 3
	have "$1" || return
	rm -rf dep
	if clean timeout 240 "$DEPCTL" record -q -o dep -- "$@" </dev/null >out 2>err; then
		checked "$name" "$every" "$encodings"
	else
		fail "$name: $(tail -n 1 err)"
	fi
}

# checked NAME N ENCODINGS: the same of a recording in dep
checked() {
	name=$1 every=$2 encodings=$3
	if ! timeout 240 "$DEPCTL" verify --json --contexts="$every" dep >json 2>err; then
		fail "$name: $(tail -n 1 err) $(cut -c 1-500 json)"
	elif [ "$(field mismatches json)" != 0 ] || [ "$(field compared json)" = 0 ] ||
	     [ "$(field unknown_callers json)" != 0 ] ||
	     [ "$(field encodings json)" -lt "$encodings" ]; then
		fail "$name: $(cut -c 1-500 json)"
	elif [ "$every" = 1 ] && [ "$(field checked json)" != "$(field calls json)" ]; then
		fail "$name: not all calls were checked: $(cut -c 1-500 json)"
	else
		pass "$name: $(field calls json) calls, $(field checked json) checked," \
		     "$(field checked_later json) again later, $(field encodings json) encodings"
	fi
}

# The programs of the suite stacks: exceptions, longjmp, signals, coroutines, fork, tail calls.
for case in jumps signals siglongjmps coroutines children assembly ring; do
	verified "$case" 1 0 "$build/programs/stacks" ranges "$case"
done
# Threads go on from the calls that created them, also those that threads create, and a child of
# fork from its parent's.
cat >creators.c <<'END'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int n) { return n ? work(n - 1) + 1 : 0; }

static void *leaf(void *arg)
{
	if (!fork())
		_exit(work(9) != 9);
	wait(NULL);
	return work(7) ? arg : NULL;
}

static void create(void *(*f)(void *), int depth)
{
	pthread_t t;

	if (depth)
		create(f, depth - 1);
	else if (!pthread_create(&t, NULL, f, NULL))
		pthread_join(t, NULL);
}

static void *middle(void *arg)
{
	create(leaf, 3);
	return arg;
}

int main(void)
{
	create(middle, 2);
	create(middle, 5);
	return 0;
}
END
if "${CC:-gcc}" -O0 -pthread -o creators creators.c; then
	verified creators 1 0 ./creators
	is "contexts of two threads, two of theirs, and two forks go on" "$(field created json)" 6
else
	fail "threads and forks"
fi
# Functions of files that are unmapped, and generated code that is replaced, are others when they
# come again; new encodings do without them.
cat >unloaded.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int depth;

static void callback(void) { depth++; }

/* Call a function of a library, which calls back, and unload it. */
static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*f)(void (*)(void)) = lib ? (void (*)(void (*)(void)))dlsym(lib, "f") : NULL;

	if (!f)
		exit(1);
	f(callback);
	dlclose(lib);
}

int main(void)
{
	/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret, and push %rbx; call *%rdi; pop %rbx; ret */
	static const char code[2][12] = {
		"\x48\x83\xec\x08\xff\xd7\x48\x83\xc4\x08\xc3", "\x53\xff\xd7\x5b\xc3",
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; i < 40; i++) {
		load("./a.so");
		load("./b.so");
		memcpy(page, code[i % 2], sizeof(code[0]));
		((void (*)(void (*)(void)))page)(callback);
	}
	return depth != 120;
}
END
echo 'static void g(void (*h)(void)) { h(); } void f(void (*h)(void)) { g(h); }' >a.c
echo 'void f(void (*h)(void)) { h(); }' >b.c
if "${CC:-gcc}" -O0 -shared -fPIC -o a.so a.c && "${CC:-gcc}" -O0 -shared -fPIC -o b.so b.c &&
   "${CC:-gcc}" -O0 -o unloaded unloaded.c -ldl; then
	verified unloaded 1 0 ./unloaded
	"$DEPCTL" query contexts --table=encoding --json dep | head -n 1 >json
	# Each time a.so has f() and g(), b.so has f(); the last version of the code remains.
	is "functions that are unmapped or replaced" "$(/usr/bin/python3 -c 'import json
gone = json.load(open("json"))["gone"]
print(gone >= 3 * 39 + 1)')" True
else
	fail "libraries that are unloaded"
fi
# Its stack has 100,000 frames.
verified recursion 2000 1 "$build/programs/stacks" ranges recursion
verified throw 1 1 "$build/programs/stacks_throw"
verified perl 1 1 perl -e 'for (1..1000) { $h{$_ % 100} .= "x" } eval { die } for 1..100'
verified python 1 1 /usr/bin/python3 -Sc 'f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)
f(6)
try: int("x")
except ValueError: pass'

# A compiler with its processes; a small C file has functions of all of cc1's passes.
echo 'struct s { int x; char y[9]; };
static int f(struct s *p, int n) { return n ? p->x + f(p, n - 1) : p->y[0]; }
int main(int argc, char **argv) { struct s s = { argc, "x" }; return f(&s, 9) + !argv; }' >small.c
verified gcc 100 4 gcc -O1 -c -o small.o small.c
# Errors by longjmp, coroutines, callbacks between C and Lua
verified lua 1 1 lua5.4 -e 'for i = 1, 300 do pcall(error, i) end
	local c = coroutine.wrap(function() for i = 1, 200 do coroutine.yield(i) end end)
	for i = 1, 200 do c() end
	local t = {}
	for i = 1, 200 do t[i] = i * 7919 % 10007 end
	table.sort(t, function(a, b) return a < b end)
	table.concat(t, ","):gsub("%d%d", function(x) pcall(error, x) end)'
# Generated code, which is replaced; threads
verified node 1000 4 node -e 'let s = 0;
	for (let i = 0; i < 5000; i++) s += [1, 2].map(x => x * i)[1];
	for (let i = 0; i < 50; i++) try { JSON.parse("{") } catch (e) {}
	try { (function f() { f() })() } catch (e) {}'
# A server with threads, while a client loads it
if have redis-server && have redis-cli && have redis-benchmark; then
	rm -rf dep
	loaded=no
	clean timeout 240 "$DEPCTL" record -q -o dep -- redis-server --port 0 \
		--unixsocket "$tmp/redis.sock" --save "" </dev/null >out 2>err &
	if wait_for 60 redis-cli -s redis.sock ping >pong && grep -q PONG pong; then
		timeout 200 redis-benchmark -s redis.sock -n 200 -c 5 -q \
			-t set,lpush,zadd,lrange_100 >bench 2>&1 && loaded=yes
	fi
	is "redis was loaded" $loaded yes
	redis-cli -s redis.sock shutdown nosave >/dev/null 2>&1
	if wait $!; then
		checked redis 10 4
	else
		fail "redis: $(tail -n 1 err)"
	fi
fi
verified sqlite3 1 1 sqlite3 :memory: 'with recursive c(x) as (select 1 union all
	select x + 1 from c where x < 300) select sum(x) from c group by x % 3'

# The text has one line, and the same each time.
timeout 240 "$DEPCTL" verify --contexts=7 dep >first 2>&1
timeout 240 "$DEPCTL" verify --contexts=7 --jobs=1 dep >second 2>&1
is "the check can be repeated" "$(cat first)" "$(cat second)"
is "one line for the contexts" "$(grep -c '^contexts: .* 0 mismatches, ' first)" 1
is "no line without the option" "$("$DEPCTL" verify dep | grep -c contexts)" 0
# Few calls: one is compared all the same.
timeout 240 "$DEPCTL" verify --json --contexts=4000000000 dep >json
is "the first calls are checked" "$(($(field compared json) > 0)) $(field mismatches json)" "1 0"
is "each check is counted" "$(($(field compared json) + $(field not_compared json)))" \
	"$(field checked json)"
# Nothing to compare: that is no success.
printf '.globl _start\n_start: mov $60, %%eax\nxor %%edi, %%edi\nsyscall\n' >none.S
if "${CC:-gcc}" -nostdlib -static -o none none.S && "$DEPCTL" record -q -o none.dep -- ./none; then
	"$DEPCTL" verify --contexts=1 none.dep >out 2>&1
	is "a check of no call fails" "$? $(grep -c '^context: no stack was compared' out)" "1 1"
	is "it counts nothing" "$(grep -c '^contexts: 0 stacks compared, 0 not compared' out)" 1
else
	fail "a program without calls"
fi
# The table has the same calls, and CSV the values of JSON.
"$DEPCTL" query contexts --table=encoding dep >table 2>&1
is "the table is complete" "$(tail -n 1 table)" "complete: yes"
timeout 240 "$DEPCTL" verify --json --contexts dep >json
is "calls of the table" "$(sed -n 's/^ *\([0-9]*\)  calls, tail calls.*/\1/p' table)" \
	"$(field calls json)"
is "re-encodings of the table" "$(sed -n 's/^ *\([0-9]*\)  re-encodings.*/\1/p' table)" \
	"$(field encodings json)"
"$DEPCTL" query contexts --table=encoding --json dep | head -n 1 >json
"$DEPCTL" query contexts --table=encoding --csv dep >csv
is "CSV has the row of JSON" "$(/usr/bin/python3 -c 'import csv, json
row = next(csv.DictReader(open("csv")))
print({k: float(v) for k, v in row.items()} ==
      {k: float(v) for k, v in json.load(open("json")).items()})')" True
# A ladder of 100 functions that call the next one at two sites has 2^100 contexts.
/usr/bin/python3 - >ladder.c <<'END'
print("static int seen[101];\nvoid f100(void) { seen[100]++; }")
for i in reversed(range(100)):
    print(f"void f{i}(void) {{ if (seen[{i}]++) return; f{i + 1}(); f{i + 1}(); }}")
print("int main(void) { for (int i = 0, k; i < 400; i++) {")
print("for (k = 0; k < 101; k++) seen[k] = 0; f0(); } return 0; }")
END
if "${CC:-gcc}" -O0 -static -o ladder ladder.c &&
   "$DEPCTL" record -q -o ladder.dep -- ./ladder; then
	"$DEPCTL" query contexts --table=encoding --json ladder.dep | head -n 1 >json
	is "ids that are large are exact" "$(/usr/bin/python3 -c 'import json
row = json.load(open("json"))
largest, pcce = row["max_id"], row["pcce_max_id"]
print(type(largest), int(largest) > 2 ** 62, largest == str(int(largest)),
      (int(pcce) + 1) % 2 ** 100, pcce == str(int(pcce)))')" "<class 'str'> True True 0 True"
	"$DEPCTL" query contexts --table=encoding ladder.dep >table
	is "text has the same digits" "$(sed -n 's/^ *\([0-9]*\)  maxID: .*/\1/p' table)" \
		"$(/usr/bin/python3 -c 'import json
print(json.load(open("json"))["max_id"])')"
else
	fail "a ladder of calls"
fi
"$DEPCTL" query contexts --table=encoding --top=1 dep >out 2>&1
is "the table has no selection" $? 2
"$DEPCTL" query contexts --table=other dep >out 2>&1
is "another table is wrong usage" $? 2
"$DEPCTL" verify --contexts=0 dep >out 2>&1
is "one call in 0 is wrong usage" $? 2
finish
