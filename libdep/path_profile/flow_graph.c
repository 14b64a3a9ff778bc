// SPDX-License-Identifier: LGPL-2.1-or-later
/* The graph of all code of a function, and the number of its paths. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/paths/malloc.h"
#include "libdep/paths/number.h"
#include "libdep/x86/decode.h"
#include "edges.h"
#include "flow.h"

/** struct block - @next: address behind it */
struct block {
	u64 pc, last, next;
	u32 insns;
};

struct graph {
	u64 entry, *leader;
	struct block *block;
	struct dep_path_link *edge;
	size_t nleaders, nblocks, blocks_room, nedges, edges_room;
};

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int find_leaders(struct graph *g, const struct dep_path_flow *f)
{
	size_t i, n = 0;

	g->leader = calloc(2 * f->nruns + f->njumps + f->nstarts + 1, sizeof(*g->leader));
	if (!g->leader)
		return dep_flow_no_memory();
	for (i = 0; i < f->nruns; i++) {
		g->leader[n++] = f->run[i].pc;
		if (f->run[i].branch == DEP_BRANCH_NONE)
			g->leader[n++] = f->run[i].pc + f->run[i].size;
	}
	for (i = 0; i < f->njumps; i++)
		if (f->jump[i].to != DEP_FLOW_NOWHERE)
			g->leader[n++] = f->jump[i].to;
	for (i = 0; i < f->nstarts; i++)
		g->leader[n++] = f->start[i];
	qsort(g->leader, n, sizeof(*g->leader), compare_u64);
	g->nleaders = n;
	return 0;
}

static bool is_leader(const struct graph *g, u64 pc)
{
	return bsearch(&pc, g->leader, g->nleaders, sizeof(pc), compare_u64);
}

/* The block of @r at offset @at; returns where it ends. */
static u32 next_block(const struct graph *g, const struct dep_flow_run *r, u32 at, struct block *b)
{
	struct x86_insn in;
	u32 from = at;

	*b = (struct block){ .pc = r->pc + at };
	do {
		b->last = r->pc + at;
		b->insns++;
		if (x86_decode(&in, r->bytes + at, r->size - at) <= 0)
			at = r->size;	/* it was executed, so this is no code that is known */
		else
			at += in.len;
	} while (at < r->size && !is_leader(g, r->pc + at));
	b->next = r->pc + at;
	return at > from ? at : r->size;
}

static int compare_blocks(const void *pa, const void *pb, void *entry)
{
	const struct block *a = pa, *b = pb;
	u64 pc = *(const u64 *)entry;

	if ((a->pc == pc) != (b->pc == pc))
		return a->pc == pc ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return a->last < b->last ? -1 : a->last > b->last;
}

static int find_blocks(struct graph *g, const struct dep_path_flow *f)
{
	int err = 0;
	size_t i, n;
	u32 at;

	for (i = 0; i < f->nruns && !err; i++)
		for (at = 0; at < f->run[i].size && !err;) {
			err = dep_flow_grow(&g->block, g->nblocks, &g->blocks_room,
					    sizeof(*g->block));
			if (!err)
				at = next_block(g, f->run + i, at, g->block + g->nblocks++);
		}
	if (!err)
		err = dep_flow_grow(&g->block, g->nblocks, &g->blocks_room, sizeof(*g->block));
	if (err)
		return err;
	/* Without code at the entry, vertex 0 is an empty block. */
	g->block[g->nblocks++] = (struct block){ .pc = g->entry, .last = g->entry };
	qsort_r(g->block, g->nblocks, sizeof(*g->block), compare_blocks, &g->entry);
	for (i = g->nblocks > 1 && g->block[1].pc == g->entry, n = 0; i < g->nblocks; i++)
		if (!n || compare_blocks(g->block + n - 1, g->block + i, &g->entry))
			g->block[n++] = g->block[i];
	g->nblocks = n;
	return 0;
}

/* The first block that is not in front of @pc, @last. */
static u32 find_block(const struct graph *g, u64 pc, u64 last)
{
	const struct block key = { .pc = pc, .last = last };
	size_t lo = 0, hi = g->nblocks, mid;
	u64 entry = g->entry;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (compare_blocks(g->block + mid, &key, &entry) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (u32)lo;
}

static int add_edge(struct graph *g, u32 from, u32 to, u8 kind)
{
	int err = dep_flow_grow(&g->edge, g->nedges, &g->edges_room, sizeof(*g->edge));

	if (!err)
		g->edge[g->nedges++] = (struct dep_path_link){
			.from = from, .to = to, .kind = kind,
			.pc = to == DEP_PATH_EXIT ? 0 : g->block[to].pc,
		};
	return err;
}

/* Edges from a block to all that begin at @pc. */
static int add_edges_to(struct graph *g, u32 from, u64 pc, u8 kind)
{
	int err = 0;
	u32 to;

	if (pc == DEP_FLOW_NOWHERE)
		return add_edge(g, from, DEP_PATH_EXIT, kind);
	for (to = find_block(g, pc, 0); to < g->nblocks && g->block[to].pc == pc && !err; to++)
		err = add_edge(g, from, to, kind);
	return err;
}

/* The edges within a run; its last block is noted. */
static int link_run(struct graph *g, struct dep_flow_run *r)
{
	struct block b;
	int err = 0;
	u32 at = 0;

	while (at < r->size && !err) {
		at = next_block(g, r, at, &b);
		r->vertex = find_block(g, b.pc, b.last);
		if (at < r->size)
			err = add_edges_to(g, r->vertex, b.next, DEP_PATH_FALL_THROUGH);
	}
	return err;
}

/** struct end - where runs end; @vertex: of their last block */
struct end {
	u64 last;
	u32 vertex;
};

static int compare_ends(const void *pa, const void *pb)
{
	const struct end *a = pa, *b = pb;

	if (a->last != b->last)
		return a->last < b->last ? -1 : 1;
	return a->vertex < b->vertex ? -1 : a->vertex > b->vertex;
}

/* The different ends of runs in order; their number. */
static size_t find_ends(const struct dep_path_flow *f, struct end *end)
{
	size_t i, n = 0;

	for (i = 0; i < f->nruns; i++)
		end[i] = (struct end){ f->run[i].last, f->run[i].vertex };
	qsort(end, f->nruns, sizeof(*end), compare_ends);
	for (i = 0; i < f->nruns; i++)
		if (!n || compare_ends(end + n - 1, end + i))
			end[n++] = end[i];
	return n;
}

/* The edges of a jump, from each of @n ends that has its address. */
static int add_jump(struct graph *g, const struct dep_flow_jump *jump, const struct end *end,
		    size_t n)
{
	size_t lo = 0, hi = n, k;
	int err = 0;

	while (lo < hi) {
		k = lo + (hi - lo) / 2;
		if (end[k].last < jump->from)
			lo = k + 1;
		else
			hi = k;
	}
	for (k = lo; k < n && end[k].last == jump->from && !err; k++)
		err = add_edges_to(g, end[k].vertex, jump->to, jump->kind);
	return err;
}

static int find_edges(struct graph *g, struct dep_path_flow *f)
{
	struct end *end = calloc(f->nruns + 1, sizeof(*end));
	size_t i, n;
	int err = end ? 0 : dep_flow_no_memory();

	for (i = 0; i < f->nruns && !err; i++)
		err = link_run(g, f->run + i);
	n = err ? 0 : find_ends(f, end);
	for (i = 0; i < f->njumps && !err; i++)
		err = add_jump(g, f->jump + i, end, n);
	if (!err)
		g->nedges = dep_path_links_unite(g->edge, g->nedges);
	free(end);
	return err;
}

static int fill(struct dep_path_graph *to, const struct graph *g, const struct dep_path_flow *f)
{
	int err = 0;
	size_t i;
	u32 v;

	for (i = 0; i < g->nblocks && err >= 0; i++)
		err = dep_path_graph_vertex(to, g->block[i].insns);
	for (i = 0; i < g->nedges && err >= 0; i++)
		err = dep_path_graph_edge(to, g->edge[i].from, g->edge[i].to, g->edge[i].kind, 0);
	for (i = 0; i < f->nstarts && err >= 0; i++) {
		v = find_block(g, f->start[i], 0);
		if (v && v < g->nblocks && g->block[v].pc == f->start[i])
			err = dep_path_graph_start(to, v, 0);
	}
	return err < 0 ? err : dep_path_graph_finish(to);
}

/* Paths from the entry and from a loop's head there are of the same blocks: they count once. */
static u64 count(const struct dep_paths *p)
{
	u128 n = p->potential;

	if (p->entry_arc != DEP_PATH_NONE && p->head[0] != DEP_PATH_NONE &&
	    p->head[0] != p->entry_arc && !p->truncated)
		n -= p->paths[0];
	return n > UINT64_MAX ? UINT64_MAX : (u64)n;
}

int dep_path_flow_potential(struct dep_path_flow *f, uint64_t *paths, bool *more)
{
	const struct dep_path_options options = { .limit = DEP_PATH_LIMIT };
	struct graph g = { .entry = f->entry };
	struct dep_path_graph graph;
	struct dep_paths numbered;
	int err;

	dep_path_graph_init(&graph, &dep_path_heap);
	err = dep_flow_decode(f);
	if (!err)
		err = find_leaders(&g, f);
	if (!err)
		err = find_blocks(&g, f);
	if (!err)
		err = find_edges(&g, f);
	if (!err)
		err = fill(&graph, &g, f);
	if (!err)
		err = dep_paths_number(&numbered, &graph, &options);
	if (!err) {
		*paths = count(&numbered);
		*more = f->more;
		dep_paths_free(&numbered);
	} else if (err != -ENOMEM && err != -E2BIG) {
		err = dep_fail(err, "potential paths");
	}
	dep_path_graph_free(&graph);
	free(g.leader);
	free(g.block);
	free(g.edge);
	return err;
}
