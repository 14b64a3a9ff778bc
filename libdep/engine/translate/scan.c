// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Selects a fragment's instructions: from its pc on, past conditional branches and through direct
 * jumps, to the first call, return, indirect jump or system call.
 */
#include "translate.h"
#include "dispatch.h"
#include "code_map.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/hooks/hooks.h"

/* Maximal number of conditional branches in a fragment; the fragment's end needs one more exit. */
#define MAX_BRANCHES	(MAX_EXITS - 2)

static void add_exit(struct build *b, u8 kind, unsigned int ninsns, u64 target, int is_call)
{
	b->exits[b->nexits++] = (struct build_exit){
		.kind = kind,
		.insn = (u16)(ninsns - 1),
		.ninsns = (u16)ninsns,
		.target = target,
		.call = is_call ? CALL_BY_STUB : CALL_NONE,
	};
}

/*
 * Code that was read ahead, so that instructions are not fetched one by one.  The buffer never
 * crosses the end of a page: pages that are fetched may be write-protected, and the next page may
 * contain data.
 */
static struct {
	u64 pc;
	size_t len;
	u8 unwatchable;
	u8 bytes[256];
} ahead;

static size_t fetch(struct build *b, u64 pc, u8 *raw)
{
	size_t n = ADEPT_PAGE - (pc & (ADEPT_PAGE - 1));

	if (pc - ahead.pc < ahead.len && ahead.len - (pc - ahead.pc) >= 15) {
		memcpy(raw, ahead.bytes + (pc - ahead.pc), 15);
		b->unwatchable |= ahead.unwatchable;
		return 15;
	}
	if (n < 15)
		return code_fetch(pc, raw, 15, &b->unwatchable);
	ahead.pc = pc;
	ahead.unwatchable = 0;
	ahead.len = code_fetch(pc, ahead.bytes, n < sizeof(ahead.bytes) ? n : sizeof(ahead.bytes),
			       &ahead.unwatchable);
	b->unwatchable |= ahead.unwatchable;
	n = ahead.len < 15 ? ahead.len : 15;
	memcpy(raw, ahead.bytes, n);
	return n;
}

/*
 * Whether to continue the fragment at @pc.  When recording, it continues even where another
 * fragment begins, because a record should cover many instructions.  Without recording, a second
 * translation of the code would have no use.
 */
static int worth_going_on(u64 pc)
{
	return recording() || !frag_exists(pc, KNOWN_ALL);
}

static int seen(const struct build *b, u64 pc)
{
	for (u32 i = 0; i < b->n; i++)
		if (b->ins[i].pc == pc)
			return 1;
	return 0;
}

/* Add instruction @bi.  Return: 1 to continue the scan at *@pc, 0 at the fragment's end. */
static int scan_insn(struct build *b, struct build_insn *bi, u64 *pc)
{
	const struct x86_insn *in = &bi->in;
	u64 next = *pc + in->len;

	if (!mangle_supported(in)) {
		add_exit(b, ADEPT_X_TRAP, b->n, *pc, 0);
		return 0;
	}
	b->n++;
	b->runs[b->nruns - 1].ninsns++;
	*pc = next;
	switch (in->kind) {
	case X86_JCC:
	case X86_LOOP:
		add_exit(b, ADEPT_X_DIRECT, b->n, x86_branch_target(in, bi->pc), 0);
		if (b->nexits < MAX_BRANCHES && worth_going_on(next))
			return 1;
		add_exit(b, ADEPT_X_DIRECT, b->n, next, 0);
		return 0;
	case X86_JMP:
		next = x86_branch_target(in, bi->pc);
		if (b->n < b->limit && b->nruns < MAX_RUNS && !seen(b, next) &&
		    worth_going_on(next)) {
			b->runs[b->nruns++] = (struct adept_run){ .pc = next };
			*pc = next;
			return 1;
		}
		add_exit(b, ADEPT_X_DIRECT, b->n, next, 0);
		return 0;
	case X86_CALL:
		add_exit(b, ADEPT_X_DIRECT, b->n, x86_branch_target(in, bi->pc), 1);
		return 0;
	case X86_CALL_IND:
	case X86_JMP_IND:
	case X86_RET:
		add_exit(b, ADEPT_X_INDIRECT, b->n, 0, 0);
		return 0;
	case X86_SYSCALL:
		add_exit(b, ADEPT_X_SYSCALL, b->n, next, 0);
		return 0;
	case X86_INT:
		/*
		 * After int3 the trap's rip is the next instruction, so a fragment must begin
		 * there.
		 */
		add_exit(b, ADEPT_X_DIRECT, b->n, next, 0);
		return 0;
	default:
		return 1;
	}
}

void build_scan(struct build *b)
{
	u64 pc = b->pc;
	int more = 1;

	b->n = b->nexits = 0;
	b->unwatchable = 0;
	ahead.len = 0;
	b->nruns = 1;
	b->runs[0] = (struct adept_run){ .pc = pc };
	while (more && b->n < b->limit) {
		struct build_insn *bi = &b->ins[b->n];
		size_t got = fetch(b, pc, bi->raw);

		/*
		 * A hooked function must begin a fragment.  fetch() has already looked up the
		 * functions of the file.
		 */
		if (b->n && (hook_at(pc) || hook_trigger(pc)))
			break;
		bi->pc = pc;
		if (x86_decode(&bi->in, bi->raw, (unsigned int)got) <= 0) {
			/*
			 * The instruction cannot be decoded, so the fragment ends before it.  If
			 * the program gets here, a fragment that begins here raises the fault by a
			 * trap exit.
			 */
			add_exit(b, b->n ? ADEPT_X_DIRECT : ADEPT_X_TRAP, b->n, pc, 0);
			more = 0;
			break;
		}
		more = scan_insn(b, bi, &pc);
	}
	if (more)
		add_exit(b, ADEPT_X_DIRECT, b->n, pc, 0);
	if (b->nruns > 1 && !b->runs[b->nruns - 1].ninsns)
		b->nruns--;
	b->runs[0].function = hook_at(b->pc);
	b->runs[0].returns = (u16)hook_is_return_site(b->pc);
}
