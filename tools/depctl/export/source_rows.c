// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows for the lines of instructions, executed or not, and for the calls from lines. */
#include <errno.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "source_parts.h"

static int add_row(struct source_maker *m, uint32_t copy, uint32_t process, uint32_t image,
		   uint64_t pc, uint64_t count)
{
	struct source_row row = { .copy = copy }, *more;
	uint32_t factor;
	size_t room;

	if (source_locate(m, process, image, pc, &row.function, &row.at, &factor))
		return -ENOMEM;
	if (row.function == SOURCE_NONE)
		return 0;
	if (__builtin_mul_overflow(count, factor, &row.count))
		row.count = UINT64_MAX;
	if (m->nrows == m->rows_room) {
		room = m->rows_room ? 2 * m->rows_room : 4096;
		more = reallocarray(m->row, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->row = more;
		m->rows_room = room;
	}
	m->row[m->nrows++] = row;
	if (copy != NO_FUNCTION)
		m->located[copy] = true;
	return 0;
}

/* The calls of a function are known where it begins. */
static void add_head(struct source_maker *m, uint32_t copy, uint64_t linked, size_t before)
{
	const struct source_function *f = m->s->function;
	uint32_t i;

	if (copy == NO_FUNCTION || m->nrows == before ||
	    functions_start(m->x->l.functions, copy).addr != linked)
		return;
	for (i = m->row[before].function; f[i].parent != SOURCE_NONE; i = f[i].parent)
		;
	m->s->function[i].head += m->x->l.function[copy].calls;
}

static int add_executed(struct source_maker *m)
{
	const struct source_code *c;
	size_t i, before;
	uint32_t copy;

	for (i = 0; i < m->ncode; i++) {
		c = &m->code[i];
		copy = functions_at(m->x->l.functions, c->process, c->image, c->pc);
		if (!export_chosen(m->x, copy))
			continue;
		before = m->nrows;
		if (add_row(m, copy, c->process, c->image, c->pc, c->count))
			return -ENOMEM;
		add_head(m, copy, c->linked, before);
	}
	return 0;
}

/* ---- code that was not executed, of functions that were ---- */

/* One mapping of the program stands for all. */
struct mapped {
	uint32_t process, image;
	uint64_t bias;
};

static int add_never(struct source_maker *m, const struct mapped *in, uint64_t linked)
{
	size_t i = source_code_at(m, linked);
	uint64_t pc = linked + in->bias;
	uint32_t copy = functions_at(m->x->l.functions, in->process, in->image, pc);

	if ((i < m->ncode && m->code[i].linked == linked) || copy == NO_FUNCTION ||
	    !m->located[copy])
		return 0;
	return add_row(m, copy, in->process, in->image, pc, 0);
}

/* The line table has a row where a line begins, and code behind executed code begins a block. */
static int add_not_executed(struct source_maker *m)
{
	const struct lines_file *file;
	struct mapped in;
	uint64_t end;
	size_t i, n = m->ncode;

	if (!n)
		return 0;
	in.process = m->code[0].process;
	in.image = m->code[0].image;
	file = lines_file(&m->program.lines, in.image);
	in.bias = file->bias;
	for (i = 0; i < file->n; i++)
		if (add_never(m, &in, file->row[i].start))
			return -ENOMEM;
	for (i = 0; i < n; i++) {
		end = m->code[i].linked + m->code[i].size;
		if (i + 1 < n && m->code[i + 1].linked >= end && add_never(m, &in, end))
			return -ENOMEM;
	}
	return 0;
}

int source_add_rows(struct source_maker *m)
{
	return add_executed(m) ? -ENOMEM : add_not_executed(m);
}

/* ---- calls ---- */

/* Set *@callee to the function that the branch calls, or NO_FUNCTION. */
static void find_callee(struct source_maker *m, const struct dep_edge_count *e, uint32_t *callee)
{
	const struct functions *f = m->x->l.functions;
	struct site to = functions_site(f, e->process, e->to_image, e->to);
	uint32_t at = functions_in(f, to), from;

	*callee = NO_FUNCTION;
	switch (e->kind) {
	case DEP_BRANCH_CALL:
	case DEP_BRANCH_CALL_INDIRECT:
		*callee = functions_target(f, at);
		break;
	case DEP_BRANCH_COND:
	case DEP_BRANCH_JUMP:
	case DEP_BRANCH_JUMP_INDIRECT:
		from = functions_at(f, e->process, e->image, e->from);
		/* A jump to the beginning of another function is a call at the end of this one. */
		if (at != NO_FUNCTION && at != from && functions_start(f, at).addr == to.addr)
			*callee = functions_target(f, at);
		break;
	default:
		break;
	}
}

static int add_target(struct source_maker *m, const struct dep_edge_count *e)
{
	struct source_target t = { .count = e->count }, *more;
	uint32_t callee, factor;
	size_t room;

	find_callee(m, e, &callee);
	if (callee == NO_FUNCTION)
		return 0;
	if (source_locate(m, e->process, e->image, e->from, &t.function, &t.at, &factor))
		return -ENOMEM;
	if (t.function == SOURCE_NONE)
		return 0;
	if (source_name_of(m, callee, &t.name))
		return -ENOMEM;
	if (t.name == SOURCE_NONE)
		return 0;
	if (m->s->ntargets == m->targets_room) {
		room = m->targets_room ? 2 * m->targets_room : 256;
		more = reallocarray(m->s->target, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->s->target = more;
		m->targets_room = room;
	}
	m->s->target[m->s->ntargets++] = t;
	return 0;
}

int source_add_targets(struct source_maker *m)
{
	const struct dep_profile *p = m->x->l.profile;
	const struct dep_edge_count *e;
	uint64_t linked;
	uint32_t from;
	size_t i;

	for (i = 0; i < p->nedges; i++) {
		e = &p->edge[i];
		if (!program_address(&m->program, e->image, e->from, &linked))
			continue;
		from = functions_at(m->x->l.functions, e->process, e->image, e->from);
		if (export_chosen(m->x, from) && add_target(m, e))
			return -ENOMEM;
	}
	return 0;
}
