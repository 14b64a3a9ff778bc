// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Indirect branches.
 *
 * A site loads its target into rcx and goes through a table, indexed by the
 * target's low bits, to a landing.  The landing knows its own application
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

/* Entries are chosen by the target's low bits; with BMI2 by more than the low 16. */
#define JUMP_BITS	17
#define RETURN_BITS	18
#define PLAIN_BITS	16

struct landing {
	u64 pc;
	u8 *addr;
	u64 *lit;		/* where a mismatch goes */
	struct landing *next;
};

/* Jumps and calls share landings; a call's begins 5 bytes earlier. */
enum list { L_JUMP, L_RETURN };

static struct landing **lists[2];
static u8 index_bits[2];

static u64 *jump_table(void)
{
	return (u64 *)boot.low;
}

static u64 *call_table(void)
{
	return jump_table() + (1u << JUMP_BITS);
}

static u64 *return_table(void)
{
	return call_table() + (1u << JUMP_BITS);
}

static u32 bucket(enum list l, u64 pc)
{
	return (u32)pc & ((1u << index_bits[l]) - 1);
}

static void emit_index(struct build *b, u8 bits)
{
	struct emit *e = &b->e;

	if (bits == PLAIN_BITS) {
		static const u8 movzx[] = { 0x0f, 0xb7, 0xd1 };		/* movzx edx, cx */
		static const u8 lea[] = { 0x48, 0x8d, 0x14, 0xd5, 0, 0, 0, 0 };	/* lea rdx, [rdx*8] */

		emit_bytes(e, movzx, sizeof(movzx));
		emit_bytes(e, lea, sizeof(lea));
	} else {
		/* mov edx, 64 - bits; shlx rdx, rcx, rdx; rorx rdx, rdx, 61 - bits */
		const u8 code[] = {
			0xba, (u8)(64 - bits), 0, 0, 0,
			0xc4, 0xe2, 0xe9, 0xf7, 0xd1,
			0xc4, 0xe3, 0xfb, 0xf0, 0xd2, (u8)(61 - bits),
		};

		emit_bytes(e, code, sizeof(code));
	}
}

/* op [rdx + table] */
static void emit_table_op(struct build *b, enum list l, u8 rex, u8 opcode, u8 reg, u64 *table)
{
	emit_index(b, index_bits[l]);
	if (rex)
		emit8(&b->e, rex);
	emit8(&b->e, opcode);
	emit8(&b->e, (u8)(0x82 | reg << 3));
	emit32(&b->e, (u32)(u64)table);
}

void landing_emit_jump(struct build *b)
{
	emit_table_op(b, L_JUMP, 0, 0xff, 4, jump_table());
}

void landing_emit_call(struct build *b)
{
	emit_table_op(b, L_JUMP, 0, 0xff, 2, call_table());
}

void landing_emit_load_return(struct build *b)
{
	emit_table_op(b, L_RETURN, 0x48, 0x8b, X86_RDX, return_table());
}

extern void gate_miss(void);
extern void gate_miss_call(void);

static int has_bmi2(void)
{
	u32 a = 7, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 8 & 1;
}

void landing_init(void)
{
	u64 bytes = (2ull << JUMP_BITS << 3) + (1ull << RETURN_BITS << 3);

	if (boot.low_size < bytes || boot.low + boot.low_size > 0x80000000u)
		fatal("no memory below 2 GiB");
	index_bits[L_JUMP] = has_bmi2() ? JUMP_BITS : PLAIN_BITS;
	index_bits[L_RETURN] = has_bmi2() ? RETURN_BITS : PLAIN_BITS;
	for (u32 i = 0; i < 1u << JUMP_BITS; i++) {
		jump_table()[i] = (u64)gate_miss;
		call_table()[i] = (u64)gate_miss_call;
	}
	for (u32 i = 0; i < 1u << RETURN_BITS; i++)
		return_table()[i] = (u64)gate_miss;
	for (int i = 0; i < 2; i++)
		lists[i] = heap_alloc(sizeof(struct landing *) << index_bits[i]);
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

static void add(enum list list, u64 pc, u8 *addr, u64 *lit)
{
	struct landing **head = &lists[list][bucket(list, pc)];
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
	u32 i = bucket(L_JUMP, pc);

	add(L_JUMP, pc, addr, lit);
	__atomic_store_n(&jump_table()[i], (u64)addr, __ATOMIC_RELEASE);
	__atomic_store_n(&call_table()[i], (u64)addr - EMIT_LEA_RSP_LEN, __ATOMIC_RELEASE);
}

void landing_set_return(u64 pc, u8 *addr, u64 *lit)
{
	u32 i = bucket(L_RETURN, pc);
	u64 *from = &return_table()[i];
	struct landing *l;

	for (l = lists[L_RETURN][i]; l && l->pc != pc; l = l->next)
		from = l->lit;
	if (!l) {
		add(L_RETURN, pc, addr, lit);
		__atomic_store_n(&return_table()[i], (u64)addr, __ATOMIC_RELEASE);
		return;
	}
	if (l->next)
		__atomic_store_n(lit, (u64)l->next->addr, __ATOMIC_RELEASE);
	l->addr = addr;
	l->lit = lit;
	__atomic_store_n(from, (u64)addr, __ATOMIC_RELEASE);
}

void landing_get(u64 pc, int is_return)
{
	enum list l = is_return ? L_RETURN : L_JUMP;

	if (!find(lists[l][bucket(l, pc)], pc))
		build_landing(pc, is_return);
}
