// SPDX-License-Identifier: LGPL-2.1-or-later
/* The executed graph of a function: runs become blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/paths/malloc.h"
#include "edges.h"
#include "pass.h"

#define NUMBERS_MAX	(1u << 16)	/* paths of a function with a counter for each number */
#define NUMBERS_PART	4		/* part of the memory for these */

u32 dep_path_blocks_limit = DEP_PATH_VERTICES;

/** struct builder - the parts of a graph */
struct builder {
	struct dep_path_pass *p;
	struct dep_path_fn *f;
	u64 *leader, *pc;	/* addresses at which blocks begin; instructions of a run */
	struct dep_path_code *block;
	struct dep_path_link *edge;
	size_t nleaders, nblocks, nedges, loops, blocks_room, edges_room, longest;
	u64 charged;		/* bytes of the above, which are freed again */
};

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static size_t run_insns(const struct dep_path_run *r)
{
	return r->to > r->from ? (size_t)(r->to - r->from) : 0;
}

static const struct dep_path_run *run_of(const struct builder *b, u32 node)
{
	return dep_path_run_at(b->p, dep_path_node_at(b->p, node)->run);
}

static int charge(struct builder *b, u64 bytes)
{
	int err = dep_path_charge(b->p, bytes);

	if (!err)
		b->charged += bytes;
	return err;
}

/* A block begins where a run does, and where a thread was interrupted. */
static int find_leaders(struct builder *b)
{
	const struct dep_path_run *r;
	size_t n = 0, i;
	u32 node;
	int err;

	for (node = b->f->first_node; node != DEP_PATH_NO;
	     node = dep_path_node_at(b->p, node)->next) {
		n++;
		if (run_insns(run_of(b, node)) > b->longest)
			b->longest = run_insns(run_of(b, node));
	}
	err = charge(b, (2 * n + 1) * sizeof(*b->leader) + (b->longest + 2) * sizeof(*b->pc));
	if (err)
		return err;
	b->leader = calloc(2 * n + 1, sizeof(*b->leader));
	b->pc = calloc(b->longest + 2, sizeof(*b->pc));
	if (!b->leader || !b->pc)
		return dep_fail(-ENOMEM, "paths");
	for (node = b->f->first_node; node != DEP_PATH_NO;
	     node = dep_path_node_at(b->p, node)->next) {
		r = run_of(b, node);
		b->leader[b->nleaders++] = r->start;
		if (r->branch == DEP_BRANCH_NONE)
			b->leader[b->nleaders++] = r->next;
	}
	qsort(b->leader, b->nleaders, sizeof(*b->leader), compare_u64);
	for (i = 0, n = 0; i < b->nleaders; i++)
		if (!n || b->leader[n - 1] != b->leader[i])
			b->leader[n++] = b->leader[i];
	b->nleaders = n;
	return 0;
}

static bool is_leader(const struct builder *b, u64 pc)
{
	return bsearch(&pc, b->leader, b->nleaders, sizeof(pc), compare_u64);
}

/* The next block of run @r, whose instructions are b->pc; @i: its first one. */
static size_t next_block(const struct builder *b, const struct dep_path_run *r, size_t i, size_t n,
			 struct dep_path_code *out)
{
	size_t end = i + 1;

	while (end < n && !is_leader(b, b->pc[end]))
		end++;
	*out = (struct dep_path_code){
		.pc = b->pc[i], .last = b->pc[end - 1], .insns = (u32)(end - i),
		.bytes = r->bytes + (b->pc[i] - r->start), .size = (u32)(b->pc[end] - b->pc[i]),
		.branch = end == n ? r->branch : DEP_BRANCH_NONE,
	};
	return end;
}

/* Make room for row number @n, within the memory allowed; 0, -ENOMEM or -ENOSPC. */
static int grow(struct builder *b, void *rowp, size_t n, size_t *room, size_t bytes)
{
	void **row = rowp, *more;
	size_t want = *room ? *room + *room / 2 : 64;
	int err;

	if (n < *room)
		return 0;
	err = charge(b, (want - *room) * bytes);
	if (err)
		return err;
	more = realloc(*row, want * bytes);
	if (!more)
		return dep_fail(-ENOMEM, "paths");
	*row = more;
	*room = want;
	return 0;
}

/* Find the instructions of run @r, for next_block(). */
static int find_insns(struct builder *b, const struct dep_path_run *r)
{
	int err = dep_path_insns(b->p, r, b->pc);

	if (!err && b->pc[run_insns(r)] != r->next)
		err = dep_fail(-EBADMSG, "fragment %u is damaged", r->fragment);
	return err;
}

static int add_blocks(struct builder *b, u32 node)
{
	const struct dep_path_run *r = run_of(b, node);
	size_t i = 0, n = run_insns(r);
	int err;

	err = find_insns(b, r);
	while (!err && i < n) {
		err = grow(b, &b->block, b->nblocks, &b->blocks_room, sizeof(*b->block));
		if (!err)
			i = next_block(b, r, i, n, b->block + b->nblocks++);
	}
	return err;
}

static int compare_codes(const void *pa, const void *pb)
{
	const struct dep_path_code *a = pa, *b = pb;

	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	if (a->last != b->last)
		return a->last < b->last ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->size ? memcmp(a->bytes, b->bytes, a->size) : 0;
}

/* The function's entry comes first, then the others by address. */
static int compare_blocks(const void *pa, const void *pb, void *entry)
{
	const struct dep_path_code *a = pa, *b = pb;
	u64 pc = *(const u64 *)entry;

	if ((a->pc == pc) != (b->pc == pc))
		return a->pc == pc ? -1 : 1;
	return compare_codes(a, b);
}

/* All blocks in order, each once.  Without the entry, vertex 0 is an empty block. */
static int find_blocks(struct builder *b)
{
	size_t i, n = 0;
	u32 node;
	int err = grow(b, &b->block, 0, &b->blocks_room, sizeof(*b->block));

	if (err)
		return err;
	b->block[b->nblocks++] = (struct dep_path_code){ .pc = b->f->pc, .last = b->f->pc };
	for (node = b->f->first_node; node != DEP_PATH_NO && !err;
	     node = dep_path_node_at(b->p, node)->next)
		err = add_blocks(b, node);
	if (err)
		return err;
	qsort_r(b->block + 1, b->nblocks - 1, sizeof(*b->block), compare_blocks, &b->f->pc);
	n = b->nblocks > 1 && b->block[1].pc == b->f->pc ? 0 : 1;
	for (i = 1; i < b->nblocks; i++)
		if (!n || compare_codes(b->block + n - 1, b->block + i))
			b->block[n++] = b->block[i];
	b->nblocks = n;
	return 0;
}

static u32 find_block(const struct builder *b, const struct dep_path_code *block)
{
	size_t lo = 0, hi = b->nblocks, mid;
	u64 pc = b->f->pc;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (compare_blocks(b->block + mid, block, &pc) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (u32)lo;
}

/* ---- edges ---- */

static int add_edge(struct builder *b, u32 from, u32 to, u8 kind, u64 weight)
{
	int err = grow(b, &b->edge, b->nedges, &b->edges_room, sizeof(*b->edge));

	if (err)
		return err;
	b->edge[b->nedges++] = (struct dep_path_link){
		.from = from, .to = to, .kind = kind, .weight = weight,
		.pc = to == DEP_PATH_EXIT ? 0 : b->block[to].pc,
	};
	return 0;
}

/* The blocks of a node, and the edges between them. */
static int add_chain(struct builder *b, u32 node)
{
	struct dep_path_node *nd = dep_path_node_at(b->p, node);
	const struct dep_path_run *r = run_of(b, node);
	size_t i = 0, n = run_insns(r);
	struct dep_path_code block;
	u32 at, before = DEP_PATH_NO;
	s64 place;
	int err;

	nd->chain = (u32)b->p->chain.n;
	err = find_insns(b, r);
	while (!err && i < n) {
		i = next_block(b, r, i, n, &block);
		at = find_block(b, &block);
		place = dep_path_add(b->p, &b->p->chain, sizeof(u32));
		if (place < 0)
			return (int)place;
		*DEP_PATH_ROW(u32, b->p->chain, place) = at;
		nd->blocks++;
		if (before != DEP_PATH_NO)
			err = add_edge(b, before, at, DEP_PATH_FALL_THROUGH, 0);
		before = at;
	}
	if (!err && nd->exits)
		err = add_edge(b, before, DEP_PATH_EXIT, r->branch == DEP_BRANCH_RETURN ?
			       DEP_PATH_RETURN : DEP_PATH_TAIL_CALL, 0);
	return err;
}

static u32 first_block(const struct dep_path_pass *p, u32 node)
{
	return *DEP_PATH_ROW(u32, p->chain, dep_path_node_at(p, node)->chain);
}

static u32 last_block(const struct dep_path_pass *p, u32 node)
{
	const struct dep_path_node *n = dep_path_node_at(p, node);

	return *DEP_PATH_ROW(u32, p->chain, n->chain + n->blocks - 1);
}

static int add_transition(struct builder *b, struct dep_path_transition *t)
{
	const struct dep_path_run *r = run_of(b, t->from);
	u64 pc = run_of(b, t->to)->start;
	u32 from = last_block(b->p, t->from), to = first_block(b->p, t->to);
	u8 kind = DEP_PATH_FALL_THROUGH;

	if (r->branch == DEP_BRANCH_COND && pc != r->next)
		kind = DEP_PATH_TAKEN;
	else if (r->branch == DEP_BRANCH_JUMP_INDIRECT || r->branch == DEP_BRANCH_RETURN)
		kind = DEP_PATH_INDIRECT;
	t->loop = from == to;
	b->loops += t->loop;
	return add_edge(b, from, to, kind, t->count);
}

static int find_edges(struct builder *b)
{
	int err = 0;
	u32 i;

	for (i = b->f->first_node; i != DEP_PATH_NO && !err; i = dep_path_node_at(b->p, i)->next)
		err = add_chain(b, i);
	for (i = b->f->first_transition; i != DEP_PATH_NO && !err;
	     i = dep_path_transition_at(b->p, i)->next)
		err = add_transition(b, dep_path_transition_at(b->p, i));
	if (!err)
		b->nedges = dep_path_links_unite(b->edge, b->nedges);
	return err;
}

/* ---- the graph ---- */

/* The blocks where paths begin, in the order of their numbers. */
static int add_starts(struct builder *b)
{
	u8 *starts = calloc(b->nblocks, 1);
	int err = 0;
	u32 i;

	if (!starts)
		return -ENOMEM;
	for (i = b->f->first_node; i != DEP_PATH_NO; i = dep_path_node_at(b->p, i)->next)
		if (dep_path_node_at(b->p, i)->begins)
			starts[first_block(b->p, i)] = 1;
	for (i = 1; i < b->nblocks && !err; i++)
		if (starts[i])
			err = dep_path_graph_start(&b->f->graph, i, 1);
	free(starts);
	return err;
}

/* Blocks of the same addresses stand together. */
static void number_versions(struct builder *b)
{
	struct dep_path_code *code = b->block;
	size_t i;

	for (i = 1; i < b->nblocks; i++)
		if (code[i - 1].pc == code[i].pc && code[i - 1].last == code[i].last)
			code[i].version = code[i - 1].version + 1;
}

/* The blocks remain, without the room for those that were united. */
static void give_blocks(struct builder *b)
{
	void *less = realloc(b->block, b->nblocks * sizeof(*b->block));

	if (less)
		b->block = less;
	b->f->block = b->block;
	b->block = NULL;
}

static int fill(struct builder *b)
{
	const struct dep_path_options options = { .limit = DEP_PATH_LIMIT };
	struct dep_path_graph *g = &b->f->graph;
	int err = b->nblocks > dep_path_blocks_limit ? -E2BIG : 0;
	size_t i;

	for (i = 0; i < b->nblocks && err >= 0; i++)
		err = dep_path_graph_vertex(g, b->block[i].insns);
	for (i = 0; i < b->nedges && err >= 0; i++)
		err = dep_path_graph_edge(g, b->edge[i].from, b->edge[i].to, b->edge[i].kind,
					  b->edge[i].weight);
	if (err >= 0)
		err = add_starts(b);
	if (err >= 0)
		err = dep_path_graph_finish(g);
	if (err >= 0)
		err = dep_paths_number(&b->f->paths, g, &options);
	b->f->numbered = err >= 0;
	return err < 0 ? err : 0;
}

static void builder_free(struct builder *b)
{
	b->p->used -= b->charged;
	free(b->leader);
	free(b->pc);
	free(b->block);
	free(b->edge);
}

/* Bytes that the graph of a function takes, about, and the rows of its loops. */
static u64 graph_bytes(const struct builder *b)
{
	return b->nblocks * 128ull + b->nedges * 96ull + b->loops * sizeof(struct dep_path_row);
}

/* The second pass counts anew, also where no paths are numbered. */
static void forget_counts(const struct builder *b)
{
	u32 i;

	for (i = b->f->first_transition; i != DEP_PATH_NO;
	     i = dep_path_transition_at(b->p, i)->next)
		dep_path_transition_at(b->p, i)->count = 0;
}

static int make_graph(struct dep_path_pass *p, u32 i)
{
	struct builder b = { .p = p, .f = dep_path_fn_at(p, i) };
	int err;

	dep_path_graph_init(&b.f->graph, &dep_path_heap);
	err = find_leaders(&b);
	if (!err)
		err = find_blocks(&b);
	if (!err)
		err = find_edges(&b);
	if (!err)
		err = dep_path_charge(p, graph_bytes(&b));
	if (err)
		goto out;
	err = fill(&b);
	forget_counts(&b);
	if (err == -E2BIG)
		err = 0;	/* its paths are not counted */
	else if (err)
		err = dep_fail(err, "paths of the function at %#llx", (unsigned long long)b.f->pc);
	number_versions(&b);
	give_blocks(&b);
	if (!err && b.f->numbered)
		err = dep_path_effects(p, i);
out:
	builder_free(&b);
	return err;
}

/* Functions with few paths count them by number; @budget: bytes that are left for that. */
static int add_counters(struct dep_path_pass *p, struct dep_path_fn *f, u64 *budget)
{
	u64 bytes = f->paths.total * sizeof(*f->count);
	int err;

	/* Of a sequence, each number has several counters. */
	if (!f->numbered || f->paths.total > NUMBERS_MAX || bytes > *budget || p->iterations > 1)
		return 0;
	err = dep_path_charge(p, bytes);
	if (err)
		return err;
	f->count = calloc(f->paths.total, sizeof(*f->count));
	if (!f->count)
		return dep_fail(-ENOMEM, "paths");
	*budget -= bytes;
	return 0;
}

int dep_path_graphs(struct dep_path_pass *p)
{
	u64 budget;
	int err = 0;
	u32 i;

	for (i = 0; i < p->function.n && !err; i++)
		err = make_graph(p, i);
	budget = (p->limit - p->used) / NUMBERS_PART;
	for (i = 0; i < p->function.n && !err; i++)
		err = add_counters(p, dep_path_fn_at(p, i), &budget);
	for (i = 1; i < p->stretch.n && !err; i++)
		err = dep_path_stretch_effect(p, i);
	return err;
}
