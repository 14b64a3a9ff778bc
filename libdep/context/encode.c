// SPDX-License-Identifier: LGPL-2.1-or-later
/* Encode a call graph. */
#include "array.h"
#include "encode.h"
#include "order.h"

/** struct hot_edge - an edge, to be sorted: the hottest first, then the older one */
struct hot_edge {
	u64 heat;
	u32 edge;
};

/**
 * struct work - an encoding that is being made
 * @first: of each node, its first forward edge in @in; one more for the end
 * @tails: of each node, whether an encoded tail edge at or below it adds something
 */
struct work {
	const struct dep_cc_graph *g;
	struct dep_cc_order order;
	struct dep_cc_code *code;
	struct dep_cc_dictionary *d;
	struct hot_edge *in;
	u32 *first;
	bool *tails;
	u64 limit;
};

static int hotter(const void *va, const void *vb)
{
	const struct hot_edge *a = va, *b = vb;

	if (a->heat != b->heat)
		return a->heat > b->heat ? -1 : 1;
	return a->edge < b->edge ? -1 : a->edge > b->edge;
}

static int allocate(struct work *w)
{
	u64 nodes = w->g->nnodes, edges = w->g->nedges;

	w->code = calloc(edges + 1, sizeof(*w->code));
	w->in = calloc(edges + 1, sizeof(*w->in));
	w->first = calloc(nodes + 1, sizeof(*w->first));
	w->tails = calloc(nodes, sizeof(*w->tails));
	w->d = calloc(1, sizeof(*w->d));
	if (!w->code || !w->in || !w->first || !w->tails || !w->d)
		return -ENOMEM;
	w->d->nnodes = (u32)nodes;
	w->d->contexts = calloc(nodes, sizeof(*w->d->contexts));
	w->d->first = calloc(nodes + 1, sizeof(*w->d->first));
	return w->d->contexts && w->d->first ? 0 : -ENOMEM;
}

/* Forward edges by callee, the hottest first. */
static void sort_edges(struct work *w)
{
	const struct dep_cc_graph *g = w->g;
	u32 i, n, *end;

	for (i = 0; i < g->nedges; i++)
		if (w->order.class[i] == DEP_CC_FORWARD)
			w->first[g->edge[i].callee + 1]++;
	for (n = 0; n < g->nnodes; n++) {
		w->first[n + 1] += w->first[n];
		w->d->first[n] = w->first[n];	/* where the next edge goes, for now */
	}
	for (i = 0; i < g->nedges; i++) {
		if (w->order.class[i] != DEP_CC_FORWARD)
			continue;
		end = w->d->first + g->edge[i].callee;
		w->in[(*end)++] = (struct hot_edge){ .heat = g->edge[i].heat, .edge = i };
	}
	for (n = 0; n < g->nnodes; n++)
		if (w->first[n + 1] - w->first[n] > 1)
			qsort(w->in + w->first[n], w->first[n + 1] - w->first[n], sizeof(*w->in),
			      hotter);
}

static void encode_node(struct work *w, u32 n)
{
	struct dep_cc_dictionary *d = w->d;
	struct dep_cc_code *c;
	u64 sum = 0, more;
	bool full = false;
	u32 i;

	for (i = w->first[n]; i < w->first[n + 1]; i++) {
		c = w->code + w->in[i].edge;
		more = d->contexts[w->g->edge[w->in[i].edge].caller];
		full |= more > w->limit - sum;
		c->how = full ? DEP_CC_LEFT_OUT : DEP_CC_ENCODED;
		if (full)
			continue;
		c->add = sum;
		sum += more;
	}
	d->contexts[n] = sum ? sum : 1;
	if (d->contexts[n] - 1 > d->max_id)
		d->max_id = d->contexts[n] - 1;
}

static void encode_nodes(struct work *w)
{
	static const u8 otherwise[] = {
		[DEP_CC_BACK] = DEP_CC_RECURSIVE, [DEP_CC_LEFT] = DEP_CC_NEVER,
	};
	u32 i;

	for (i = 0; i < w->g->nedges; i++) {
		w->code[i].caller = w->g->edge[i].caller;
		if (w->order.class[i] != DEP_CC_FORWARD)
			w->code[i].how = otherwise[w->order.class[i]];
	}
	for (i = 0; i < w->g->nnodes; i++)
		encode_node(w, w->order.node[i]);
}

/* Which calls save the id: callees first. */
static void find_saves(struct work *w)
{
	const struct dep_cc_graph *g = w->g;
	const struct dep_cc_edge *e;
	struct dep_cc_code *c;
	u32 i, k, n;

	for (i = g->nnodes; i-- > 0;) {
		n = w->order.node[i];
		for (k = w->first[n]; k < w->first[n + 1]; k++) {
			c = w->code + w->in[k].edge;
			e = g->edge + w->in[k].edge;
			if (c->how != DEP_CC_ENCODED)
				continue;
			if (e->kind == DEP_CC_TAIL)
				w->tails[e->caller] |= c->add || w->tails[n];
			else
				c->saves = e->kind == DEP_CC_INDIRECT || w->tails[n] ||
					   g->at[e->site_number].targets > 1;
		}
	}
}

static int fill_dictionary(struct work *w)
{
	struct dep_cc_dictionary *d = w->d;
	const struct dep_cc_edge *e;
	const struct dep_cc_code *c;
	u32 i, n, at = 0;

	d->in = calloc(w->first[w->g->nnodes] + 1ull, sizeof(*d->in));
	if (!d->in)
		return -ENOMEM;
	for (n = 0; n < w->g->nnodes; n++) {
		d->first[n] = at;
		for (i = w->first[n]; i < w->first[n + 1]; i++) {
			c = w->code + w->in[i].edge;
			e = w->g->edge + w->in[i].edge;
			if (c->how == DEP_CC_ENCODED)
				d->in[at++] = (struct dep_cc_in){
					.add = c->add, .site = e->site, .caller = e->caller,
					.kind = e->kind,
				};
		}
	}
	d->first[n] = at;
	return 0;
}

static void count(struct work *w)
{
	struct dep_cc_made *m = &w->d->made;
	u32 i;

	for (i = 0; i < w->g->nnodes; i++)
		m->nodes += !w->g->node[i].gone;
	for (i = 0; i < w->g->nedges; i++) {
		m->edges += w->code[i].how != DEP_CC_NEVER;
		m->encoded += w->code[i].how == DEP_CC_ENCODED;
		m->zero += w->code[i].how == DEP_CC_ENCODED && !w->code[i].add;
		m->back += w->code[i].how == DEP_CC_RECURSIVE;
		m->left_out += w->code[i].how == DEP_CC_LEFT_OUT;
	}
}

static int add_to_history(struct dep_cc_history *h, struct dep_cc_dictionary *d)
{
	if (dep_cc_room_for(&h->at, h->n, &h->room, sizeof(*h->at)))
		return -ENOMEM;
	d->stamp = h->n;
	h->at[h->n++] = d;
	return 0;
}

int dep_cc_encode(struct dep_cc_encoding *e, struct dep_cc_history *h, struct dep_cc_graph *g,
		  u64 limit)
{
	struct work w = { .g = g, .limit = limit };
	int err;
	u32 i;

	if (!limit || limit > DEP_CC_CONTEXTS_MAX || h->n > UINT32_MAX / 4)
		return -EINVAL;
	err = dep_cc_order_make(&w.order, g, false);
	if (err)
		return err;
	err = allocate(&w);
	if (!err) {
		sort_edges(&w);
		encode_nodes(&w);
		find_saves(&w);
		err = fill_dictionary(&w);
	}
	if (!err) {
		count(&w);
		err = add_to_history(h, w.d);
	}
	if (!err) {
		for (i = 0; i < g->nedges; i++)
			g->edge[i].heat /= 2;
		free(e->code);
		*e = (struct dep_cc_encoding){
			.code = w.code, .nedges = g->nedges, .dictionary = w.d,
		};
	} else {
		dep_cc_dictionary_free(w.d);
		free(w.code);
	}
	free(w.in);
	free(w.first);
	free(w.tails);
	dep_cc_order_free(&w.order);
	return err;
}

void dep_cc_encoding_free(struct dep_cc_encoding *e)
{
	free(e->code);
	*e = (struct dep_cc_encoding){ 0 };
}
