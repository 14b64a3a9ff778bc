// SPDX-License-Identifier: LGPL-2.1-or-later
/* Dynamic call graph: nodes, sites and edges by their identities. */
#include "array.h"
#include "graph.h"

int dep_cc_graph_init(struct dep_cc_graph *g)
{
	*g = (struct dep_cc_graph){ .max = DEP_CC_MAX };
	if (dep_cc_room_for(&g->node, 0, &g->nodes_room, sizeof(*g->node)))
		return -ENOMEM;
	/* The root is in no table: no identity finds it. */
	g->node[g->nnodes++] = (struct dep_cc_node){ .hot = DEP_CC_NONE };
	return 0;
}

void dep_cc_graph_free(struct dep_cc_graph *g)
{
	free(g->node);
	free(g->at);
	free(g->edge);
	free(g->nodes.slot);
	free(g->sites.slot);
	free(g->edges.slot);
	*g = (struct dep_cc_graph){ 0 };
}

/* Make room for one element more, and for its number in @map. */
static bool room_for(struct dep_cc_map *map, void *array, u32 n, size_t *room, size_t size)
{
	return !dep_cc_map_reserve(map) && !dep_cc_room_for(array, n, room, size);
}

u32 dep_cc_graph_node(struct dep_cc_graph *g, u64 key, u32 generation)
{
	u32 hash = dep_cc_hash(key, generation), at = hash, n;

	while ((n = dep_cc_map_next(&g->nodes, hash, &at)) != DEP_CC_NONE)
		if (g->node[n].key == key && g->node[n].generation == generation)
			return n;
	if (g->nnodes >= g->max ||
	    !room_for(&g->nodes, &g->node, g->nnodes, &g->nodes_room, sizeof(*g->node)))
		return DEP_CC_NONE;
	n = g->nnodes++;
	g->node[n] = (struct dep_cc_node){
		.key = key, .generation = generation, .hot = DEP_CC_NONE,
	};
	dep_cc_map_add(&g->nodes, hash, n);
	return n;
}

static u32 site_number(struct dep_cc_graph *g, u32 caller, u64 key)
{
	u32 hash = dep_cc_hash(key, caller), at = hash, n;

	while ((n = dep_cc_map_next(&g->sites, hash, &at)) != DEP_CC_NONE)
		if (g->at[n].key == key && g->at[n].caller == caller)
			return n;
	if (!room_for(&g->sites, &g->at, g->nsites, &g->sites_room, sizeof(*g->at)))
		return DEP_CC_NONE;
	n = g->nsites++;
	g->at[n] = (struct dep_cc_site){ .key = key, .caller = caller };
	dep_cc_map_add(&g->sites, hash, n);
	return n;
}

static u32 edge_hash(u32 caller, u64 site, u32 callee, enum dep_cc_kind kind)
{
	return dep_cc_hash(site + ((u64)kind << 61), (u64)caller << 32 | callee);
}

static u32 find(const struct dep_cc_graph *g, u32 hash, u32 caller, u64 site, u32 callee,
		enum dep_cc_kind kind)
{
	const struct dep_cc_edge *e;
	u32 at = hash, n;

	while ((n = dep_cc_map_next(&g->edges, hash, &at)) != DEP_CC_NONE) {
		e = g->edge + n;
		if (e->site == site && e->caller == caller && e->callee == callee &&
		    e->kind == kind)
			return n;
	}
	return DEP_CC_NONE;
}

u32 dep_cc_graph_find(const struct dep_cc_graph *g, u32 caller, u64 site, u32 callee,
		      enum dep_cc_kind kind)
{
	return find(g, edge_hash(caller, site, callee, kind), caller, site, callee, kind);
}

u32 dep_cc_graph_edge(struct dep_cc_graph *g, u32 caller, u64 site, u32 callee,
		      enum dep_cc_kind kind)
{
	u32 hash = edge_hash(caller, site, callee, kind), n, number;

	n = find(g, hash, caller, site, callee, kind);
	if (n != DEP_CC_NONE)
		return n;
	if (caller >= g->nnodes || callee >= g->nnodes || callee == DEP_CC_ROOT ||
	    kind >= DEP_CC_KINDS || g->nedges >= g->max)
		return DEP_CC_NONE;
	/* Only the root starts threads: nothing else makes it the caller of encoded edges. */
	if ((caller == DEP_CC_ROOT) != (kind == DEP_CC_START || kind == DEP_CC_HANDLER))
		return DEP_CC_NONE;
	number = site_number(g, caller, site);
	if (number == DEP_CC_NONE ||
	    !room_for(&g->edges, &g->edge, g->nedges, &g->edges_room, sizeof(*g->edge)))
		return DEP_CC_NONE;
	n = g->nedges++;
	g->edge[n] = (struct dep_cc_edge){
		.site = site, .caller = caller, .callee = callee, .site_number = number,
		.kind = kind,
	};
	g->at[number].targets++;
	dep_cc_map_add(&g->edges, hash, n);
	return n;
}

void dep_cc_graph_sample(struct dep_cc_graph *g, u32 edge)
{
	struct dep_cc_edge *e = g->edge + edge;
	struct dep_cc_node *n = g->node + e->callee;

	e->heat++;
	if (n->hot == DEP_CC_NONE || e->heat > g->edge[n->hot].heat)
		n->hot = edge;
}

void dep_cc_graph_retire(struct dep_cc_graph *g, u32 node)
{
	if (node != DEP_CC_ROOT && node < g->nnodes)
		g->node[node].gone = true;
}
