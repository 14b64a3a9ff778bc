// SPDX-License-Identifier: GPL-2.0-or-later
/* The executed instructions of one program, added up over the processes that ran it. */
#include <errno.h>
#include <stdlib.h>

#include "source_parts.h"

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_address(const void *pa, const void *pb)
{
	const struct source_code *a = pa, *b = pb;
	int order = ORDER(a->linked, b->linked);

	return order ? order : ORDER(a->process, b->process);
}

int source_find_code(struct source_maker *m)
{
	const struct dep_profile *p = m->x->l.profile;
	const struct dep_insn_count *in;
	struct source_code *c;
	size_t i, n = 0;

	m->code = calloc(p->ninsns + 1, sizeof(*m->code));
	if (!m->code)
		return -ENOMEM;
	for (i = 0; i < p->ninsns; i++) {
		in = &p->insn[i];
		c = &m->code[m->ncode];
		*c = (struct source_code){ 0, in->pc, in->count, in->process, in->image,
					   in->size };
		m->ncode += in->count &&
			    program_address(&m->program, in->image, in->pc, &c->linked);
	}
	qsort(m->code, m->ncode, sizeof(*m->code), by_address);
	for (i = 0; i < m->ncode; i++) {
		if (n && m->code[n - 1].linked == m->code[i].linked)
			m->code[n - 1].count += m->code[i].count;
		else
			m->code[n++] = m->code[i];
	}
	m->ncode = n;
	return 0;
}

size_t source_code_at(const struct source_maker *m, uint64_t linked)
{
	size_t low = 0, high = m->ncode, i;

	while (low < high) {
		i = low + (high - low) / 2;
		if (m->code[i].linked < linked)
			low = i + 1;
		else
			high = i;
	}
	return low;
}
