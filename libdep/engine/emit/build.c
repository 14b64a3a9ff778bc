// SPDX-License-Identifier: LGPL-2.1-or-later
#include "build.h"

struct lock frag_lock;

/*
 * Kind of the value that will be stored after instruction @insn, for arg3 of a state entry; 0:
 * none.
 */
static u8 stored_after(const struct build *b, unsigned int insn)
{
	const struct adept_store *s = &b->stores[b->next_store];

	if (b->next_store == b->nstores || s->insn != insn)
		return 0;
	if (s->kind == ADEPT_ST_AFTER)
		return STATE_TIMESTAMP;
	if (s->kind == ADEPT_ST_POST)
		return s->arg == X86_RDI ? STATE_RDI : STATE_RSI;
	return 0;
}

void emit_state(struct build *b, enum state_kind kind, unsigned int insn, u8 arg, u8 arg2, u8 arg3)
{
	struct state_entry *x;
	u32 nst = b->next_store;
	u16 off = (u16)(b->hot_end ? COLD_OFFSET + (b->e.p - b->cold) : b->e.p - b->start);

	/*
	 * While register b->held holds the application's r15, bailing out at any address must
	 * restore the register's own value.
	 */
	if (b->held != X86_NONE && (kind == STATE_RUN || kind == STATE_STORE)) {
		kind = STATE_MANGLE;
		arg = b->held;
	}
	if (kind == STATE_DONE || kind == STATE_DONE_R15 || kind == STATE_GS_DONE) {
		u8 after = stored_after(b, insn);

		if (after)
			arg3 = after | (arg3 == X86_NONE ? STATE_NO_REG : arg3);
	}
	if (kind == STATE_RUN) {
		if (b->run_open)
			return;
		b->run_open = 1;
	} else {
		b->run_open = 0;
	}
	if (kind >= STATE_EXIT && kind <= STATE_EXIT_DONE)
		nst = b->exits[arg].nstores;
	/* If two entries have the same address, the later entry replaces the earlier. */
	if (b->nstates && b->state_entry[b->nstates - 1].off == off)
		b->nstates--;
	if (b->nstates == MAX_STATES) {
		b->e.overflow = 1;
		return;
	}
	x = &b->state_entry[b->nstates++];
	x->off = off;
	x->kind = kind;
	x->insn = (u8)insn;
	x->nst = (u8)nst;
	x->arg = arg;
	x->arg2 = arg2;
	x->arg3 = arg3;
}

void build_literal(struct build *b, u64 value)
{
	if (b->nlits == MAX_LITS || b->e.overflow) {
		b->e.overflow = 1;
		return;
	}
	b->lits[b->nlits].field = b->e.p - 4;
	b->lits[b->nlits++].value = value;
}
