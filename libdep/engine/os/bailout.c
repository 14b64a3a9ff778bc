// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bail out: leaves the code cache at any instruction.  Reconstructs the application's exact state,
 * and ends the stream at this position.
 */
#include "sigframe.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/translate/dispatch.h"
#include "libdep/engine/translate/state_table.h"
#include "libdep/x86/decode.h"

#define SYSCALL_LEN	2

static void restore_spills(struct tls *t, const struct state_pos *pos)
{
	if (pos->kind == STATE_DONE_R15)
		t->regs[X86_R15] = t->regs[pos->arg];
	if (pos->arg != X86_NONE)
		t->regs[pos->arg] = t->spill[0];
	if (pos->arg2 != X86_NONE)
		t->regs[pos->arg2] = t->spill[1];
	if (pos->arg3 != X86_NONE && !(pos->arg3 & STATE_NO_REG))
		t->regs[pos->arg3 & 15] = t->spill[2];
}

/* Subtract the gs base, which was added to the base register of a string instruction. */
static void restore_gs(struct tls *t, const struct state_pos *pos)
{
	t->regs[pos->arg2] -= t->app_gs_base;
	t->regs[pos->arg] = t->spill[0];
}

static void restore_indirect(struct tls *t)
{
	t->regs[X86_RCX] = t->ind[0];
	t->regs[X86_RDX] = t->ind[1];
}

static int is_timestamp(const struct state_pos *pos)
{
	return pos->kind == STATE_FOLLOWING && pos->arg3 != X86_NONE;
}

void bail_out_regs(struct tls *t, const struct state_pos *pos, const struct k_ucontext *uc)
{
	regs_from_uc(t->regs, uc);
	t->pp = t->regs[X86_R15];
	t->regs[X86_R15] = t->app_r15;
	t->flags = uc->regs[SC_EFLAGS];
	if (pos->kind == STATE_MANGLE || pos->kind == STATE_DONE || pos->kind == STATE_DONE_R15 ||
	    pos->kind == STATE_FOLLOWING)
		restore_spills(t, pos);
	if (pos->kind == STATE_GS || pos->kind == STATE_GS_DONE)
		restore_gs(t, pos);
	if (pos->kind >= STATE_IND && pos->kind <= STATE_IND_CALL_TAG)
		restore_indirect(t);
	if (pos->kind >= STATE_RET_IND && pos->kind <= STATE_RET_RCX)
		t->regs[X86_RCX] = t->ind[0];
	/* The call has pushed its return address: go back to the state before the call. */
	if (pos->kind == STATE_CALL || pos->kind == STATE_CALL_TAG || pos->kind == STATE_IND_CALL ||
	    pos->kind == STATE_IND_CALL_TAG)
		t->regs[X86_RSP] += 8;
}

/*
 * Set @value to the pointer register of the rep string instruction at @rip.  Return: 0 if another
 * instruction is there.
 */
static int string_progress(const struct tls *t, u64 rip, u64 *value)
{
	struct x86_insn in;

	if (x86_decode(&in, (u8 *)rip, 16) <= 0 || in.kind != X86_STRING ||
	    !(in.attr & (X86_A_REP | X86_A_REPNE)))
		return 0;
	*value = t->regs[in.gpr_addr & X86_BIT(X86_RDI) ? X86_RDI : X86_RSI];
	return 1;
}

static void before(struct tls *t, const struct state_pos *pos, u64 rip)
{
	u64 value;
	int rep = (pos->kind == STATE_RUN || pos->kind == STATE_GS) &&
		  string_progress(t, rip, &value);

	ring_end_partial_record(t, pos->frag, pos->insn, pos->nst, NULL, rep ? &value : NULL);
	t->resume_pc = frag_insn_pc(pos->frag, pos->insn);
}

static void after(struct tls *t, const struct state_pos *pos, const u64 *post)
{
	ring_end_partial_record(t, pos->frag, pos->insn + 1u, pos->nst, post, NULL);
	t->resume_pc = frag_insn_pc(pos->frag, pos->insn + 1u);
}

/* Take the timestamp after a locked instruction; t->flags are those that this instruction set. */
static u64 late_timestamp(const struct tls *t)
{
	return rt_timestamp() | (t->flags & X86_ZF ? ADEPT_TIMESTAMP_DONE : 0);
}

/*
 * Get the value of the store at @pos, which is not done yet.  A timestamp that was already read is
 * in rdx and rax; otherwise take a new timestamp, which may be later.
 */
static u64 stored_value(const struct tls *t, const struct state_pos *pos,
			const struct k_ucontext *uc)
{
	u64 rip = uc->regs[SC_RIP];
	struct x86_insn in;

	if (x86_decode(&in, (u8 *)rip, 16) <= 0)
		fatal("no value store at cache address %lx", rip);
	if (is_timestamp(pos)) {
		if (in.opcode == 0x89 && in.base == X86_R15)
			return uc->regs[SC_RDX] << 32 | (u32)uc->regs[SC_RAX];
		return late_timestamp(t);
	}
	if (in.f_reg == X86_NONE)
		fatal("no value store at cache address %lx", rip);
	return t->regs[in.f_reg];
}

/* Get the value that must still be stored after a completed instruction; NULL if there is none. */
static const u64 *yet_to_store(const struct tls *t, const struct state_pos *pos, u64 *value)
{
	switch (pos->arg3 == X86_NONE ? 0 : pos->arg3 & STATE_AFTER) {
	case STATE_TIMESTAMP:
		*value = late_timestamp(t);
		return value;
	case STATE_RSI:
		*value = t->regs[X86_RSI];
		return value;
	case STATE_RDI:
		*value = t->regs[X86_RDI];
		return value;
	}
	return NULL;
}

static void at(struct tls *t, u64 pc)
{
	t->resume_pc = pc;
}

/* Continue at the exit's target.  A system call is recorded at its exit but not made yet. */
static void at_target(struct tls *t, const struct exit *x)
{
	at(t, x->target - (x->kind == ADEPT_X_SYSCALL ? SYSCALL_LEN : 0));
}

/* The thread is at exit pos->arg: all instructions of the fragment are done. */
static void at_exit(struct tls *t, const struct state_pos *pos)
{
	const struct exit *x = &frag_exits(pos->frag)[pos->arg];

	switch (pos->kind) {
	case STATE_EXIT:
		ring_end_record(t, x);
		break;
	case STATE_EXIT_TAG:
		t->pp += x->reclen;
		break;
	case STATE_CALLED:
		t->regs[X86_RSP] += 8;
		at(t, x->target);
		return;
	default:	/* STATE_EXIT_DONE */
		break;
	}
	at_target(t, x);
}

/*
 * The thread is before the first instruction of a fragment: in its landing stub, or in the lookup
 * of an indirect branch.
 */
static void at_entry(struct tls *t, const struct state_pos *pos)
{
	u64 rcx = t->regs[X86_RCX], pc = pos->frag->pc;

	if (pos->kind == STATE_ENTRY_CALL || pos->kind == STATE_LAND_CALL)
		t->regs[X86_RSP] += 8;
	switch (pos->kind) {
	case STATE_ENTRY_CALL:
	case STATE_ENTRY:
		at(t, pc);
		return;
	case STATE_LAND_LOOP:
		at(t, rcx - 1 + pc);
		break;
	case STATE_LAND_CMP:
		at(t, rcx + pc);
		break;
	case STATE_LAND_OK:
		at(t, pc);
		break;
	case STATE_LAND:
		if (pos->arg == STATE_LAND_SWAPPED)
			*(u64 *)(t->regs[X86_RSP] - 8) = rcx;
		at(t, rcx);
		break;
	default:	/* STATE_LAND_CALL, STATE_AT_RCX */
		at(t, rcx);
		break;
	}
	restore_indirect(t);
}

void bail_out(struct tls *t, const struct state_pos *pos, const struct k_ucontext *uc)
{
	u64 rip = uc->regs[SC_RIP], value;

	bail_out_regs(t, pos, uc);
	t->resume_known = KNOWN_ALL;
	switch (pos->kind) {
	case STATE_RUN:
	case STATE_STORE:
	case STATE_MANGLE:
	case STATE_GS:
	case STATE_CALL:
	case STATE_CALL_TAG:
	case STATE_IND:
	case STATE_IND_TAG:
	case STATE_IND_CALL:
	case STATE_IND_CALL_TAG:
	case STATE_RET_IND:
	case STATE_RET_IND_TAG:
		before(t, pos, rip);
		break;
	case STATE_FOLLOWING:
		value = stored_value(t, pos, uc);
		after(t, pos, &value);
		break;
	case STATE_DONE:
	case STATE_DONE_R15:
	case STATE_GS_DONE:
		after(t, pos, yet_to_store(t, pos, &value));
		break;
	case STATE_EXIT:
	case STATE_EXIT_TAG:
	case STATE_EXIT_DONE:
	case STATE_CALLED:
		at_exit(t, pos);
		break;
	case STATE_RET_RCX:
		t->regs[X86_RSP] += 8;
		at(t, uc->regs[SC_RCX]);
		break;
	case STATE_RET_SWAPPED:
		*(u64 *)t->regs[X86_RSP] = t->regs[X86_RCX];
		/* fall through */
	case STATE_RET:
		t->regs[X86_RSP] += 8u + pos->arg2 + 256u * pos->arg3;
		at(t, t->regs[X86_RCX]);
		restore_indirect(t);
		break;
	case STATE_ENTRY_CALL:
	case STATE_ENTRY:
	case STATE_LAND_CALL:
	case STATE_LAND:
	case STATE_LAND_LOOP:
	case STATE_LAND_CMP:
	case STATE_LAND_OK:
	case STATE_AT_RCX:
		at_entry(t, pos);
		break;
	case STATE_DATA:
		fatal("thread executes a fragment's literals at cache address %lx", rip);
	}
}

u64 bail_out_at_chunk_end(struct tls *t, const struct state_pos *pos, const struct k_ucontext *uc)
{
	struct adept_position tail = {
		.frag = pos->frag->first_exit, .insn = pos->insn, .nvals = pos->nst,
	}, head;

	bail_out_regs(t, pos, uc);
	head = tail;
	if (pos->kind == STATE_FOLLOWING) {
		tail.insn = head.insn = (u16)(pos->insn + 1);
		tail.has_extra = 1;
		tail.extra = stored_value(t, pos, uc);
		head.nvals++;
	}
	/* The record is empty, so this is a record boundary. */
	if (!tail.insn && !tail.nvals)
		tail.frag = head.frag = 0;
	ring_next_chunk(t, &tail, &head, 4 + record_value_bytes(pos->frag, pos->nst));
	return t->pp;
}
