// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Call stubs.
 *
 * The processor predicts that a return goes to the instruction after its call.  The branch table of
 * returns has one landing stub for each return address.  For this stub to be where the processor
 * predicts, all translations of a call must share one native call instruction.  This instruction is
 * in a call stub, followed by the landing stub of the return.  Translated code pushes the
 * application's return address and jumps to the call stub.
 *
 * The call stub of a direct call enters a version of the callee that needs only registers known to
 * recovery in all translations of the call.  If a translation with fewer known registers is added,
 * a new call stub replaces the old one.
 *
 * The landing stub falls through into the fragment after the call, which is translated together
 * with the call stub.  If this fragment is killed, a new call stub replaces the old one, with a
 * landing stub that jumps to the new fragment.
 */
#include "translate.h"
#include "libdep/engine/base/chaos.h"
#include "libdep/engine/base/prefault.h"
#include "libdep/engine/hooks/hooks.h"

#define SITES	16384u

struct callsite {
	u64 ret;
	u64 target;		/* application address that is called; 0: an indirect call */
	struct frag *stub;
	struct callsite *next;
};

static struct callsite *sites[SITES];

void callsite_init(void)
{
	prefault((u64)sites, (u64)(sites + SITES));
}

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

static struct frag *build_call(const struct callsite *c, u16 mask, struct landing_place *at)
{
	struct build *b = build_stub(c->ret, NULL);
	struct frag *f;

	b->mask = mask;
	landing_emit_mismatch_exit(b);
	if (c->target) {
		b->exits[b->nexits++] = (struct build_exit){
			.kind = X_LINK, .call = CALL_NATIVE, .target = c->target, .mask = mask,
		};
		emit_state(b, STATE_EXIT_DONE, 0, 0, X86_NONE, X86_NONE);
		b->exits[0].patch = exits_emit_linkable(b, 0xe8);
	} else {
		emit_state(b, STATE_AT_RCX, 0, 0, X86_NONE, X86_NONE);
		lookup_call(&b->e);
	}
	landing_emit(b, 1);
	f = build_commit(b);
	/* Cannot happen: the tables have room for this. */
	if (!f)
		fatal("cannot build the call stub that returns to %lx: a build table is full",
		      c->ret);
	*at = landing_place(b);
	return f;
}

/*
 * Build a new call stub for @c, and link the exits of the old stub to it.
 * @inlined: 1: its landing stub may fall through into a fragment
 */
static void renew(struct callsite *c, u16 mask, int inlined)
{
	/*
	 * Do not translate the code after the call if it is on another page: if the call never
	 * returns, that page may have no code.
	 */
	int same_page = (c->ret & (ADEPT_PAGE - 1)) != 0;
	struct frag *old = c->stub;
	struct landing_place at;

	/*
	 * Set c->stub before the fragment after the call is built, since that fragment may contain
	 * the same call.
	 */
	c->stub = build_call(c, mask, &at);
	landing_build_tail(c->ret, arena_of((u64)c->stub->start),
			   inlined && same_page ? AFTER_RETURN : AFTER_NOTHING);
	/* Set the table entry last: from now on threads reach the landing stub. */
	if (!chaos_is(ADEPT_S_CHAOS_MISS))
		table_set(T_RETURN, c->ret, &at);
	while (old && old->in)
		exit_link(heap_at(old->in), c->stub);
}

struct frag *call_stub_direct(const struct exit *x)
{
	u64 ret = frag_insn_pc(exit_frag(x), x->ninsns);
	struct callsite *c = find_site(ret, x->target);

	if (!c) {
		if (hook_called(x->target))
			frag_make_return_site(ret);
		c = add_site(ret, x->target);
	}
	if (!c->stub)
		renew(c, x->mask, 1);
	else if (c->stub->mask & ~x->mask)
		renew(c, c->stub->mask & x->mask, 1);
	return c->stub;
}

struct frag *call_stub_indirect(u64 ret, int inlined)
{
	struct callsite *c = find_site(ret, 0);

	if (!c) {
		c = add_site(ret, 0);
		renew(c, X86_BIT(X86_RSP), inlined);
	}
	return c->stub;
}

void call_stub_rebuild(u64 ret)
{
	struct callsite *c;

	for (c = sites[(ret ^ ret >> 14) & (SITES - 1)]; c; c = c->next)
		if (c->ret == ret)
			renew(c, c->stub->mask, 0);
}
