// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Children that are not wanted leave the engine at their start.
 *
 * A forked child has its own copy of the engine and one thread, which is between two instructions
 * of the program.  It gives back what the engine has changed, and unmaps the engine's memory.  The
 * last instructions of that (native_child.S) are in a page of the engine image of their own, which
 * stays mapped.
 *
 * A child that shares its parent's memory (vfork, posix_spawn) cannot do so: it stays in the
 * engine, unrecorded, until it executes another program or ends.  Such programs run natively.
 */
#include "late.h"
#include "native_child.h"
#include "sigaction.h"
#include "signal.h"
#include "tsc.h"
#include "libdep/engine/base/rlimit.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/translate/code_map.h"

#define K_SIGSTOP	19
#define ALL_BLOCKED	(~(SIGBIT(K_SIGKILL) | SIGBIT(K_SIGSTOP)))

/** struct parting - what native_child_go() needs; at PARTING_* in the page that stays mapped */
struct parting {
	struct adept_leaver s;
	u64 n;
	struct adept_mapping unmap[ADEPT_MAPPINGS + 2];
};

_Static_assert(offsetof(struct parting, n) == PARTING_N, "PARTING_N");
_Static_assert(offsetof(struct parting, unmap) == PARTING_UNMAP, "PARTING_UNMAP");
_Static_assert(sizeof(struct parting) == PARTING_SIZE, "PARTING_SIZE");

extern u8 parting_page[];
extern struct parting parting_state;
__attribute__((noreturn)) void native_child_go(void);

int children_wanted(void)
{
	return !(layout()->flags & ADEPT_S_NO_CHILDREN);
}

void native_child_count(void)
{
	__atomic_add_fetch(&session()->unwanted_children, 1, __ATOMIC_RELAXED);
}

static void get_state(struct tls *t, u64 mask, struct adept_leaver *s)
{
	const struct adept_kept *k = &t->kept;

	memcpy(s->regs, t->regs, sizeof(s->regs));
	s->rip = t->resume_pc;
	s->rflags = t->flags;
	s->gs_base = t->app_gs_base;
	/* A tracer that detaches from the parent may have blocked all of its signals. */
	s->mask = (k->blocked && mask == ALL_BLOCKED ? k->mask : mask) | t->sync_blocked;
}

static void add(struct parting *p, u64 start, u64 end)
{
	if (start < end)
		p->unmap[p->n++] = (struct adept_mapping){ start, end - start };
}

static void list_mappings(struct parting *p)
{
	u64 page = (u64)parting_page;

	mem_list_ours();
	for (u64 i = 0; i < boot.nmappings; i++)
		p->unmap[p->n++] = boot.mapping[i];
	add(p, boot.image, page);
	add(p, page + ADEPT_PAGE, boot.image + boot.image_size);
}

void native_child_leave(struct tls *t, u64 mask)
{
	native_child_count();
	late_forked();
	code_unprotect_range(0, ~0ull);
	sigaction_restore(t);
	rlimit_exec_begin(1);
	/* Signals that wait are the parent's. */
	t->held = 0;
	signal_give_back(t);
	get_state(t, mask, &parting_state.s);
	list_mappings(&parting_state);
	sys3(__NR_mprotect, (u64)parting_page, ADEPT_PAGE, K_PROT_READ | K_PROT_EXEC);
	tsc_give_back(t->tsc_forbidden);
	set_gs_base((void *)parting_state.s.gs_base);
	native_child_go();
}
