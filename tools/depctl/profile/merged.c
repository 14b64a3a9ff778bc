// SPDX-License-Identifier: GPL-2.0-or-later
/* Add up the rows of all processes that map the same file. */
#include <errno.h>
#include <stdlib.h>

#include "profile.h"

int site_compare(struct site a, struct site b)
{
	if (a.unit != b.unit)
		return a.unit < b.unit ? -1 : 1;
	return a.addr < b.addr ? -1 : a.addr > b.addr;
}

static int by_site(const void *pa, const void *pb)
{
	const struct insn_row *a = pa, *b = pb;

	return site_compare(a->at, b->at);
}

static int by_edge(const void *pa, const void *pb)
{
	const struct edge_row *a = pa, *b = pb;
	int d = site_compare(a->from, b->from);

	if (!d)
		d = site_compare(a->to, b->to);
	if (!d)
		d = (int)a->kind - b->kind;
	return d ? d : (int)a->taken - b->taken;
}

static int merge_insns(struct merged *m, const struct profile_view *v, const struct dep_profile *p)
{
	const struct dep_insn_count *c = p->insn;
	size_t i, n = p->ninsns, k = 0;

	m->insn = calloc(n + 1, sizeof(*m->insn));
	if (!m->insn)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		m->insn[i] = (struct insn_row){
			.at = functions_site(v->f, c[i].process, c[i].image, c[i].pc),
			.count = c[i].count, .pc = c[i].pc, .fragment = c[i].fragment,
			.size = c[i].size, .refs = c[i].refs, .branch = c[i].branch,
		};
	qsort(m->insn, n, sizeof(*m->insn), by_site);
	for (i = 0; i < n; i++) {
		if (k && !by_site(&m->insn[k - 1], &m->insn[i]))
			m->insn[k - 1].count += m->insn[i].count;
		else
			m->insn[k++] = m->insn[i];
	}
	m->ninsns = k;
	return 0;
}

static int merge_edges(struct merged *m, const struct profile_view *v, const struct dep_profile *p)
{
	const struct site none = { 0, NO_FUNCTION };
	const struct dep_edge_count *c = p->edge;
	size_t i, n = p->nedges, k = 0;

	m->edge = calloc(n + 1, sizeof(*m->edge));
	if (!m->edge)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		m->edge[i] = (struct edge_row){
			.from = c[i].kind == DEP_EDGE_ENTERED ? none :
				functions_site(v->f, c[i].process, c[i].image, c[i].from),
			.to = c[i].kind == DEP_EDGE_LEFT ? none :
			      functions_site(v->f, c[i].process, c[i].to_image, c[i].to),
			.count = c[i].count, .kind = c[i].kind, .taken = c[i].taken,
		};
	qsort(m->edge, n, sizeof(*m->edge), by_edge);
	for (i = 0; i < n; i++) {
		if (k && !by_edge(&m->edge[k - 1], &m->edge[i]))
			m->edge[k - 1].count += m->edge[i].count;
		else
			m->edge[k++] = m->edge[i];
	}
	m->nedges = k;
	return 0;
}

int merged_make(struct merged *m, const struct profile_view *v, const struct dep_profile *p)
{
	int err;

	*m = (struct merged){ 0 };
	err = merge_insns(m, v, p);
	return err ? err : merge_edges(m, v, p);
}

void merged_free(struct merged *m)
{
	free(m->insn);
	free(m->edge);
}

size_t merged_at(const struct merged *m, struct site site)
{
	size_t lo = 0, hi = m->ninsns, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (site_compare(m->insn[mid].at, site) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
