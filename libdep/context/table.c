// SPDX-License-Identifier: LGPL-2.1-or-later
/* Statistics of encodings. */
#include "table.h"

static int count_sites(struct dep_cc_table *t, const struct dep_cc_graph *g)
{
	bool *indirect = calloc(g->nsites + 1ull, sizeof(*indirect));
	u32 i;

	if (!indirect)
		return -ENOMEM;
	for (i = 0; i < g->nedges; i++)
		indirect[g->edge[i].site_number] |= g->edge[i].kind == DEP_CC_INDIRECT;
	for (i = 0; i < g->nsites; i++) {
		t->indirect_sites += indirect[i];
		t->wide_sites += indirect[i] && g->at[i].targets > DEP_CC_CHAIN_MAX;
	}
	free(indirect);
	return 0;
}

int dep_cc_table_make(struct dep_cc_table *t, const struct dep_cc_graph *g,
		      const struct dep_cc_history *h, const struct dep_cc_counts *counts)
{
	u32 i;
	int err;

	*t = (struct dep_cc_table){
		.counts = *counts, .nodes = g->nnodes - 1, .edges = g->nedges,
		.encodings = h->n ? h->n - 1 : 0,
	};
	for (i = 0; i < h->n; i++)
		if (h->at[i] && h->at[i]->max_id > t->max_id)
			t->max_id = h->at[i]->max_id;
	if (counts->calls) {
		t->mean_depth = (double)counts->depth / (double)counts->calls;
		t->mean_compressed = (double)counts->compressed / (double)counts->calls;
	}
	err = count_sites(t, g);
	return err ? err : dep_cc_pcce_make(&t->pcce, g);
}
