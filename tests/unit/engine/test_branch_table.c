// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch tables: a lookup of an address finds its landing at any size of the tables, and its
 * landing or nothing while they grow.  The lookup reads the tables at the addresses that generated
 * code uses.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libdep/engine/translate/branch_table.h"
#include "tests/unit/lib/random.h"

#define LOW		0x20000000ul
#define LOW_SIZE	((4ul << 20) + 4096)
#define COUNT		40000u	/* tables have all entries after 4096 */
#define FIRST		4096u	/* entries */
#define SPARSE		32u	/* entries per landing */
#define WALKERS		2

/* The landings of each table are represented by numbers, at addresses that are not executed. */
#define ADDR		0x7000000000ul
#define ADDR_STEP	64u

static const u32 bits[2][NTABLES] = { { 17, 18 }, { 16, 16 } };
static int plain;

static u64 pcs[NTABLES][COUNT];
static u64 literals[NTABLES][2 * COUNT];
static u32 place[NTABLES][COUNT];	/* which of 2 * COUNT a landing is at */
static u32 added[NTABLES];

struct adept_boot boot = { .low = LOW, .low_size = LOW_SIZE };

void gate_miss(void);
void gate_miss_call(void);
void gate_miss_return(void);

void gate_miss(void)
{
}

void gate_miss_call(void)
{
}

void gate_miss_return(void)
{
}

void *heap_alloc(size_t n)
{
	return calloc(1, n);
}

void fatal(const char *fmt, ...)
{
	fprintf(stderr, "fatal: %s\n", fmt);
	abort();
}

/* Tests run in separate processes, in which cmocka's checks do not work. */
#define check(cond) check_at(!!(cond), #cond, __LINE__)

static void check_at(int good, const char *what, int line)
{
	if (good)
		return;
	fprintf(stderr, "line %d: %s is false\n", line, what);
	_exit(1);
}

static void in_child(void (*f)(void))
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, status;
	void *low = (void *)LOW;
	pid_t pid = fork();

	if (!pid) {
		check(mmap(low, LOW_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) == low);
		/* As on a system that uses huge pages for all memory. */
		madvise(low, LOW_SIZE, MADV_HUGEPAGE);
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* As the code that branch_lookup.c emits computes it. */
static u32 index_of(enum table t, u64 pc, u64 scale)
{
	u32 n = bits[plain][t];
	u64 x = pc * 9;

	if (plain)
		return (u16)x;
	return (u32)((unsigned __int128)(x >> n | x << (64 - n)) * scale >> 64);
}

static u64 read_once(const u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/*
 * From the entry for @pc on.
 * Return: the landing's number, or -1 for the dispatcher
 */
static int walk(enum table t, u64 pc, u64 scale, u32 *steps)
{
	u64 miss = t == T_RETURN ? (u64)gate_miss_return : (u64)gate_miss, at;
	u32 i = index_of(t, pc, scale), which;

	at = read_once((t == T_RETURN ? table_return() : table_jump()) + i);
	for (*steps = 0; at != miss; ++*steps) {
		check(at >= ADDR && !((at - ADDR) % ADDR_STEP) && *steps < COUNT);
		which = (u32)((at - ADDR) / ADDR_STEP);
		check(which < 2 * COUNT);
		if (place[t][which % COUNT] == which && pcs[t][which % COUNT] == pc)
			return (int)(which % COUNT);
		at = read_once(&literals[t][which]);
	}
	return -1;
}

static void set(enum table t, u32 i, u32 which)
{
	struct landing_place at = { (u8 *)(ADDR + which * (u64)ADDR_STEP), &literals[t][which] };

	literals[t][which] = t == T_RETURN ? (u64)gate_miss_return : (u64)gate_miss;
	place[t][i] = which;
	table_set(t, pcs[t][i], &at);
}

/* Close together, as in one function, or anywhere; all different. */
static void choose(enum table t)
{
	u64 pc = 0x555555554000;

	for (u32 i = 0; i < COUNT; i++) {
		pc += 2 + rnd() % 20;
		/* Others at the same offset of another page, or of one with the same low bits. */
		pcs[t][i] = pc + (rnd() % 4 ? 0 : rnd() % 64 << 32 | (rnd() & 3) << 40);
	}
}

static void begin(void)
{
	choose(T_JUMP);
	choose(T_RETURN);
	table_init(plain);
	for (enum table t = 0; t < NTABLES; t++) {
		check(table_bits(t) == bits[plain][t]);
		check(*table_scale(t) == (plain ? 1u << bits[1][t] : FIRST));
	}
}

/* Look up everything that was added, with the current scale and with all earlier ones. */
static void look_for_all(enum table t)
{
	u64 now = *table_scale(t), sum = 0;
	u32 steps;

	for (u32 i = 0; i < added[t]; i++) {
		check(walk(t, pcs[t][i], now, &steps) == (int)i);
		sum += steps;
		for (u64 scale = FIRST; scale < now; scale *= 2)
			check(walk(t, pcs[t][i], scale, &steps) >= -1);
	}
	/* Chains are as short as with uniformly distributed addresses. */
	check(sum <= added[t] * (u64)added[t] / now + 64);
	for (u32 i = added[t]; i < added[t] + 200 && i < COUNT; i++)
		check(walk(t, pcs[t][i], now, &steps) == -1);
}

/* Calls enter 5 bytes before the landings of jumps. */
static void compare_calls(void)
{
	for (u32 i = 0; i < *table_scale(T_JUMP); i++) {
		u64 jump = table_jump()[i], call = table_call()[i];

		if (jump == (u64)gate_miss)
			check(call == (u64)gate_miss_call);
		else
			check(call == jump - 5);
	}
}

static void add_all(void)
{
	begin();
	for (u32 i = 0; i < COUNT; i++) {
		for (enum table t = 0; t < NTABLES; t++) {
			u64 before = *table_scale(t);

			check(!table_has(t, pcs[t][i]));
			set(t, i, i);
			added[t]++;
			check(table_has(t, pcs[t][i]));
			/*
			 * The table grows with the first landing beyond the limit, and not before.
			 */
			check((*table_scale(t) != before) ==
			      (added[t] * SPARSE > before && before < 1u << bits[plain][t]));
			if (*table_scale(t) != before || i % 8192 == 8191)
				look_for_all(t);
		}
	}
	for (enum table t = 0; t < NTABLES; t++) {
		check(*table_scale(t) == 1u << bits[plain][t]);
		look_for_all(t);
	}
	compare_calls();
}

static void test_all_are_found(void **state)
{
	(void)state;
	plain = 0;
	in_child(add_all);
	plain = 1;
	in_child(add_all);
	plain = 0;
}

/* A new landing for the same address: after the replacement nothing leads to the old one. */
static void replace_some(void)
{
	u32 steps;

	begin();
	for (u32 i = 0; i < COUNT; i++) {
		for (enum table t = 0; t < NTABLES; t++) {
			set(t, i, i);
			added[t]++;
		}
		if (i % 16)
			continue;
		for (enum table t = 0; t < NTABLES; t++) {
			u32 k = (u32)(rnd() % (i + 1)), which = place[t][k];

			set(t, k, (which + COUNT) % (2 * COUNT));
			check(walk(t, pcs[t][k], *table_scale(t), &steps) == (int)k);
		}
	}
	for (enum table t = 0; t < NTABLES; t++) {
		look_for_all(t);
		for (u32 i = 0; i < COUNT; i++) {
			u64 at = literals[t][place[t][i]];
			u32 which = (u32)((at - ADDR) / ADDR_STEP);

			if (which < 2 * COUNT)
				check(place[t][which % COUNT] == which);
		}
	}
	compare_calls();
}

static void test_replaced(void **state)
{
	(void)state;
	in_child(replace_some);
}

static u32 resident(void)
{
	u8 in[LOW_SIZE / 4096];
	u32 n = 0;

	check(!mincore((void *)LOW, LOW_SIZE, in));
	for (u32 i = 0; i < sizeof(in); i++)
		n += in[i] & 1;
	return n;
}

/* 3 tables of 8 pages, and the scales. */
static void few_in_little(void)
{
	begin();
	for (u32 i = 0; i < FIRST / SPARSE; i++) {
		set(T_JUMP, i, i);
		set(T_RETURN, i, i);
	}
	check(resident() == 25);
	set(T_RETURN, FIRST / SPARSE, FIRST / SPARSE);
	check(resident() == 33);
	set(T_JUMP, FIRST / SPARSE, FIRST / SPARSE);
	check(resident() == 49);
}

static void test_small(void **state)
{
	(void)state;
	in_child(few_in_little);
}

/* A thread in translated code: it reads the scale, then the table's entry, and follows it. */
static void *walker(void *arg)
{
	u32 seed = *(u32 *)arg, steps, n;
	enum table t;
	u64 found = 0;

	do {
		t = seed >> 16 & 1;
		n = __atomic_load_n(&added[t], __ATOMIC_ACQUIRE);
		if (n) {
			u32 i = (u32)((u64)seed * n >> 32);
			u64 scale = read_once(table_scale(t));
			int got = walk(t, pcs[t][i], scale, &steps);

			check(got == -1 || got == (int)i);
			found += got != -1;
		}
		seed = seed * 1664525 + 1013904223;
	} while (n < COUNT);
	check(found);
	return NULL;
}

static void grow_under_walkers(void)
{
	u32 seed[WALKERS];
	pthread_t w[WALKERS];

	begin();
	for (u32 i = 0; i < WALKERS; i++) {
		seed[i] = (u32)rnd();
		check(!pthread_create(&w[i], NULL, walker, &seed[i]));
	}
	for (u32 i = 0; i < COUNT; i++) {
		for (enum table t = 0; t < NTABLES; t++) {
			set(t, i, i);
			__atomic_store_n(&added[t], i + 1, __ATOMIC_RELEASE);
		}
	}
	for (u32 i = 0; i < WALKERS; i++)
		check(!pthread_join(w[i], NULL));
}

static void test_threads(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		rnd();
		in_child(grow_under_walkers);
	}
}

/* A page of entries is filled before a thread can read it. */
static void fresh_page(int sig, siginfo_t *info, void *context)
{
	u64 at = (u64)info->si_addr & ~4095ul, from;
	enum table t = at < (u64)table_return() ? T_JUMP : T_RETURN;

	(void)sig;
	(void)context;
	check(at >= LOW && at < (u64)table_scale(T_JUMP));
	from = (u64)(t == T_RETURN ? table_return() :
		     at < (u64)table_call() ? table_jump() : table_call());
	check(*table_scale(t) <= (at - from) / 8);
	check(!mprotect((void *)at, 4096, PROT_READ | PROT_WRITE));
}

static void fill_first(void)
{
	struct sigaction act = { .sa_sigaction = fresh_page, .sa_flags = SA_SIGINFO };

	check(!sigaction(SIGSEGV, &act, NULL));
	check(!mprotect((void *)LOW, LOW_SIZE - 4096, PROT_NONE));
	begin();
	for (u32 i = 0; i < COUNT; i++) {
		set(T_JUMP, i, i);
		set(T_RETURN, i, i);
	}
}

static void test_filled_first(void **state)
{
	(void)state;
	in_child(fill_first);
}

/* Landings that can be executed: lea rsp, [rsp+8]; mov eax, number; ret */
#define RUN		3000u
#define RUN_STEP	16u

typedef u64 (*looks_up)(u64 rdi, u64 rsi, u64 rdx, u64 target);

static u8 *run_code(void)
{
	u8 *code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(code != MAP_FAILED);
	for (u32 i = 0; i < RUN; i++) {
		u8 *at = code + i * RUN_STEP;

		memcpy(at, "\x48\x8d\x64\x24\x08\xb8", 6);
		memcpy(at + 6, &i, 4);
		at[10] = 0xc3;
	}
	return code;
}

/* The lookup code of branch_lookup.c as a function: it finds the landing of its fourth argument. */
static looks_up emitted(u8 *at, void (*emit)(struct emit *e))
{
	struct emit e = { .p = at, .end = at + 64 };
	looks_up f;

	emit(&e);
	memcpy(e.p, "\x48\x89\xd0\xc3", 4);	/* mov rax, rdx; ret */
	check(!e.overflow);
	memcpy(&f, &at, sizeof(f));
	return f;
}

/* The first landing in the bucket of @pc is the one that was added last. */
static u32 last_of_bucket(enum table t, u64 pc, u32 n)
{
	while (n--)
		if (index_of(t, pcs[t][n], *table_scale(t)) == index_of(t, pc, *table_scale(t)))
			return n;
	abort();
}

static void run_emitted(void)
{
	u8 *code = run_code(), *free = code + RUN * RUN_STEP;
	looks_up jump, call, load;

	lookup_init(!plain);
	choose(T_JUMP);
	choose(T_RETURN);
	jump = emitted(free, lookup_jump);
	call = emitted(free + 64, lookup_call);
	load = emitted(free + 128, lookup_return);
	for (u32 i = 0; i < RUN; i++) {
		for (enum table t = 0; t < NTABLES; t++) {
			struct landing_place at = { code + i * RUN_STEP + 5, &literals[t][i] };

			/* Fewer jumps, so that the tables have different sizes. */
			if (t == T_RETURN || i < RUN / 3)
				table_set(t, pcs[t][i], &at);
		}
		for (u32 k = 0; k <= i; k += 1 + i / 16) {
			u32 n = i < RUN / 3 ? i + 1 : RUN / 3, j = k % n, first;

			first = last_of_bucket(T_JUMP, pcs[T_JUMP][j], n);
			check(jump(0, 0, 0, pcs[T_JUMP][j]) == first);
			check(call(0, 0, 0, pcs[T_JUMP][j]) == first);
			first = last_of_bucket(T_RETURN, pcs[T_RETURN][k], i + 1);
			check(load(0, 0, 0, pcs[T_RETURN][k]) ==
			      (u64)code + first * RUN_STEP + 5);
		}
	}
	/* Each has become larger. */
	check(plain || (*table_scale(T_JUMP) == 8 * FIRST && *table_scale(T_RETURN) == 32 * FIRST));
}

static void test_emitted(void **state)
{
	(void)state;
	plain = 1;
	in_child(run_emitted);
	plain = 0;
	__builtin_cpu_init();
	if (__builtin_cpu_supports("bmi2"))
		in_child(run_emitted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_found),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_filled_first),
		cmocka_unit_test(test_emitted),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	printf("seed %lu\n", (unsigned long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
