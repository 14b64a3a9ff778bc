// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Branch tables, and the chains of the landing stubs of their buckets.
 *
 * A table entry leads to the first landing stub of its bucket.  Each stub has a literal: the
 * address to which it jumps for other targets.  The literal leads to the next stub of the bucket,
 * that of the last stub to the dispatcher.  Entries and literals change by single stores while
 * other threads use them.  Each lookup must end at the right stub or in the dispatcher, which finds
 * the stub as well.  Two rules ensure this:
 *
 *  - an entry that a thread can look up is never empty;
 *  - literals follow the order of the bucket's list, which only grows at its front, so that no
 *    thread goes in circles.
 *
 * A table has few entries at first, so that small programs need little memory.  When it becomes
 * dense, the number of entries is doubled: each bucket is split in two, at other indices, and its
 * stubs stay in the old order.  A thread that looks up an address meanwhile, or with the old number
 * of entries, can reach the dispatcher, which waits for frag_lock.
 */
#include "branch_table.h"
#include "libdep/engine/base/prefault.h"

#define JUMP_BITS	17
#define RETURN_BITS	18
#define PLAIN_BITS	16

/*
 * Number of index bits of a new table, and of the number of lists.  A list has the landing stubs of
 * one bucket of a new table, and later those of all buckets it was split into.
 */
#define FIRST_BITS	12
#define LISTS		(1u << FIRST_BITS)

/*
 * Factor by which an address is multiplied before its index is taken, so that the landing stubs of
 * one function, a few bytes apart, do not share the few buckets of a small table.
 */
#define SPREAD		9

/*
 * Minimal number of entries per landing stub, until the table has its full size.  A landing stub of
 * a return that is not the first of its bucket costs a misprediction; with this number that is one
 * stub in 64.
 */
#define SPARSE		32

#define HUGE_PAGE	(2ull << 20)

/*
 * Size of the tables in low memory: one huge page for jumps and calls, one for returns.  After them
 * are the numbers of their entries (table_scale()).
 */
#define TABLES_SIZE	(2 * HUGE_PAGE)

struct landing {
	u64 pc;
	struct landing_place at;
	struct landing *next;
};

static struct landing *lists[NTABLES][LISTS];
static u32 landings[NTABLES];
static u8 index_bits[NTABLES], all_bits[NTABLES];

extern void gate_miss(void);
extern void gate_miss_call(void);
extern void gate_miss_return(void);

u64 *table_jump(void)
{
	return (u64 *)boot.low;
}

u64 *table_call(void)
{
	return table_jump() + (1u << JUMP_BITS);
}

u64 *table_return(void)
{
	return table_call() + (1u << JUMP_BITS);
}

u64 *table_scale(enum table t)
{
	return (u64 *)(boot.low + TABLES_SIZE) + t;
}

u32 table_bits(enum table t)
{
	return all_bits[t];
}

static u32 entries(enum table t)
{
	return 1u << index_bits[t];
}

/* Compute the index of @pc; must agree with the code that branch_lookup.c emits. */
static u32 index_of(enum table t, u64 pc, u32 bits)
{
	return ((u32)(pc * SPREAD) & ((1u << all_bits[t]) - 1)) >> (all_bits[t] - bits);
}

static u32 bucket(enum table t, u64 pc)
{
	return index_of(t, pc, index_bits[t]);
}

static struct landing **list(enum table t, u64 pc)
{
	return &lists[t][index_of(t, pc, FIRST_BITS)];
}

static void set_miss(enum table t, u32 i)
{
	if (t == T_RETURN) {
		__atomic_store_n(&table_return()[i], (u64)gate_miss_return, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&table_jump()[i], (u64)gate_miss, __ATOMIC_RELEASE);
	__atomic_store_n(&table_call()[i], (u64)gate_miss_call, __ATOMIC_RELEASE);
}

static void set_first(enum table t, u32 i, const u8 *addr)
{
	if (t == T_RETURN) {
		__atomic_store_n(&table_return()[i], (u64)addr, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&table_jump()[i], (u64)addr, __ATOMIC_RELEASE);
	__atomic_store_n(&table_call()[i], (u64)addr - EMIT_LEA_RSP_LEN, __ATOMIC_RELEASE);
}

static void set_next(enum table t, const struct landing *l, const struct landing *next)
{
	u64 miss = (u64)(t == T_RETURN ? gate_miss_return : gate_miss);

	__atomic_store_n(l->at.lit, next ? (u64)next->at.addr : miss, __ATOMIC_RELEASE);
}

/* Set the index size to @bits bits, and make all entries lead to the dispatcher. */
static void clear(enum table t, u32 bits)
{
	u64 size;

	index_bits[t] = (u8)bits;
	size = entries(t) * sizeof(u64);
	if (t == T_RETURN) {
		prefault((u64)table_return(), (u64)table_return() + size);
	} else {
		prefault((u64)table_jump(), (u64)table_jump() + size);
		prefault((u64)table_call(), (u64)table_call() + size);
	}
	for (u32 i = 0; i < entries(t); i++)
		set_miss(t, i);
}

/*
 * Request a huge page for a table of full size, since lookups are spread over the whole table.
 * Collapse the present pages now; a kernel without MADV_COLLAPSE may do so later.
 */
static void want_huge_page(enum table t)
{
	u64 at = boot.low + (t == T_RETURN ? HUGE_PAGE : 0);

	if (index_bits[t] < all_bits[t])
		return;
	sys3(__NR_madvise, at, HUGE_PAGE, K_MADV_HUGEPAGE);
	sys3(__NR_madvise, at, HUGE_PAGE, K_MADV_COLLAPSE);
}

/* Publish the number of entries after all entries are set: threads use it from now on. */
static void publish_scale(enum table t)
{
	__atomic_store_n(table_scale(t), entries(t), __ATOMIC_RELEASE);
}

void table_init(int plain)
{
	/* The injector guarantees this. */
	if (boot.low_size < TABLES_SIZE + ADEPT_PAGE || boot.low + boot.low_size > 0x80000000u)
		fatal("the injector gave no memory below 2 GiB for the branch tables");
	/* Small tables get no huge pages, even if the kernel uses them by default. */
	sys3(__NR_madvise, boot.low, boot.low_size, K_MADV_NOHUGEPAGE);
	all_bits[T_JUMP] = plain ? PLAIN_BITS : JUMP_BITS;
	all_bits[T_RETURN] = plain ? PLAIN_BITS : RETURN_BITS;
	prefault((u64)lists, (u64)(lists + NTABLES));
	for (enum table t = 0; t < NTABLES; t++) {
		clear(t, plain ? PLAIN_BITS : FIRST_BITS);
		publish_scale(t);
		want_huge_page(t);
	}
}

/* Find the first landing stub from @l on in its list that is in the same bucket as @pc. */
static struct landing *of_bucket(enum table t, struct landing *l, u64 pc)
{
	while (l && bucket(t, l->pc) != bucket(t, pc))
		l = l->next;
	return l;
}

static void grow(enum table t)
{
	clear(t, index_bits[t] + 1u);
	for (u32 i = 0; i < LISTS; i++) {
		for (struct landing *l = lists[t][i]; l; l = l->next) {
			if (of_bucket(t, lists[t][i], l->pc) == l)
				set_first(t, bucket(t, l->pc), l->at.addr);
			set_next(t, l, of_bucket(t, l->next, l->pc));
		}
	}
	publish_scale(t);
	want_huge_page(t);
}

static struct landing *find(enum table t, u64 pc)
{
	struct landing *l = *list(t, pc);

	while (l && l->pc != pc)
		l = l->next;
	return l;
}

int table_has(enum table t, u64 pc)
{
	return find(t, pc) != NULL;
}

/* Add a landing stub for @pc in front of the others of its bucket. */
static void add(enum table t, u64 pc, const struct landing_place *at)
{
	struct landing *new = heap_alloc(sizeof(*new));

	new->pc = pc;
	new->at = *at;
	new->next = *list(t, pc);
	set_next(t, new, of_bucket(t, new->next, pc));
	*list(t, pc) = new;
	set_first(t, bucket(t, pc), at->addr);
	if (++landings[t] > entries(t) / SPARSE && index_bits[t] < all_bits[t])
		grow(t);
}

/* Replace landing stub @old by another for the same address. */
static void replace(enum table t, struct landing *old, const struct landing_place *at)
{
	struct landing *l = of_bucket(t, *list(t, old->pc), old->pc), *before = NULL;

	for (; l != old; l = of_bucket(t, l->next, old->pc))
		before = l;
	old->at = *at;
	set_next(t, old, of_bucket(t, old->next, old->pc));
	if (before)
		set_next(t, before, old);
	else
		set_first(t, bucket(t, old->pc), at->addr);
}

void table_set(enum table t, u64 pc, const struct landing_place *at)
{
	struct landing *old = find(t, pc);

	if (old)
		replace(t, old, at);
	else
		add(t, pc, at);
}
