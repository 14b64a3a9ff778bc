// SPDX-License-Identifier: LGPL-2.1-or-later
/* Dictionaries: find the edge of an id. */
#include "dictionary.h"

const struct dep_cc_in *dep_cc_dictionary_find(const struct dep_cc_dictionary *d, u32 node, u64 id)
{
	const struct dep_cc_in *e;
	u32 lo, hi, mid;

	if (node >= d->nnodes)
		return NULL;
	lo = d->first[node];
	hi = d->first[node + 1];
	/* The last one with add <= id; the hottest comes first and has 0. */
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (d->in[mid].add <= id)
			lo = mid;
		else
			hi = mid;
	}
	if (lo == hi)
		return NULL;
	e = d->in + lo;
	if (e->caller >= d->nnodes || e->kind >= DEP_CC_KINDS)
		return NULL;
	return e->add <= id && id - e->add < d->contexts[e->caller] ? e : NULL;
}

void dep_cc_dictionary_free(struct dep_cc_dictionary *d)
{
	if (!d)
		return;
	free(d->contexts);
	free(d->first);
	free(d->in);
	free(d);
}

void dep_cc_history_drop(struct dep_cc_history *h, u32 stamp)
{
	if (stamp >= h->n)
		return;
	dep_cc_dictionary_free(h->at[stamp]);
	h->at[stamp] = NULL;
}

void dep_cc_history_free(struct dep_cc_history *h)
{
	u32 i;

	for (i = 0; i < h->n; i++)
		dep_cc_dictionary_free(h->at[i]);
	free(h->at);
	*h = (struct dep_cc_history){ 0 };
}
