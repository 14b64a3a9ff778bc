// SPDX-License-Identifier: LGPL-2.1-or-later
/* Table of code addresses at which hooked functions begin or to which their calls return. */
#include "hooks.h"
#include "libdep/engine/base/runtime.h"
#include "libdep/x86/decode.h"

struct mark {
	u64 pc;			/* application address; 0: the table slot is free */
	u8 function;		/* enum dep_function */
	u8 returns;
	u8 trigger;		/* 1 + number of the trigger whose function begins here; 0: none */
	u8 watch_return;	/* a function of a trigger returns here */
};

/*
 * Maximal number of table slots; limited because the program controls the contents of its symbol
 * tables.
 */
#define MAX_MARKS	(1u << 20)

/*
 * Hash table with open addressing.  Entries without function and return site are removed when the
 * table grows.
 */
static struct mark *marks;
static u32 nmarks, used;

#define NAME(id, symbol, args)	symbol "\0"
#define ARGS(id, symbol, args)	args,

static const char names[] = DEP_FUNCTIONS(NAME);
static const u8 arguments[DEP_NFUNCTIONS] = { 0, DEP_FUNCTIONS(ARGS) };

static struct mark *slot_of(u64 pc)
{
	u32 i = (u32)(pc * 0x9e3779b97f4a7c15ull >> 32) & (nmarks - 1);

	while (marks[i].pc && marks[i].pc != pc)
		i = (i + 1) & (nmarks - 1);
	return &marks[i];
}

static const struct mark *find(u64 pc)
{
	static const struct mark none;

	return nmarks ? slot_of(pc) : &none;
}

static int in_use(const struct mark *m)
{
	return m->function || m->returns || m->trigger || m->watch_return;
}

static void grow(void)
{
	struct mark *old = marks;
	u32 n = nmarks, live = 0;

	for (u32 i = 0; i < n; i++)
		live += in_use(&old[i]);
	nmarks = !n ? 1024 : live > n / 4 ? n * 2 : n;
	marks = heap_alloc(nmarks * sizeof(*marks));
	used = live;
	for (u32 i = 0; i < n; i++)
		if (in_use(&old[i]))
			*slot_of(old[i].pc) = old[i];
	if (n)
		heap_free(old, n * sizeof(*old));
}

static struct mark *add(u64 pc)
{
	struct mark *m;

	if (used >= nmarks / 2) {
		if (nmarks >= MAX_MARKS)
			return NULL;
		grow();
	}
	m = slot_of(pc);
	if (!m->pc) {
		m->pc = pc;
		used++;
	}
	return m;
}

struct range {
	u64 start, end;
};

/*
 * Called for each symbol found: hook the function at @pc.  If the function has several names, the
 * first name determines its number.
 */
static void found(void *arg, u64 pc, u8 function)
{
	const struct range *r = arg;
	struct mark *m;

	if (pc - r->start >= r->end - r->start)
		return;
	m = add(pc);
	if (m && !m->function)
		m->function = function;
}

void hooks_scan_module(u64 base, u64 start, u64 end)
{
	struct range r = { start, end };

	if (recording() && !(layout()->flags & ADEPT_S_NO_FUNCTIONS))
		hooks_scan_elf(base, names, found, &r);
}

void hooks_forget_range(u64 start, u64 end)
{
	for (u32 i = 0; i < nmarks; i++) {
		struct mark *m = &marks[i];

		if (m->pc - start >= end - start)
			continue;
		if (m->returns)
			return_sites_forget(m->pc);
		m->function = m->returns = m->trigger = m->watch_return = 0;
	}
}

u8 hook_at(u64 pc)
{
	return find(pc)->function;
}

int hook_is_return_site(u64 pc)
{
	return find(pc)->returns;
}

int hook_add_return(u64 pc)
{
	struct mark *m = pc ? add(pc) : NULL;

	if (m)
		m->returns = 1;
	return m != NULL;
}

void hook_set_trigger(u64 pc, u8 number)
{
	struct mark *m = pc ? add(pc) : NULL;

	if (m && !m->trigger)
		m->trigger = number + 1;
}

u8 hook_trigger(u64 pc)
{
	return find(pc)->trigger;
}

int hook_is_watched(u64 pc)
{
	const struct mark *m = find(pc);

	return m->trigger || m->watch_return;
}

int hook_watch_return(u64 pc)
{
	struct mark *m = pc ? add(pc) : NULL;

	if (!m || m->watch_return)
		return 0;
	m->watch_return = 1;
	return 1;
}

u16 hook_argument_regs(u8 function)
{
	static const u8 regs[DEP_FUNCTION_ARGS] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX };
	u16 needs = X86_BIT(X86_RSP);

	for (u32 i = 0; i < arguments[function]; i++)
		needs |= X86_BIT(regs[i]);
	return needs;
}
