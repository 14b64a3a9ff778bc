// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Call stubs.
 *
 * The processor predicts a return to the instruction behind the call.  So that the
 * return table can lead there, all translations of one call must share one native
 * call: a stub with the call and the landing of its return, to which they jump with
 * the application's return address already pushed.
 *
 * A stub for a direct call enters the callee with a mask that all its users have;
 * when one comes that knows less, a new stub takes over the old one's users.
 */
#include "build.h"

#define SITES	16384u

struct callsite {
	u64 ret;
	u64 target;		/* 0: indirect */
	struct frag *stub;
	struct callsite *next;
};

static struct callsite *sites[SITES];

static struct callsite *find_site(u64 ret, u64 target)
{
	struct callsite *c;

	for (c = sites[(ret ^ ret >> 14) & (SITES - 1)]; c; c = c->next)
		if (c->ret == ret && c->target == target)
			return c;
	return NULL;
}

static struct callsite *add_site(u64 ret, u64 target)
{
	struct callsite **head = &sites[(ret ^ ret >> 14) & (SITES - 1)];
	struct callsite *c = heap_alloc(sizeof(*c));

	c->ret = ret;
	c->target = target;
	c->next = *head;
	*head = c;
	return c;
}

struct frag *callsite_direct(const struct exit *x)
{
	u64 ret = frag_insn_pc(x->frag, x->ninsns);
	struct callsite *c = find_site(ret, x->target);
	struct frag *old;

	if (c && !(c->stub->mask & ~x->mask))
		return c->stub;
	if (!c)
		c = add_site(ret, x->target);
	old = c->stub;
	c->stub = build_call_stub(ret, x->target, old ? old->mask & x->mask : x->mask);
	while (old && old->in)
		exit_link(old->in, c->stub);
	return c->stub;
}

struct frag *callsite_indirect(u64 ret)
{
	struct callsite *c = find_site(ret, 0);

	if (!c) {
		c = add_site(ret, 0);
		c->stub = build_call_stub(ret, 0, X86_BIT(X86_RSP));
	}
	return c->stub;
}
