// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Indirect branches.
 *
 * A site loads its target into rcx and goes through a table, indexed by the
 * target's low 16 bits, to a landing.  The landing knows its own application
 * address and verifies it against rcx, without touching a flag (lea, jrcxz); if it
 * is not the right one it goes on to the next landing of the same bucket, the last
 * one to the dispatcher.  Since a landing verifies itself, table entries and chains
 * change by single stores under running threads, and since it only names an
 * address, not a translation, it is never stale and never freed.
 *
 * Returns have a table of their own: a call's return landing stands right behind
 * the native call, where the processor's return predictor expects it (callsite.c).
 */
#include "build.h"

#define BUCKETS		65536u
#define TABLE_SIZE	(BUCKETS * 8)

struct landing {
	u64 pc;
	u8 *addr;
	u64 *lit;		/* where a mismatch goes */
	struct landing *next;
};

enum table { T_JUMP, T_CALL, T_RETURN, NTABLES };

static struct landing **lists[2];	/* jumps and calls; returns */

static u64 *table(enum table t)
{
	return (u64 *)(boot.low + t * TABLE_SIZE);
}

u32 landing_table_jump(void)
{
	return (u32)(u64)table(T_JUMP);
}

u32 landing_table_call(void)
{
	return (u32)(u64)table(T_CALL);
}

u32 landing_table_return(void)
{
	return (u32)(u64)table(T_RETURN);
}

extern void gate_miss(void);
extern void gate_miss_call(void);

void landing_init(void)
{
	if (boot.low_size < NTABLES * TABLE_SIZE || boot.low + boot.low_size > 0x80000000u)
		fatal("no memory below 2 GiB");
	for (u32 i = 0; i < BUCKETS; i++) {
		table(T_JUMP)[i] = (u64)gate_miss;
		table(T_CALL)[i] = (u64)gate_miss_call;
		table(T_RETURN)[i] = (u64)gate_miss;
	}
	for (int i = 0; i < 2; i++)
		lists[i] = heap_alloc(BUCKETS * sizeof(struct landing *));
}

/* The address as a positive literal or, if it fits, a displacement. */
void landing_emit(struct build *b, u64 pc, int is_return)
{
	struct emit *e = &b->e;
	u8 x = (u8)b->nexits;
	int small = fits32((s64)pc) && fits32(-(s64)pc);
	u8 *jrcxz;

	build_xl8(b, XL8_LAND, b->n, x, X86_NONE, X86_NONE);
	if (is_return) {
		/*
		 * mov [rsp-8], rcx: the return address again, where the native return
		 * found a cache address.  Dead by the ABI, but not to every program.
		 */
		struct emit_operand slot = { .base = X86_RSP, .index = X86_NONE, .disp = -8 };

		emit_op_mem(e, 0x89, X86_RCX, &slot);
	}
	if (small) {
		emit_rm64(e, 0x8d, X86_RCX, X86_RCX, (s32)-(s64)pc);
	} else {
		emit_mov_imm64(e, X86_RDX, -pc);
		/* lea rcx, [rcx + rdx] */
		emit8(e, 0x48);
		emit8(e, 0x8d);
		emit8(e, 0x0c);
		emit8(e, 0x11);
	}
	build_xl8(b, XL8_LAND_CMP, b->n, x, X86_NONE, X86_NONE);
	emit8(e, 0xe3);
	emit8(e, 0);
	jrcxz = e->p;
	if (small) {
		emit_rm64(e, 0x8d, X86_RCX, X86_RCX, (s32)pc);
	} else {
		/* not rdx; lea rcx, [rcx + rdx + 1] */
		emit8(e, 0x48);
		emit8(e, 0xf7);
		emit8(e, 0xd2);
		emit8(e, 0x48);
		emit8(e, 0x8d);
		emit8(e, 0x4c);
		emit8(e, 0x11);
		emit8(e, 0x01);
	}
	build_xl8(b, XL8_LAND, b->n, x, X86_NONE, X86_NONE);
	emit8(e, 0xff);
	emit8(e, 0x25);
	emit32(e, 0);
	b->land_lit = e->p - 4;
	build_literal(b, (u64)gate_miss);
	if (!e->overflow)
		jrcxz[-1] = (u8)(e->p - jrcxz);
	build_xl8(b, XL8_LAND_OK, b->n, x, X86_NONE, X86_NONE);
	emit_load_gs(e, X86_RCX, TLS_IND0);
	emit_load_gs(e, X86_RDX, TLS_IND1);
	build_xl8(b, XL8_LAND_DONE, b->n, x, X86_NONE, X86_NONE);
}

static struct landing *find(struct landing *l, u64 pc)
{
	while (l && l->pc != pc)
		l = l->next;
	return l;
}

static void add(int list, u64 pc, u8 *addr, u64 *lit)
{
	struct landing **head = &lists[list][pc & (BUCKETS - 1)];
	struct landing *l = heap_alloc(sizeof(*l));

	l->pc = pc;
	l->addr = addr;
	l->lit = lit;
	l->next = *head;
	if (*head)
		__atomic_store_n(lit, (u64)(*head)->addr, __ATOMIC_RELEASE);
	*head = l;
}

void landing_add_jump(u64 pc, u8 *addr, u64 *lit)
{
	u32 i = pc & (BUCKETS - 1);

	add(0, pc, addr, lit);
	__atomic_store_n(&table(T_JUMP)[i], (u64)addr, __ATOMIC_RELEASE);
	__atomic_store_n(&table(T_CALL)[i], (u64)addr - EMIT_LEA_RSP_LEN, __ATOMIC_RELEASE);
}

void landing_set_return(u64 pc, u8 *addr, u64 *lit)
{
	u32 i = pc & (BUCKETS - 1);
	u64 *from = &table(T_RETURN)[i];
	struct landing *l;

	for (l = lists[1][i]; l && l->pc != pc; l = l->next)
		from = l->lit;
	if (!l) {
		add(1, pc, addr, lit);
		__atomic_store_n(&table(T_RETURN)[i], (u64)addr, __ATOMIC_RELEASE);
		return;
	}
	if (l->next)
		__atomic_store_n(lit, (u64)l->next->addr, __ATOMIC_RELEASE);
	l->addr = addr;
	l->lit = lit;
	__atomic_store_n(from, (u64)addr, __ATOMIC_RELEASE);
}

/*
 * A return to an address that no translated call leaves behind goes through the
 * same landing as a jump there, at the head of the bucket's returns.
 */
void landing_get(u64 pc, int is_return)
{
	u32 i = pc & (BUCKETS - 1);

	if (is_return) {
		if (find(lists[1][i], pc))
			return;
		build_landing(pc, 1);
	} else {
		if (find(lists[0][i], pc))
			return;
		build_landing(pc, 0);
	}
}
