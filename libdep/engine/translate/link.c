// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Links: the jump or call of an exit is patched to lead to its target fragment, by one aligned
 * store, while other threads may execute it.
 */
#include "code_cache.h"
#include "libdep/x86/emit.h"

static void store_rel32(u8 *field, const u8 *target)
{
	__atomic_store_n((u32 *)field, (u32)(target - (field + 4)), __ATOMIC_RELEASE);
}

static int near(const u8 *field, const u8 *target)
{
	return fits32(target - (field + 4));
}

/*
 * Emit jmp [rip+2], nop, nop, .quad target: a jump to a target in an arena out of reach of rel32.
 */
static u8 *veneer(const u8 *from, const u8 *target, int must)
{
	static const u8 jmp[8] = { 0xff, 0x25, 0x02, 0, 0, 0, 0x90, 0x90 };
	struct arena *a = arena_of((u64)from);
	u8 *v = arena_take_cold(a, 16, must);

	if (!v)
		return NULL;
	memcpy(v, jmp, 8);
	memcpy(v + 8, &target, 8);
	return v;
}

static void take_out(struct exit *x)
{
	struct frag *to = heap_at(x->to);
	u32 *ref = &to->in;

	while (heap_at(*ref) != x)
		ref = &((struct exit *)heap_at(*ref))->next_in;
	*ref = x->next_in;
	x->to = 0;
}

/*
 * Link exit @x to fragment @to.  A native call is linked to the call entry.  This code begins
 * 5 bytes before the normal entry and drops the call's return address.
 */
void exit_link(struct exit *x, struct frag *to)
{
	u8 *target = frag_entry(to) - (x->call == CALL_NATIVE ? EMIT_LEA_RSP_LEN : 0);
	u8 *field = frag_code(exit_frag(x), x->patch);

	/* Only the dispatcher may enter a fragment whose source code it must compare each time. */
	if (!x->patch || (x->thunk && exit_frag(x)->dead) || to->source) {
		exit_unlink(x);
		return;
	}
	if (!near(field, target)) {
		target = veneer(field, target, !x->thunk);
		if (!target) {
			/* Rare: even a full arena has a reserve for 4,096 jumps to other arenas. */
			if (!x->thunk)
				fatal("code cache arena has no room for a jump to another arena");
			exit_unlink(x);
			return;
		}
	}
	if (x->to)
		take_out(x);
	x->to = heap_ref(to);
	x->next_in = to->in;
	to->in = heap_ref(x);
	store_rel32(field, target);
}

/* Make the exit lead to its exit stub again; an exit without exit stub stays linked. */
void exit_unlink(struct exit *x)
{
	if (!x->to || !x->thunk)
		return;
	take_out(x);
	store_rel32(frag_code(exit_frag(x), x->patch), frag_code(exit_frag(x), x->thunk));
}
