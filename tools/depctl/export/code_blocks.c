// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Basic blocks of executed code.
 *
 * A block begins at the target of an executed branch, behind a branch, and where no executed
 * instruction ends.  It also begins where the count changes, since a signal or the end of a thread
 * can lie between two instructions.
 */
#include <errno.h>
#include <stdlib.h>

#include "code_blocks.h"

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int order(const struct dep_insn_count *a, uint32_t process, uint32_t image, uint64_t pc)
{
	int by_process = ORDER(a->process, process), by_image = ORDER(a->image, image);

	return by_process ? by_process : by_image ? by_image : ORDER(a->pc, pc);
}

size_t insn_at(const struct dep_profile *p, uint32_t process, uint32_t image, uint64_t pc)
{
	size_t low = 0, high = p->ninsns, i;

	while (low < high) {
		i = low + (high - low) / 2;
		if (order(&p->insn[i], process, image, pc) < 0)
			low = i + 1;
		else
			high = i;
	}
	return low < p->ninsns && !order(&p->insn[low], process, image, pc) ? low : NO_INSN;
}

int code_blocks_make(struct code_blocks *b, const struct dep_profile *p)
{
	bool *begins = calloc(p->ninsns + 1, sizeof(*begins));
	size_t i, at;

	*b = (struct code_blocks){ .p = p };
	b->block = calloc(p->ninsns + 1, sizeof(*b->block));
	if (!begins || !b->block) {
		free(begins);
		code_blocks_free(b);
		return -ENOMEM;
	}
	for (i = 0; i < p->nedges; i++) {
		at = insn_at(p, p->edge[i].process, p->edge[i].to_image, p->edge[i].to);
		if (at != NO_INSN)
			begins[at] = true;
	}
	for (i = 0; i < p->ninsns; i++) {
		if (begins[i] || !insn_follows(p, i) || p->insn[i - 1].branch != DEP_BRANCH_NONE ||
		    p->insn[i - 1].count != p->insn[i].count)
			b->block[b->n++].first = i;
		b->block[b->n - 1].n++;
	}
	free(begins);
	return 0;
}

void code_blocks_free(struct code_blocks *b)
{
	free(b->block);
	b->block = NULL;
}

/* ---- flow without branches ---- */

static int by_place(const void *pa, const void *pb)
{
	const struct dep_edge_count *a = *(const struct dep_edge_count *const *)pa;
	const struct dep_edge_count *b = *(const struct dep_edge_count *const *)pb;
	int by_process = ORDER(a->process, b->process), by_image = ORDER(a->image, b->image);

	return by_process ? by_process : by_image ? by_image : ORDER(a->from, b->from);
}

int flow_begin(struct flow *f, const struct dep_profile *p)
{
	size_t i, n = 0;

	*f = (struct flow){ .p = p };
	for (i = 0; i < p->nedges; i++)
		n += p->edge[i].kind == DEP_EDGE_LEFT;
	f->left = calloc(n + 1, sizeof(*f->left));
	if (!f->left)
		return -ENOMEM;
	for (i = 0; i < p->nedges; i++)
		if (p->edge[i].kind == DEP_EDGE_LEFT)
			f->left[f->n++] = &p->edge[i];
	qsort(f->left, f->n, sizeof(*f->left), by_place);
	return 0;
}

uint64_t flow_into(struct flow *f, size_t i)
{
	const struct dep_insn_count *at = &f->p->insn[i];
	const struct dep_edge_count *left;
	uint64_t count, lost = 0;
	int where;

	if (!insn_follows(f->p, i) || at[-1].branch != DEP_BRANCH_NONE)
		return 0;
	count = at[-1].count;
	for (; f->next < f->n; f->next++) {
		left = f->left[f->next];
		where = order(at, left->process, left->image, left->from);
		if (where < 0)
			break;
		if (!where)
			lost += left->count;
	}
	return count > lost ? count - lost : 0;
}

void flow_end(struct flow *f)
{
	free(f->left);
}
