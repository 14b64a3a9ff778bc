// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Indirect branches.
 *
 * A site loads its target into rcx and goes through a table, indexed by the
 * target's low bits, to a landing.  The landing knows its own application
 * address and verifies it against rcx, without touching a flag (lea, then jrcxz or
 * loop); if it is not the right one it goes on to the next landing of the same bucket, the last
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
	struct landing_place at;
	struct landing *next;
};

/* Jumps and calls share landings; a call's begins 5 bytes earlier. */
enum list { L_JUMP, L_RETURN };

/* The landings of each table, by a part of their index, the first of a bucket first. */
#define LISTS		4096

static struct landing *lists[2][LISTS];
static u8 index_bits[2];
static u8 by_loop;

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

/* Can @pc and its negative be displacements? */
static int small(u64 pc)
{
	return fits32((s64)pc) && fits32(-(s64)pc);
}

static u32 bucket(enum list l, u64 pc)
{
	return (u32)pc & ((1u << index_bits[l]) - 1);
}

static void emit_index(struct build *b, u8 bits)
{
	struct emit *e = &b->e;

	if (bits == PLAIN_BITS) {
		/* movzx edx, cx */
		static const u8 movzx[] = { 0x0f, 0xb7, 0xd1 };
		/* lea rdx, [rdx*8] */
		static const u8 lea[] = { 0x48, 0x8d, 0x14, 0xd5, 0, 0, 0, 0 };

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
extern void gate_miss_return(void);

static int has_bmi2(void)
{
	u32 a = 7, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 8 & 1;
}

/*
 * On AMD's processors loop is one operation, on Intel's about ten (Agner Fog's instruction
 * tables); jrcxz is two on both, and branches if the landing is the right one.
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
	u64 bytes = (2ull << JUMP_BITS << 3) + (1ull << RETURN_BITS << 3);

	if (boot.low_size < bytes || boot.low + boot.low_size > 0x80000000u)
		fatal("no memory below 2 GiB");
	/* Every return loads from a place of its own: spare the data TLB, if there is memory. */
	sys3(__NR_madvise, boot.low, boot.low_size, K_MADV_HUGEPAGE);
	index_bits[L_JUMP] = has_bmi2() ? JUMP_BITS : PLAIN_BITS;
	index_bits[L_RETURN] = has_bmi2() ? RETURN_BITS : PLAIN_BITS;
	/* Where nothing is tuned, the other way: so both are tested. */
	by_loop = has_fast_loop() && !(session()->flags & ADEPT_S_STRICT);
	for (u32 i = 0; i < 1u << JUMP_BITS; i++) {
		jump_table()[i] = (u64)gate_miss;
		call_table()[i] = (u64)gate_miss_call;
	}
	for (u32 i = 0; i < 1u << RETURN_BITS; i++)
		return_table()[i] = (u64)gate_miss_return;
}

void landing_emit_way_out(struct build *b)
{
	if (!by_loop)
		return;
	build_xl8(b, XL8_LAND_CMP, 0, X86_NONE, X86_NONE, X86_NONE);
	emit8(&b->e, 0xe9);
	emit32(&b->e, 0);
	b->land_miss = b->e.p - 4;
	b->entry = (u16)(b->e.p - b->start);
}

/*
 * rcx -= pc, and one less for loop; by a displacement, by rdx or by a literal.  A return
 * comes with its landing's cache address in rdx, and that is near the application's.
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
	build_xl8(b, XL8_LAND, b->n, X86_NONE, X86_NONE, X86_NONE);
	if (is_return) {
		/*
		 * mov [rsp-8], rcx: the return address again, where the native return
		 * found a cache address.  Dead by the ABI, but not to every program.
		 */
		struct emit_operand slot = { .base = X86_RSP, .index = X86_NONE, .disp = -8 };

		emit_op_mem(e, 0x89, X86_RCX, &slot);
	}
	emit_subtract(b, is_return);
	if (by_loop) {
		/* loop back to the way out */
		build_xl8(b, XL8_LAND_LOOP, b->n, X86_NONE, X86_NONE, X86_NONE);
		emit8(e, 0xe2);
		emit8(e, (u8)(b->start - (e->p + 1)));
	} else {
		/* jrcxz over the jump */
		build_xl8(b, XL8_LAND_CMP, b->n, X86_NONE, X86_NONE, X86_NONE);
		emit8(e, 0xe3);
		emit8(e, 5);
		emit8(e, 0xe9);
		emit32(e, 0);
		b->land_miss = e->p - 4;
	}
	build_xl8(b, XL8_LAND_OK, b->n, X86_NONE, X86_NONE, X86_NONE);
	emit_load_gs(e, X86_RCX, TLS_IND0);
	emit_load_gs(e, X86_RDX, TLS_IND1);
}

void landing_emit_mismatch(struct build *b)
{
	struct emit_operand sum = { .base = X86_RCX, .index = X86_RDX };
	struct emit *e = &b->e;

	if (!e->overflow)
		put_rel32(b->land_miss, e->p);
	build_xl8(b, XL8_LAND_CMP, b->n, X86_NONE, X86_NONE, X86_NONE);
	if (small(b->pc)) {
		emit_rm64(e, 0x8d, X86_RCX, X86_RCX, (s32)b->pc);
	} else {
		emit_mov_imm64(e, X86_RDX, b->pc);
		emit_op_mem(e, 0x8d, X86_RCX, &sum);
	}
	build_xl8(b, XL8_LAND, b->n, X86_NONE, X86_NONE, X86_NONE);
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

static struct landing *find(enum list l, u64 pc)
{
	struct landing *at = lists[l][bucket(l, pc) % LISTS];

	while (at && at->pc != pc)
		at = at->next;
	return at;
}

/* The landing from @at on that is of the same bucket as @pc. */
static struct landing *of_bucket(enum list l, struct landing *at, u64 pc)
{
	while (at && bucket(l, at->pc) != bucket(l, pc))
		at = at->next;
	return at;
}

/* Put a landing before the others of its bucket. */
static void add(enum list l, u64 pc, const struct landing_place *at)
{
	struct landing **head = &lists[l][bucket(l, pc) % LISTS];
	struct landing *first = of_bucket(l, *head, pc), *new = heap_alloc(sizeof(*new));

	new->pc = pc;
	new->at = *at;
	new->next = *head;
	if (first)
		__atomic_store_n(at->lit, (u64)first->at.addr, __ATOMIC_RELEASE);
	*head = new;
}

/* The first of a bucket is what the tables lead to. */
static void set_first(enum list l, u64 pc, const u8 *addr)
{
	u32 i = bucket(l, pc);

	if (l == L_RETURN) {
		__atomic_store_n(&return_table()[i], (u64)addr, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&jump_table()[i], (u64)addr, __ATOMIC_RELEASE);
	__atomic_store_n(&call_table()[i], (u64)addr - EMIT_LEA_RSP_LEN, __ATOMIC_RELEASE);
}

static void set(enum list list, u64 pc, const struct landing_place *at)
{
	struct landing *l, *next, *before = NULL;

	if (!find(list, pc)) {
		add(list, pc, at);
		set_first(list, pc, at->addr);
		return;
	}
	l = of_bucket(list, lists[list][bucket(list, pc) % LISTS], pc);
	for (; l->pc != pc; l = of_bucket(list, l->next, pc))
		before = l;
	next = of_bucket(list, l->next, pc);
	if (next)
		__atomic_store_n(at->lit, (u64)next->at.addr, __ATOMIC_RELEASE);
	l->at = *at;
	if (before)
		__atomic_store_n(before->at.lit, (u64)at->addr, __ATOMIC_RELEASE);
	else
		set_first(list, pc, at->addr);
}

void landing_set_return(u64 pc, const struct landing_place *at)
{
	set(L_RETURN, pc, at);
}

static void build_landing(u64 pc, int is_return, int inlined)
{
	struct build *b = build_bare(pc, NULL);
	struct landing_place at;

	landing_emit_way_out(b);
	build_xl8(b, XL8_LAND_CALL, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_lea_rsp(&b->e, 8);
	landing_emit(b, is_return);
	if (!build_commit(b))
		fatal("cannot build a landing for %lx", pc);
	at = landing_place(b);
	landing_build_rest(pc, b->arena, inlined ? BEHIND_JUMP : BEHIND_NOTHING);
	/* Only now can a thread get there. */
	set(is_return ? L_RETURN : L_JUMP, pc, &at);
}

/* Behind a landing for @pc: jump to wherever its fragment is. */
static void build_link(u64 pc, struct arena *a)
{
	struct build *b = build_bare(pc, a);

	b->exits[b->nexits++] = (struct bexit){
		.kind = X_LINK, .target = pc, .mask = X86_BIT(X86_RSP),
	};
	build_xl8(b, XL8_EXIT_DONE, 0, 0, X86_NONE, X86_NONE);
	b->exits[0].patch = exits_emit_linkable(b, 0xe9);
	if (!build_commit(b))
		fatal("cannot build a link to %lx", pc);
}

void landing_build_rest(u64 pc, struct arena *a, enum behind behind)
{
	if (behind == BEHIND_NOTHING || frag_exists(pc, X86_BIT(X86_RSP)) ||
	    !build_behind(pc, a, behind))
		build_link(pc, a);
}

void landing_get(u64 pc, int is_return)
{
	if (!find(is_return ? L_RETURN : L_JUMP, pc))
		build_landing(pc, is_return, !is_return);
}

void landing_renew(u64 pc)
{
	build_landing(pc, 0, 0);
}
