// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pre-aggregated profile of BOLT: taken branches (B) and fall-throughs (F) of one file.
 *
 * Each F record leads from a block to the next one, at a branch that was not taken, at a call that
 * returned, or where another branch jumps to.  Records for longer traces would say the same.
 * Other files are X.  Addresses are those of the file as linked.
 */
#include <inttypes.h>

#include "tools/depctl/depctl.h"
#include "code_blocks.h"
#include "program.h"

struct bolt {
	struct export *x;
	struct program program;
};

static bool chosen(const struct export *x, uint32_t process, uint32_t image, uint64_t pc)
{
	return !x->chosen || export_chosen(x, functions_at(x->l.functions, process, image, pc));
}

static void put_fall_through(struct bolt *b, uint32_t image, uint64_t from, uint64_t to,
			     uint64_t count)
{
	uint64_t linked;

	if (!count || !program_address(&b->program, image, from, &linked))
		return;
	out_printf(&b->x->out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", linked,
		   linked + (to - from), count);
}

static void put_end(struct bolt *b, bool known, uint64_t linked)
{
	if (known)
		out_printf(&b->x->out, " %" PRIx64, linked);
	else
		out_text(&b->x->out, " X:0");
}

static void put_branch(struct bolt *b, const struct dep_edge_count *e)
{
	uint64_t from = 0, to = 0;
	bool from_known = program_address(&b->program, e->image, e->from, &from);
	bool to_known = program_address(&b->program, e->to_image, e->to, &to);

	if (!from_known && !to_known)
		return;
	out_text(&b->x->out, "B");
	put_end(b, from_known, from);
	put_end(b, to_known, to);
	out_printf(&b->x->out, " %" PRIu64 " 0\n", e->count);
}

static void put_edge(struct bolt *b, const struct dep_edge_count *e)
{
	switch (e->kind) {
	case DEP_BRANCH_COND:
		if (!e->taken)
			put_fall_through(b, e->image, e->from, e->to, e->count);
		else
			put_branch(b, e);
		break;
	case DEP_BRANCH_RETURN:
		put_branch(b, e);
		/* To BOLT a trace that begins behind a call begins in the block of the call. */
		put_fall_through(b, e->to_image, e->to, e->to, e->count);
		break;
	case DEP_BRANCH_JUMP:
	case DEP_BRANCH_JUMP_INDIRECT:
	case DEP_BRANCH_CALL:
	case DEP_BRANCH_CALL_INDIRECT:
		put_branch(b, e);
		break;
	case DEP_BRANCH_NONE:
	case DEP_BRANCH_SYSCALL:
		put_fall_through(b, e->image, e->from, e->to, e->count);
		break;
	default:	/* no branch: a signal, the start or end of a thread */
		break;
	}
}

static void put_flow(struct bolt *b, const struct code_blocks *blocks, struct flow *flow)
{
	const struct dep_insn_count *at;
	uint64_t count;
	size_t i;

	for (i = 0; i < blocks->n; i++) {
		at = &blocks->p->insn[blocks->block[i].first];
		count = flow_into(flow, blocks->block[i].first);
		if (count && chosen(b->x, at->process, at->image, at->pc))
			put_fall_through(b, at->image, at[-1].pc, at->pc, count);
	}
}

int export_bolt(struct export *x)
{
	const struct dep_profile *p = x->l.profile;
	struct bolt b = { .x = x };
	struct code_blocks blocks = { 0 };
	struct flow flow = { 0 };
	size_t i;
	int ret = 1;

	if (program_find(&b.program, x))
		return 1;
	if (code_blocks_make(&blocks, p) || flow_begin(&flow, p)) {
		warn("out of memory");
		goto out;
	}
	for (i = 0; i < p->nedges; i++)
		if (chosen(x, p->edge[i].process, p->edge[i].image, p->edge[i].from) ||
		    chosen(x, p->edge[i].process, p->edge[i].to_image, p->edge[i].to))
			put_edge(&b, &p->edge[i]);
	put_flow(&b, &blocks, &flow);
	ret = 0;
out:
	flow_end(&flow);
	code_blocks_free(&blocks);
	program_end(&b.program);
	return ret;
}
