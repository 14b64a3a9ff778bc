// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Return sites: addresses to which calls of hooked functions return.
 *
 * A fragment that begins at a return site stores rax, which has the function's result.  Most return
 * sites are known when the call is translated: those of direct calls, and of calls through an entry
 * of the procedure linkage table that is already bound.  Other return sites (of function pointers,
 * tail calls, symbols that are not bound yet) are found at the function's entry.  The fragment
 * there compares the return address with a table of known return sites.  If the address is not in
 * the table, the dispatcher adds it and kills the translations of the code there before the call
 * can return.
 *
 * The table is indexed by the low 16 bits of the address and contains the negative of the 32 bits
 * above these.  If two return sites have the same index, the table has the one added last; each
 * call that returns to the other one enters the dispatcher.
 */
#include "hooks.h"
#include "libdep/engine/emit/build.h"

#define KNOWN_SITES	65536u

static u32 *table(void)
{
	static u32 *known;

	if (!known)
		known = heap_alloc(KNOWN_SITES * sizeof(*known));
	return known;
}

static u32 tag(u64 ret)
{
	return (u32)-(ret >> 16);
}

void return_sites_emit_check(struct build *b)
{
	static const u8 compare[] = {
		0x0f, 0xb7, 0x14, 0x24,		/* movzx edx, word [rsp] */
		0x8b, 0x14, 0x91,		/* mov edx, [rcx+rdx*4] */
		0x8b, 0x4c, 0x24, 0x02,		/* mov ecx, [rsp+2] */
		0x8d, 0x0c, 0x11,		/* lea ecx, [rcx+rdx] */
		0xe3, 0x05,			/* jrcxz over the jump */
	};
	struct build_exit *x = &b->exits[b->nexits++];
	struct emit *e = &b->e;
	u8 *start = e->p;

	*x = (struct build_exit){ .kind = X_SITE, .target = b->pc, .mask = b->mask };
	emit_state(b, STATE_ENTRY, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(e, X86_RCX, TLS_IND0);
	emit_store_gs(e, X86_RDX, TLS_IND1);
	emit_state(b, STATE_LAND_OK, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_mov_imm64(e, X86_RCX, (u64)table());
	emit_bytes(e, compare, sizeof(compare));
	emit8(e, 0xe9);
	emit32(e, 0);
	x->patch = e->p - 4;
	emit_load_gs(e, X86_RCX, TLS_IND0);
	emit_load_gs(e, X86_RDX, TLS_IND1);
	b->check = (u8)(e->p - start);
}

void return_sites_emit_miss(struct build *b)
{
	emit_state(b, STATE_LAND_OK, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_load_gs(&b->e, X86_RCX, TLS_IND0);
	emit_load_gs(&b->e, X86_RDX, TLS_IND1);
}

void return_sites_enter(u64 ret)
{
	if (ret >> 48 == 0)
		__atomic_store_n(&table()[ret % KNOWN_SITES], tag(ret), __ATOMIC_RELEASE);
}

/*
 * Besides a direct call, @target can be an entry of the procedure linkage table: [endbr64] [bnd]
 * jmp [rip+slot].
 */
u8 hook_called(u64 target)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	u8 function = hook_at(target), code[11];
	u32 at = 0;
	u64 to;
	s32 rel;

	if (function || rt_copy_in(code, (void *)target, sizeof(code)) != sizeof(code))
		return function;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (code[at] == 0xf2)
		at++;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&rel, code + at + 2, 4);
	if (rt_copy_in(&to, (void *)(target + at + 6 + (u64)(s64)rel), 8) != 8)
		return 0;
	return hook_at(to);
}

void return_sites_forget(u64 ret)
{
	u32 *at = &table()[ret % KNOWN_SITES];

	if (*at == tag(ret))
		__atomic_store_n(at, 0, __ATOMIC_RELEASE);
}
