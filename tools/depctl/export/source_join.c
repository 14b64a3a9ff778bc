// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Make lines out of rows.
 *
 * Of the instructions of a line, the one that is executed most often gives the count.  If a program
 * has several copies of a function, their counts are added up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "source_parts.h"

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

int source_compare(const struct source_at *a, const struct source_at *b)
{
	int order = ORDER(a->offset, b->offset);

	return order ? order : ORDER(a->discriminator, b->discriminator);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int by_place(uint32_t function_a, const struct source_at *a, uint32_t function_b,
		    const struct source_at *b)
{
	int order = ORDER(function_a, function_b);

	return order ? order : source_compare(a, b);
}

/* ---- lines ---- */

static int row_order(const void *pa, const void *pb)
{
	const struct source_row *a = pa, *b = pb;
	int order = by_place(a->function, &a->at, b->function, &b->at);

	return order ? order : ORDER(a->copy, b->copy);
}

static int make_lines(struct source_maker *m)
{
	struct source_row *r = m->row;
	struct source_line *line;
	size_t i, n = 0;

	m->s->line = calloc(m->nrows + 1, sizeof(*m->s->line));
	if (!m->s->line)
		return -ENOMEM;
	if (m->nrows)
		qsort(r, m->nrows, sizeof(*r), row_order);
	for (i = 0; i < m->nrows; i++) {
		if (n && !row_order(&r[n - 1], &r[i])) {
			if (r[n - 1].count < r[i].count)
				r[n - 1].count = r[i].count;
		} else {
			r[n++] = r[i];
		}
	}
	for (i = 0; i < n; i++) {
		line = &m->s->line[m->s->nlines];
		if (i && !by_place(r[i - 1].function, &r[i - 1].at, r[i].function, &r[i].at)) {
			line[-1].count = add_up(line[-1].count, r[i].count);
			continue;
		}
		*line = (struct source_line){ .function = r[i].function, .at = r[i].at,
					      .count = r[i].count };
		m->s->nlines++;
	}
	return 0;
}

/* ---- calls ---- */

static int target_order(const void *pa, const void *pb, void *of)
{
	const struct source_target *a = pa, *b = pb;
	int order = by_place(a->function, &a->at, b->function, &b->at);

	return order || a->name == b->name ? order :
	       strcmp(source_name(of, a->name), source_name(of, b->name));
}

static void join_targets(struct source_profile *s)
{
	struct source_target *t = s->target;
	size_t i, n = 0, k = 0, joined = 0;

	if (!s->ntargets)
		return;
	qsort_r(t, s->ntargets, sizeof(*t), target_order, s);
	for (i = 0; i < s->ntargets; i++) {
		if (n && !target_order(&t[n - 1], &t[i], s))
			t[n - 1].count = add_up(t[n - 1].count, t[i].count);
		else
			t[n++] = t[i];
	}
	for (i = 0; i < n; i++) {
		/* Each call is an instruction, which has a row. */
		while (k < s->nlines && by_place(s->line[k].function, &s->line[k].at,
						 t[i].function, &t[i].at) < 0)
			k++;
		if (k == s->nlines || by_place(s->line[k].function, &s->line[k].at,
					       t[i].function, &t[i].at))
			continue;
		if (!s->line[k].ntargets++)
			s->line[k].target = &t[i];
		joined++;
	}
	s->ntargets = joined;
}

/* ---- functions ---- */

static int function_order(const void *pa, const void *pb, void *of)
{
	const struct source_profile *s = of;
	const struct source_function *a = &s->function[*(const uint32_t *)pa];
	const struct source_function *b = &s->function[*(const uint32_t *)pb];
	int order = by_place(a->parent, &a->at, b->parent, &b->at);

	return order || a->name == b->name ? order :
	       strcmp(source_name(s, a->name), source_name(s, b->name));
}

static int join_functions(struct source_profile *s)
{
	struct source_function *f;
	uint32_t i;

	s->order = calloc(s->nfunctions + 1, sizeof(*s->order));
	if (!s->order)
		return -ENOMEM;
	for (i = 0; i < s->nfunctions; i++)
		s->order[i] = i;
	qsort_r(s->order, s->nfunctions, sizeof(*s->order), function_order, s);
	for (i = 0; i < s->nfunctions; i++) {
		f = &s->function[s->order[i]];
		if (f->parent == SOURCE_NONE) {
			if (!s->nouter++)
				s->outer = &s->order[i];
			continue;
		}
		f = &s->function[f->parent];
		if (!f->ninlined++)
			f->inlined = &s->order[i];
	}
	return 0;
}

static void find_totals(struct source_profile *s)
{
	struct source_function *f;
	size_t i;

	for (i = 0; i < s->nlines; i++) {
		f = &s->function[s->line[i].function];
		if (!f->nlines++)
			f->line = &s->line[i];
		f->total = add_up(f->total, s->line[i].count);
	}
	for (i = s->nfunctions; i--;) {
		f = &s->function[i];
		if (f->parent != SOURCE_NONE)
			s->function[f->parent].total =
				add_up(s->function[f->parent].total, f->total);
	}
}

int source_join(struct source_maker *m)
{
	if (make_lines(m))
		return -ENOMEM;
	join_targets(m->s);
	if (join_functions(m->s))
		return -ENOMEM;
	find_totals(m->s);
	return 0;
}
