// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Placement: selects the values that a fragment version stores.
 *
 * The selection walks the instructions and keeps the set of known registers: those whose values
 * recovery can compute.  A register that an address needs and that is not in the set is stored.
 * rsp is known after each exit, so that any exit can enter the version of its target that requires
 * only rsp.
 */
#include "record.h"
#include "libdep/engine/hooks/hooks.h"
#include "libdep/x86/derive.h"

/* Upper bound of the size in bytes of all values of one instruction and its exit. */
#define INSN_ROOM	(3 * 64 + 4 * 8 + 4 * 8 + 2 * 8)

u16 record_length(const struct build *b, unsigned int nst)
{
	u32 len = 4;

	if (nst) {
		const struct adept_store *s = &b->stores[nst - 1];

		len = b->store_off[nst - 1];
		len += s->kind == ADEPT_ST_VEC ? 16u << (s->arg >> 5) : 8;
	}
	return (u16)len;
}

static void add(struct build *b, unsigned int insn, u8 kind, u8 arg)
{
	b->store_off[b->nstores] = record_length(b, b->nstores);
	b->stores[b->nstores++] = (struct adept_store){
		.insn = (u8)insn, .kind = kind, .arg = arg,
	};
}

/* Registers needed at the entry: arguments of a hooked function, or its result at a return site. */
static u16 entry_needs(const struct build *b)
{
	const struct adept_run *r = &b->runs[0];

	return (r->function ? hook_argument_regs((u8)r->function) : 0) |
	       (r->returns ? X86_BIT(X86_RAX) | X86_BIT(X86_RSP) : 0);
}

/* Registers that must be known before an instruction in addition to those of its addresses. */
static u16 extra_needs(const struct x86_insn *in)
{
	/*
	 * The enter instruction with nesting levels reads memory at rbp; x86_enter_refs() needs
	 * rbp.
	 */
	if (in->enc == X86_LEGACY && !in->map && in->opcode == 0xc8 && in->imm >> 16 & 31)
		return X86_BIT(X86_RBP);
	switch (in->kind) {
	case X86_JCC:
	case X86_LOOP:
	case X86_JMP:
	case X86_JMP_IND:
	case X86_SYSCALL:
		return X86_BIT(X86_RSP);
	default:
		return 0;
	}
}

static void plan_vectors(struct build *b, unsigned int n, const struct x86_insn *in)
{
	const struct x86_mem *m = NULL;

	for (unsigned int i = 0; i < in->nmem; i++)
		if (in->mem[i].flags & X86_M_VSIB)
			m = &in->mem[i];
	if (!m && x86_mask_elem(in)) {
		if (in->enc == X86_EVEX)
			add(b, n, ADEPT_ST_KREG, in->evex_k);
		else
			add(b, n, ADEPT_ST_VEC, (u8)((in->vvvv & 31) | 1 << 5));
	}
	if (!m)
		return;
	/* The index vector may have another length than the operation: store the full register. */
	if (in->enc == X86_EVEX) {
		add(b, n, ADEPT_ST_VEC, (u8)((m->index & 31) | 2 << 5));
		add(b, n, ADEPT_ST_KREG, in->evex_k);
	} else {
		add(b, n, ADEPT_ST_VEC, (u8)((m->index & 31) | 1 << 5));
		add(b, n, ADEPT_ST_VEC, (u8)((in->vvvv & 31) | 1 << 5));
	}
}

/* Pointer register of a string instruction; its change gives the number of iterations. */
static u8 string_pointer(const struct x86_insn *in)
{
	return in->gpr_addr & X86_BIT(X86_RDI) ? X86_RDI : X86_RSI;
}

/* Whether @in accesses memory atomically and is a full barrier; xchg needs no lock prefix. */
static int is_locked(const struct x86_insn *in)
{
	int xchg = in->enc == X86_LEGACY && !in->map && (in->opcode & 0xfe) == 0x86;

	return in->nmem && (in->attr & X86_A_LOCK || xchg);
}

/* End the fragment before instruction @n. */
static void cut(struct build *b, unsigned int n)
{
	u64 pc = b->ins[n].pc;
	u32 left = n;

	while (b->nexits && b->exits[b->nexits - 1].insn >= n)
		b->nexits--;
	for (u32 r = 0; r < b->nruns; r++) {
		if (left <= b->runs[r].ninsns) {
			b->runs[r].ninsns = left;
			b->nruns = r + (left != 0 || r == 0);
			break;
		}
		left -= b->runs[r].ninsns;
	}
	b->n = n;
	b->exits[b->nexits++] = (struct build_exit){
		.target = pc, .insn = (u16)(n - 1), .ninsns = (u16)n, .kind = ADEPT_X_DIRECT,
	};
}

/*
 * Plan exit @e after instruction @i, where recovery knows the registers @known.  rsp must be known
 * at each exit, so store it if it is not.
 */
static u16 plan_exit(struct build *b, struct build_exit *e, u32 i, u16 known)
{
	if (!(known & X86_BIT(X86_RSP)) && b->n) {
		add(b, i, ADEPT_ST_EXIT_REG, X86_RSP);
		known |= X86_BIT(X86_RSP);
	}
	e->nstores = (u16)b->nstores;
	e->mask = known;
	e->reclen = record_length(b, b->nstores);
	return known;
}

void record_plan(struct build *b)
{
	u16 known = b->mask;
	unsigned int x = 0;
	u32 check = layout()->flags & ADEPT_S_SELF_CHECK;

	b->nstores = 0;
	if (!recording()) {
		for (; x < b->nexits; x++)
			b->exits[x].mask = X86_BIT(X86_RSP);
		return;
	}
	for (unsigned int i = 0; i < b->n; i++) {
		const struct x86_insn *in = &b->ins[i].in;
		u16 needs = in->gpr_addr | extra_needs(in) | (i ? 0 : entry_needs(b));

		if ((u32)record_length(b, b->nstores) + INSN_ROOM > ADEPT_MAX_RECORD ||
		    b->nstores + 12 > MAX_STORES) {
			cut(b, i);
			break;
		}
		for (u8 r = 0; r < 16; r++) {
			if (!(needs & X86_BIT(r)))
				continue;
			if (!(known & X86_BIT(r)))
				add(b, i, ADEPT_ST_REG, r);
			else if (check)
				add(b, i, ADEPT_ST_CHECK, r);
		}
		known |= needs;
		plan_vectors(b, i, in);
		if (in->attr & X86_A_WRFSBASE)
			add(b, i, ADEPT_ST_FSBASE, in->f_rm);
		if (is_locked(in))
			add(b, i, ADEPT_ST_BEFORE, 0);
		known = x86_derive(in, b->ins[i].pc, known, NULL, NULL);
		if (in->kind == X86_STRING)
			add(b, i, ADEPT_ST_POST, string_pointer(in));
		if (is_locked(in))
			add(b, i, ADEPT_ST_AFTER, 0);
		for (; x < b->nexits && b->exits[x].insn == i; x++)
			known = plan_exit(b, &b->exits[x], i, known);
	}
	/* Plan the exits of an empty fragment, and the exit that cut() adds to a shortened one. */
	for (; x < b->nexits; x++)
		known = plan_exit(b, &b->exits[x], b->n - 1, known);
}

u16 record_useful_regs(const struct build *b)
{
	u16 relevant, seen = 0;

	if (!recording())
		return X86_BIT(X86_RSP);
	relevant = entry_needs(b);
	for (unsigned int i = 0; i < b->n; i++) {
		const struct x86_insn *in = &b->ins[i].in;

		relevant |= in->gpr_read & (u16)~seen;
		if (in->kind == X86_JCC || in->kind == X86_LOOP)
			relevant |= (u16)~seen;
		/*
		 * A partial write keeps the other bits of the register, so the old value matters.
		 */
		seen |= in->gpr_full;
	}
	return relevant | (u16)~seen | X86_BIT(X86_RSP);
}
