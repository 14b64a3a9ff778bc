// SPDX-License-Identifier: LGPL-2.1-or-later
/* The code of the file: what control can come to, from what is known. */
#include <stdlib.h>
#include <string.h>

#include "libdep/paths/graph.h"
#include "libdep/x86/decode.h"
#include "flow.h"

int dep_path_flow_code(struct dep_path_flow *f, uint64_t pc, const void *bytes, size_t size)
{
	struct dep_flow_range r = { .pc = pc, .size = size, .bytes = malloc(size + 1) };
	int err;

	if (!r.bytes)
		return dep_flow_no_memory();
	err = dep_flow_grow(&f->range, f->nranges, &f->ranges_room, sizeof(r));
	if (err) {
		free(r.bytes);
		return err;
	}
	memcpy(r.bytes, bytes, size);
	f->range[f->nranges++] = r;
	return 0;
}

static const struct dep_flow_range *range_at(const struct dep_path_flow *f, u64 pc)
{
	size_t i;

	for (i = 0; i < f->nranges; i++)
		if (pc - f->range[i].pc < f->range[i].size)
			return f->range + i;
	return NULL;
}

/* An edge to @pc, or out of the function. */
static int lead(struct dep_path_flow *f, u64 from, u64 pc, u8 kind)
{
	if (range_at(f, pc))
		return dep_flow_add_jump(f, from, pc, kind);
	return dep_flow_add_jump(f, from, DEP_FLOW_NOWHERE, DEP_PATH_TAIL_CALL);
}

/* A jump through a pointer that is in no table calls another function. */
static int lead_indirect(struct dep_path_flow *f, u64 from, const struct x86_insn *in)
{
	if (in->nmem && in->mem[0].index == X86_NONE)
		return dep_flow_add_jump(f, from, DEP_FLOW_NOWHERE, DEP_PATH_TAIL_CALL);
	f->more = true;
	return 0;
}

/* The edges out of branch @in at @pc, whose run is added. */
static int lead_on(struct dep_path_flow *f, const struct x86_insn *in, u64 pc)
{
	u64 next = pc + in->len;
	int err;

	switch (in->kind) {
	case X86_JCC:
	case X86_LOOP:
		err = lead(f, pc, next, DEP_PATH_FALL_THROUGH);
		return err ? err : lead(f, pc, x86_branch_target(in, pc), DEP_PATH_TAKEN);
	case X86_JMP:
		return lead(f, pc, x86_branch_target(in, pc), DEP_PATH_FALL_THROUGH);
	case X86_JMP_IND:
		return lead_indirect(f, pc, in);
	case X86_RET:
		return dep_flow_add_jump(f, pc, DEP_FLOW_NOWHERE, DEP_PATH_RETURN);
	case X86_CALL:
	case X86_CALL_IND:
	case X86_SYSCALL:
		return lead(f, pc, next, DEP_PATH_FALL_THROUGH);
	default:
		return dep_flow_add_jump(f, pc, DEP_FLOW_NOWHERE, DEP_PATH_UNKNOWN);
	}
}

static u8 branch_of(u8 kind)
{
	static const u8 branch[] = {
		[X86_JCC] = DEP_BRANCH_COND, [X86_LOOP] = DEP_BRANCH_COND,
		[X86_JMP] = DEP_BRANCH_JUMP, [X86_JMP_IND] = DEP_BRANCH_JUMP_INDIRECT,
		[X86_CALL] = DEP_BRANCH_CALL, [X86_CALL_IND] = DEP_BRANCH_CALL_INDIRECT,
		[X86_RET] = DEP_BRANCH_RETURN, [X86_SYSCALL] = DEP_BRANCH_SYSCALL,
	};

	return kind < sizeof(branch) ? branch[kind] : (u8)DEP_BRANCH_NONE;
}

/* Does code never go on behind @in? */
static bool stops(const struct x86_insn *in)
{
	return branch_of(in->kind) != DEP_BRANCH_NONE || in->kind == X86_INVALID ||
	       in->kind == X86_INT || in->kind == X86_FAR;
}

/* Decode the run at @pc of range @r, up to a branch or the end of the range. */
static int decode(struct dep_path_flow *f, const struct dep_flow_range *r, u64 pc)
{
	size_t from = pc - r->pc, at = from;
	struct dep_flow_run run = { .pc = pc, .last = pc };
	struct x86_insn in = { 0 };
	int err;

	do {
		at += in.len;
		if (at >= r->size ||
		    x86_decode(&in, r->bytes + at, (unsigned int)(r->size - at)) <= 0) {
			in = (struct x86_insn){ .kind = X86_INVALID };
			break;
		}
		run.last = r->pc + at;
	} while (!stops(&in));
	run.size = (u32)(at + in.len - from);
	run.branch = branch_of(in.kind);
	if (!run.size)
		run.size = 1;	/* no instruction, but control can come here */
	run.bytes = malloc(run.size);
	if (!run.bytes)
		return dep_flow_no_memory();
	memcpy(run.bytes, r->bytes + from, run.size);
	err = dep_flow_add_run(f, &run);
	return err ? err : lead_on(f, &in, run.last);
}

/* Decode all code that can be reached.  Jumps are added at the end of the list meanwhile. */
int dep_flow_decode(struct dep_path_flow *f)
{
	struct dep_row_map seen = { 0 };
	size_t i, n = f->nstarts + f->nruns;
	const struct dep_flow_range *r;
	int err = 0;
	u64 pc;

	for (i = 0; f->nranges && i < 1 + n + f->njumps && !err; i++) {
		pc = !i ? f->entry : i <= f->nstarts ? f->start[i - 1] :
		     i <= n ? f->run[i - 1 - f->nstarts].pc : f->jump[i - 1 - n].to;
		r = pc == DEP_FLOW_NOWHERE ? NULL : range_at(f, pc);
		if (!r || dep_row_find(&seen, &(struct dep_row_key){ .a = pc }) >= 0)
			continue;
		if (dep_row_set(&seen, &(struct dep_row_key){ .a = pc }, 0))
			err = dep_flow_no_memory();
		else
			err = decode(f, r, pc);
	}
	dep_row_free(&seen);
	return err;
}
