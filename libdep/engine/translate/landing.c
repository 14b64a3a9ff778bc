// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Landing stubs: targets of indirect branches in the code cache.
 *
 * An indirect branch loads its target into rcx and jumps through a branch table (branch_lookup.c)
 * to a landing stub.  The stub compares rcx with its own application address, without changing a
 * flag (lea, then jrcxz or loop).  If they differ, it continues with the next stub of the same
 * bucket (branch_table.c); the last stub of the bucket enters the dispatcher.  A landing stub is
 * valid for an address, not for a translation, so it is never freed.
 *
 * Returns have a separate table.  The landing stub of a call's return is directly after the native
 * call, where the processor's return predictor expects it (call_stub.c).
 */
#include "translate.h"
#include "libdep/engine/base/chaos.h"

static u8 by_loop;

/* Whether both @pc and -@pc fit a 32-bit displacement. */
static int small(u64 pc)
{
	return fits32((s64)pc) && fits32(-(s64)pc);
}

extern void gate_miss(void);
extern void gate_miss_return(void);

static int has_bmi2(void)
{
	u32 a = 7, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 8 & 1;
}

/*
 * Whether the processor has a fast loop instruction.  It is one operation on AMD's processors and
 * about ten on Intel's (Agner Fog's instruction tables).  jrcxz is two operations on both, and its
 * branch is taken if the landing stub is the right one.
 */
static int has_fast_loop(void)
{
	u32 a = 0, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return (b == 0x68747541 && d == 0x69746e65 && c == 0x444d4163) ||	/* AuthenticAMD */
	       (b == 0x6f677948 && d == 0x6e65476e && c == 0x656e6975);		/* HygonGenuine */
}

void landing_init(void)
{
	/* ADEPT_S_STRICT selects the code without loop and BMI2, so that tests cover it, too. */
	int tuned = !(layout()->flags & ADEPT_S_STRICT);

	by_loop = has_fast_loop() && tuned;
	lookup_init(has_bmi2() && tuned);
	callsite_init();
}

void landing_emit_mismatch_exit(struct build *b)
{
	if (!by_loop)
		return;
	emit_state(b, STATE_LAND_CMP, 0, X86_NONE, X86_NONE, X86_NONE);
	emit8(&b->e, 0xe9);
	emit32(&b->e, 0);
	b->land_miss = b->e.p - 4;
	b->entry = (u16)(b->e.p - b->start);
}

/*
 * Emit rcx -= pc; with the loop instruction, rcx -= pc - 1.  A pc for which small() is 1 becomes a
 * displacement.  After a return, rdx has the landing stub's cache address; if pc is near it, pc is
 * computed from it.  Otherwise rdx is loaded with a constant.
 */
static void emit_subtract(struct build *b, int is_return)
{
	struct emit_operand sum = { .base = X86_RCX, .index = X86_RDX };
	static const u8 not_rdx[] = { 0x48, 0xf7, 0xd2 };
	u64 pc = b->pc - by_loop;
	s64 near = (s64)((u64)b->land + 1 - pc);

	if (small(pc)) {
		emit_rm64(&b->e, 0x8d, X86_RCX, X86_RCX, (s32)-(s64)pc);
		return;
	}
	if (is_return && fits32(near)) {
		emit_bytes(&b->e, not_rdx, sizeof(not_rdx));
		sum.disp = (s32)near;
	} else {
		emit_mov_imm64(&b->e, X86_RDX, -pc);
	}
	emit_op_mem(&b->e, 0x8d, X86_RCX, &sum);
}

void landing_emit(struct build *b, int is_return)
{
	struct emit *e = &b->e;

	b->land = e->p;
	b->land_is_return = (u8)is_return;
	if (is_return) {
		/*
		 * mov [rsp-8], rcx: restore the return address, which was replaced by a cache
		 * address.  By the ABI, memory below rsp is not used any more, but some programs
		 * read it.
		 */
		struct emit_operand slot = { .base = X86_RSP, .index = X86_NONE, .disp = -8 };

		emit_state(b, STATE_LAND, b->n, STATE_LAND_SWAPPED, X86_NONE, X86_NONE);
		emit_op_mem(e, 0x89, X86_RCX, &slot);
	}
	emit_state(b, STATE_LAND, b->n, X86_NONE, X86_NONE, X86_NONE);
	emit_subtract(b, is_return);
	if (by_loop) {
		/* For other targets, loop branches back to the jump at the fragment's start. */
		emit_state(b, STATE_LAND_LOOP, b->n, X86_NONE, X86_NONE, X86_NONE);
		emit8(e, 0xe2);
		emit8(e, (u8)(b->start - (e->p + 1)));
	} else {
		/* jrcxz over the jump */
		emit_state(b, STATE_LAND_CMP, b->n, X86_NONE, X86_NONE, X86_NONE);
		emit8(e, 0xe3);
		emit8(e, 5);
		emit8(e, 0xe9);
		emit32(e, 0);
		b->land_miss = e->p - 4;
	}
	emit_state(b, STATE_LAND_OK, b->n, X86_NONE, X86_NONE, X86_NONE);
	emit_load_gs(e, X86_RCX, TLS_IND0);
	emit_load_gs(e, X86_RDX, TLS_IND1);
}

void landing_emit_mismatch(struct build *b)
{
	struct emit_operand sum = { .base = X86_RCX, .index = X86_RDX };
	struct emit *e = &b->e;

	if (!e->overflow)
		put_rel32(b->land_miss, e->p);
	emit_state(b, STATE_LAND_CMP, b->n, X86_NONE, X86_NONE, X86_NONE);
	if (small(b->pc)) {
		emit_rm64(e, 0x8d, X86_RCX, X86_RCX, (s32)b->pc);
	} else {
		emit_mov_imm64(e, X86_RDX, b->pc);
		emit_op_mem(e, 0x8d, X86_RCX, &sum);
	}
	emit_state(b, STATE_LAND, b->n, X86_NONE, X86_NONE, X86_NONE);
	if (b->land_is_return) {
		/* mov rdx, [literal]; jmp rdx */
		emit8(e, 0x48);
		emit8(e, 0x8b);
		emit8(e, 0x15);
	} else {
		/* jmp [literal] */
		emit8(e, 0xff);
		emit8(e, 0x25);
	}
	emit32(e, 0);
	b->land_lit = e->p - 4;
	build_literal(b, (u64)(b->land_is_return ? gate_miss_return : gate_miss));
	if (b->land_is_return) {
		emit8(e, 0xff);
		emit8(e, 0xe2);
	}
}

struct landing_place landing_place(const struct build *b)
{
	s32 rel;

	memcpy(&rel, b->land_lit, 4);
	return (struct landing_place){ b->land, (u64 *)(b->land_lit + 4 + rel) };
}

static void build_landing(u64 pc, int is_return, int inlined)
{
	struct build *b = build_stub(pc, NULL);
	struct landing_place at;

	landing_emit_mismatch_exit(b);
	emit_state(b, STATE_LAND_CALL, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_lea_rsp(&b->e, 8);
	landing_emit(b, is_return);
	/* Cannot happen: the tables have room for this. */
	if (!build_commit(b))
		fatal("cannot build the landing stub of %lx: a build table is full", pc);
	at = landing_place(b);
	landing_build_tail(pc, b->arena, inlined ? AFTER_JUMP : AFTER_NOTHING);
	/* Set the table entry last: from now on threads reach the landing stub. */
	if (!chaos_is(ADEPT_S_CHAOS_MISS))
		table_set(is_return ? T_RETURN : T_JUMP, pc, &at);
}

/* Build the code after the landing stub of @pc as a linkable jump to the fragment of @pc. */
static void build_link(u64 pc, struct arena *a)
{
	struct build *b = build_stub(pc, a);

	b->exits[b->nexits++] = (struct build_exit){
		.kind = X_LINK, .target = pc, .mask = X86_BIT(X86_RSP),
	};
	emit_state(b, STATE_EXIT_DONE, 0, 0, X86_NONE, X86_NONE);
	b->exits[0].patch = exits_emit_linkable(b, 0xe9);
	/* Cannot happen: the tables have room for this. */
	if (!build_commit(b))
		fatal("cannot build the jump to the fragment of %lx: a build table is full", pc);
}

void landing_build_tail(u64 pc, struct arena *a, enum after after)
{
	if (after == AFTER_NOTHING || frag_exists(pc, X86_BIT(X86_RSP)) ||
	    !build_after(pc, a, after))
		build_link(pc, a);
}

void landing_get(u64 pc, int is_return)
{
	if (!table_has(is_return ? T_RETURN : T_JUMP, pc))
		build_landing(pc, is_return, !is_return);
}

void landing_renew(u64 pc)
{
	build_landing(pc, 0, 0);
}
