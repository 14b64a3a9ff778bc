#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the store of an attached process says of the moment of the attach: how each thread was
# entered and left, its call stack, mappings and open descriptors.  Races know nothing of before.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
cd "$tmp" || exit 1
have python3 || {
	skip "python3 is not installed"
	finish
	exit
}

# ---- threads, stacks, mappings and descriptors ----
cat >data.c <<'END'
int library_value[4] = { 1, 2, 3, 4 };
END
cat >facts.c <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

volatile int stop;
static volatile long spun;

__attribute__((noinline)) static void spin_inner(void)
{
	while (!stop)
		spun++;
}

__attribute__((noinline)) static void spin_outer(void)
{
	spin_inner();
	spun++;
}

static void *spinner(void *arg)
{
	spin_outer();
	return arg;
}

/* Behind it there is no unwind table: only a search finds its callers. */
__asm__(".text\n"
	".type hidden_pause, @function\n"
	"hidden_pause:\n"
	"	sub $40, %rsp\n"
	"1:	pause\n"
	"	cmpl $0, stop(%rip)\n"
	"	je 1b\n"
	"	add $40, %rsp\n"
	"	ret\n"
	".size hidden_pause, . - hidden_pause\n");
void hidden_pause(void);

__attribute__((noinline)) static void hidden_caller(void)
{
	hidden_pause();
	spun++;
}

static void *hidden(void *arg)
{
	hidden_caller();
	return arg;
}

static void *waiter(void *arg)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	while (!stop)
		epoll_wait(fd, &e, 1, 500);
	return arg;
}

static int open_all(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "facts.socket" };
	int fd = open("file", O_RDWR | O_CREAT | O_APPEND, 0600), pair[2], tcp, local;

	if (fd < 0 || write(fd, "12345", 5) != 5 || dup2(fd, 40) != 40 || pipe(pair) ||
	    dup2(pair[0], 41) != 41)
		return 1;
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	local = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(tcp, (void *)&in, sizeof(in)) || listen(tcp, 1) || dup2(tcp, 42) != 42 ||
	    bind(local, (void *)&un, sizeof(un)) || dup2(local, 43) != 43)
		return 1;
	fd = open("odd\n\033[31m\xff\"name", O_RDONLY | O_CREAT, 0600);
	return fd < 0 || dup2(fd, 44) != 44;
}

int main(void)
{
	void *(*const run[])(void *) = { spinner, hidden, waiter };
	void *library = dlopen("./libdata.so", RTLD_NOW);
	pthread_t t[3];
	char c;
	int i;

	if (!library || open_all())
		return 2;
	for (i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, run[i], NULL))
			return 2;
	printf("running %p\n", (int *)dlsym(library, "library_value") + 2);
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 2;
	dlclose(library);
	if (read(0, &c, 1) != 1)
		return 2;
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
gcc -g -shared -fPIC -o libdata.so data.c &&
	gcc -g -O1 -pthread -o facts facts.c -ldl || exit 1
coproc program { exec ./facts; }
pid=$program_PID
exec 5<&"${program[0]}" 6>&"${program[1]}"
read -r _ address <&5
attach $pid
sleep 1
echo >&6
sleep 1
detach || fail "no detach: $(cat err)"
echo >&6
wait $pid
is "a program with much open is attached to and detached from" $? 0
exec 5<&- 6>&-
good store && pass "its store is good" || fail "the store: $(tail -n 1 verify.out)"
"$DEPCTL" info --attach --json store >info.json 2>err ||
	fail "info --attach --json: $(cat err)"
"$DEPCTL" info --attach store >info.out 2>err || fail "info --attach: $(cat err)"
cat >check.py <<'END'
import json, re, sys
[attach] = json.load(open("info.json"))["attaches"]
threads = attach["threads"]
def stack(name):
    [t] = [t for t in threads if name in [f["function"] for f in t["frames"]]]
    return t, [(f["function"], f["exact"]) for f in t["frames"]]
def check(what, good, why=""):
    print(("ok " if good else "FAIL ") + what, "" if good else why)
t, s = stack("spinner")
check("a running thread", t["kind"] == "running" and "nr" not in t, t)
check("its stack is exact", s[:3] == [("spin_inner", True), ("spin_outer", True),
                                      ("spinner", True)] and all(e for f, e in s), s)
t, s = stack("hidden_pause")
names = [f for f, e in s]
check("a function without unwind table", s[0] == ("hidden_pause", True), s)
check("its callers are guesses", "hidden_caller" in names and "hidden" in names and
      not any(e for f, e in s[1:]), s)
t, s = stack("main")
check("a thread in a call", t["kind"] == "call" and t["name"] == "read" and
      t["args"][0] == "0x0" and t["args"][2] == "0x1", t)
check("its stack", [f for f, e in s][1] == "main" and all(e for f, e in s), s)
t, s = stack("waiter")
check("a thread in a call that a stop would end", t["kind"] == "returned" and
      t["name"] == "epoll_wait" and t["args"][3] == "0x1f4", t)
check("all were detached from", len(threads) == 4 and
      all(t["reason"] == "detached" and int(t["end_ns"]) > int(t["start_ns"]) for t in threads),
      threads)
check("nothing is known of memory before", attach["memory_known"] is False)
files = {d["fd"]: d for d in attach["open_descriptors"]}
d = files[40]
check("a file", d["kind"] == "file" and d["path"].endswith("/file") and d["position"] == "5" and
      int(d["flags"], 16) & 0o2002 == 0o2002, d)
check("a pipe", files[41]["kind"] == "pipe" and files[41]["peer"] is None, files[41])
check("a TCP socket", files[42]["kind"] == "socket" and
      re.fullmatch(r"tcp 127\.0\.0\.1:[0-9]+", files[42]["peer"]), files[42])
check("a Unix socket", files[43]["peer"] == "unix facts.socket", files[43])
check("a name with any bytes", "/odd\n\033[31m" in files[44]["path"], files[44])
text = open("info.out", "rb").read()
check("the text has no control characters", b"\033" not in text and b"odd?" in text)
check("the text has the guesses", b"perhaps hidden_caller" in text)
END
python3 check.py >check.out 2>&1 || fail "check.py: $(tail -n 1 check.out)"
while read -r word rest; do
	[ "$word" = ok ] && pass "$rest" || fail "$rest"
done <check.out
"$DEPCTL" dump --events store >events
is "events of the attach" "$(grep -c ' attach kind=' events)" 4
is "events of the detach" "$(grep -c ' detach reason=detached ' events)" 4
! grep -q set_tid_address events && pass "no event of a call that the program did not make" ||
	fail "$(grep set_tid_address events)"

# ---- addresses of data in a library of which no code is executed ----
"$DEPCTL" ls --modules --json store >ls.json
read -r during after <<<"$(python3 -c 'import json
m = [m for m in json.load(open("ls.json"))["modules"] if m["path"].endswith("/libdata.so")]
print(max(int(m["from_ns"]) for m in m) + 1, max(int(m["to_ns"]) for m in m) + 1)')"
"$DEPCTL" where --time "$during" store "$address" >where.out 2>&1
grep -q 'library_value\[2\]' where.out && pass "a variable of a library without executed code" ||
	fail "where: $(cat where.out)"
[ "$after" -gt "$during" ] && pass "the store says when the library was unmapped" ||
	fail "the library stays mapped: $(cat ls.json)"
is "no file but programs and libraries has a note" "$(grep -c 'no ELF file' where.out)" 0

# ---- races: locks that are held at the attach, and accesses before it ----
cat >locks.c <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static volatile long v_before, v_mutex, v_rwlock, v_spin, v_sem, v_racy;

/* Waits for the mutex since before the attach. */
static void *other(void *arg)
{
	pthread_mutex_lock(&mutex);
	v_mutex++;
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	v_rwlock++;
	pthread_rwlock_unlock(&rwlock);
	pthread_spin_lock(&spin);
	v_spin++;
	pthread_spin_unlock(&spin);
	sem_wait(&sem);
	v_sem++;
	v_before++;
	v_racy++;
	return arg;
}

int main(void)
{
	pthread_t t;
	char c;

	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 0);
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	pthread_spin_lock(&spin);
	v_before++;
	if (pthread_create(&t, NULL, other, NULL) || read(0, &c, 1) != 1)
		return 2;
	v_mutex++;
	pthread_mutex_unlock(&mutex);
	v_rwlock++;
	pthread_rwlock_unlock(&rwlock);
	v_spin++;
	pthread_spin_unlock(&spin);
	v_sem++;
	sem_post(&sem);
	v_racy++;
	pthread_join(t, NULL);
	return 0;
}
END
gcc -g -O1 -pthread -o locks locks.c || exit 1
{ exec ./locks; } < <(wait_for 10 grep -qs "recording process" err.locks && echo) &
pid=$!
wait_for 10 eval '[ "$(grep -l "^202 " /proc/$pid/task/*/syscall 2>/dev/null | wc -l)" = 1 ]'
"$DEPCTL" attach -o locks.dep $pid 2>err.locks
is "a recording of locks that were held before" $? 0
wait $pid
"$DEPCTL" query races --json locks.dep >races.json
is "the only race" "$(python3 -c 'import json
print(sorted({r["variable"] for r in json.load(open("races.json"))["races"]}))')" "['v_racy']"
is "the report counts attached processes" "$(python3 -c 'import json
print(json.load(open("races.json"))["attached_processes"])')" 1
"$DEPCTL" query races locks.dep >races.out
grep -q "^attached: 1 process; what it did before counts as ordered" races.out &&
	pass "and says what that means" || fail "$(cat races.out)"

# ---- a store without an attach ----
"$DEPCTL" record -q -o launched -- true
is "a program that was launched" "$("$DEPCTL" info --attach launched)" \
	"No process was attached to."
"$DEPCTL" query races launched >races.out
! grep -q ^attached: races.out && pass "its races are of the whole run" || fail "$(cat races.out)"

# ---- more descriptors than fit, and a stack that is hardly there ----
cat >many.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void)
{
	struct rlimit l = { 20000, 20000 };
	int n = 0;
	char c;

	setrlimit(RLIMIT_NOFILE, &l);
	while (n < 19000 && open("/dev/null", O_RDONLY) >= 0)
		n++;
	printf("running %d\n", n);
	fflush(stdout);
	return read(0, &c, 1) != 1;
}
END
gcc -O1 -o many many.c || exit 1
coproc program { exec ./many; }
pid=$program_PID
exec 5<&"${program[0]}" 6>&"${program[1]}"
read -r _ n <&5
attach $pid
echo >&6
wait $pid
is "a program with $n descriptors" $? 0
exec 5<&- 6>&-
wait $recorder
good store && pass "its store is good" || fail "the store: $(tail -n 1 verify.out)"
"$DEPCTL" info --attach --json store >info.json
is "all of them are there or counted" "$(python3 -c 'import json
a = json.load(open("info.json"))["attaches"][0]
n = len(a["open_descriptors"])
print(n > 1000, n + a["descriptors_left_out"] >= '"$n"')')" \
	"True True"
finish
