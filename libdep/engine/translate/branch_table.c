// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Branch tables, and the chains of landings after their entries.
 *
 * An entry leads to the first landing of its bucket, each landing's literal to the next one of
 * it, the last one's to the dispatcher.  Both change by single stores under running threads,
 * which need no more than that wherever they are, they come to their landing or to the
 * dispatcher: that finds the landing, too, only more slowly.  So the laws are: an entry that a
 * thread can look up is never empty, and a literal leads on in the order of the bucket's list,
 * which only gets longer, at its front.  Hence no thread goes in circles.
 *
 * A table has few entries at first, so that small programs need little memory.  When it becomes
 * dense the number doubles: buckets become two each, in the old order, at other places.  Who
 * comes meanwhile, or has taken the old number, comes to the dispatcher, and waits there for the
 * lock under which all this is done.
 */
#include "branch_table.h"
#include "libdep/engine/base/prefault.h"

#define JUMP_BITS	17
#define RETURN_BITS	18
#define PLAIN_BITS	16

/* At first, and as many lists: landings of one bucket are always of one list. */
#define FIRST_BITS	12
#define LISTS		(1u << FIRST_BITS)

/*
 * Neighbours are nine times as far from each other: where landings stand close together they
 * do not share the few buckets that there are, and with all bits each has its own.
 */
#define SPREAD		9

/*
 * Entries for each landing at least, until there are all.  One that is not the first of its
 * bucket costs what a wrong prediction does, since returns are predicted by the call they belong
 * to.  With so many one landing in 64 does.
 */
#define SPARSE		32

#define HUGE_PAGE	(2ull << 20)

/* The low memory: jumps, calls | returns, a huge page each | scales */
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

/* As the code that branch_lookup.c emits computes it. */
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

/* Let entries have @bits of the index, and all of them lead nowhere. */
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
 * Every return loads from a place of its own: spare the data TLB, if there is memory.  What is
 * there is copied at once where the kernel can; else it gets round to it.
 */
static void want_huge_page(enum table t)
{
	u64 at = boot.low + (t == T_RETURN ? HUGE_PAGE : 0);

	if (index_bits[t] < all_bits[t])
		return;
	sys3(__NR_madvise, at, HUGE_PAGE, K_MADV_HUGEPAGE);
	sys3(__NR_madvise, at, HUGE_PAGE, K_MADV_COLLAPSE);
}

/* No thread looks at entries that there have not been before. */
static void publish_scale(enum table t)
{
	__atomic_store_n(table_scale(t), entries(t), __ATOMIC_RELEASE);
}

void table_init(int plain)
{
	/* The injector makes it so. */
	if (boot.low_size < TABLES_SIZE + ADEPT_PAGE || boot.low + boot.low_size > 0x80000000u)
		fatal("no memory below 2 GiB");
	/* Where the kernel gives huge pages unasked, too. */
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

/* The landing from @l on that is of the same bucket as @pc. */
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

/* Put a landing before the others of its bucket. */
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

/* A landing takes the place of that of the same address. */
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
