// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Potential paths of a function: through the code that several recordings executed, and through
 * that of its file.
 *
 * Code is kept as runs, from where control can come to up to a branch, and as jumps between them.
 * Blocks of executed paths are put together to runs first, since each recording divides them in its
 * own way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dep/path_profile.h"
#include "libdep/abi/types.h"
#include "libdep/format/file/error.h"
#include "libdep/paths/malloc.h"
#include "libdep/paths/number.h"
#include "libdep/x86/decode.h"
#include "row_map.h"

#define RUNS_MAX	(1u << 20)
#define NOWHERE		UINT64_MAX	/* as the target of a jump: the function ends */

/** struct run - code up to a branch; @vertex: of its last block */
struct run {
	u64 pc, last;
	u8 *bytes;
	u32 size, vertex;
	u8 branch;		/* enum dep_branch */
};

/** struct jump - @from: address of the branch */
struct jump {
	u64 from, to;
	u8 kind;		/* enum dep_path_kind */
};

/** struct range - code of the file */
struct range {
	u64 pc;
	u8 *bytes;
	size_t size;
};

struct dep_path_flow {
	u64 entry;
	struct run *run;
	struct jump *jump;
	struct range *range;
	u64 *start;		/* where paths begin */
	size_t nruns, runs_room, njumps, jumps_room, nranges, ranges_room, nstarts, starts_room;
	struct dep_row_map run_map, jump_map, start_map;
	bool more;		/* an indirect jump can lead where it never did */
};

static int no_memory(void)
{
	return dep_fail(-ENOMEM, "paths");
}

static int grow(void *rowp, size_t n, size_t *room, size_t bytes)
{
	void **row = rowp, *more;
	size_t want = *room ? 2 * *room : 16;

	if (n < *room)
		return 0;
	if (want > 4ul * RUNS_MAX)
		return dep_fail(-E2BIG, "paths: a function has too many blocks");
	more = reallocarray(*row, want, bytes);
	if (!more)
		return no_memory();
	*row = more;
	*room = want;
	return 0;
}

/* ---- what the code is ---- */

/* Take over @r->bytes. */
static int add_run(struct dep_path_flow *f, const struct run *r)
{
	const struct dep_row_key key = { .a = r->pc, .b = r->size };
	int err;

	if (dep_row_find(&f->run_map, &key) >= 0) {
		free(r->bytes);
		return 0;
	}
	err = grow(&f->run, f->nruns, &f->runs_room, sizeof(*f->run));
	if (!err && dep_row_set(&f->run_map, &key, (u32)f->nruns))
		err = no_memory();
	if (err)
		free(r->bytes);
	else
		f->run[f->nruns++] = *r;
	return err;
}

static int add_jump(struct dep_path_flow *f, u64 from, u64 to, u8 kind)
{
	/* Within 4 GiB, the lower half of an address is enough. */
	const struct dep_row_key key = {
		.a = from, .b = (u32)to, .c = kind | (u32)(to == NOWHERE) << 8,
	};
	int err;

	if (dep_row_find(&f->jump_map, &key) >= 0)
		return 0;
	err = grow(&f->jump, f->njumps, &f->jumps_room, sizeof(*f->jump));
	if (!err && dep_row_set(&f->jump_map, &key, (u32)f->njumps))
		err = no_memory();
	if (!err)
		f->jump[f->njumps++] = (struct jump){ from, to, kind };
	return err;
}

static int add_start(struct dep_path_flow *f, u64 pc)
{
	const struct dep_row_key key = { .a = pc };
	int err;

	if (dep_row_find(&f->start_map, &key) >= 0)
		return 0;
	err = grow(&f->start, f->nstarts, &f->starts_room, sizeof(*f->start));
	if (!err && dep_row_set(&f->start_map, &key, 0))
		err = no_memory();
	if (!err)
		f->start[f->nstarts++] = pc;
	return err;
}

int dep_path_flow_new(uint64_t entry, struct dep_path_flow **out)
{
	struct dep_path_flow *f = calloc(1, sizeof(*f));

	if (!f)
		return no_memory();
	f->entry = entry;
	*out = f;
	return 0;
}

void dep_path_flow_free(struct dep_path_flow *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->nruns; i++)
		free(f->run[i].bytes);
	for (i = 0; i < f->nranges; i++)
		free(f->range[i].bytes);
	free(f->run);
	free(f->jump);
	free(f->range);
	free(f->start);
	dep_row_free(&f->run_map);
	dep_row_free(&f->jump_map);
	dep_row_free(&f->start_map);
	free(f);
}

/* ---- executed paths ---- */

static u8 kind_of(u8 branch, u64 next, u64 to)
{
	if (to == NOWHERE)
		return branch == DEP_BRANCH_RETURN ? DEP_PATH_RETURN : DEP_PATH_TAIL_CALL;
	if (branch == DEP_BRANCH_JUMP_INDIRECT || branch == DEP_BRANCH_RETURN)
		return DEP_PATH_INDIRECT;
	return branch == DEP_BRANCH_COND && to != next ? DEP_PATH_TAKEN : DEP_PATH_FALL_THROUGH;
}

/* Number of blocks from @b on that are one run. */
static size_t run_length(const struct dep_path_code *b, size_t n)
{
	size_t i = 1;

	while (i < n && b[i - 1].branch == DEP_BRANCH_NONE &&
	       b[i].pc == b[i - 1].pc + b[i - 1].size)
		i++;
	return i;
}

static int add_blocks(struct dep_path_flow *f, const struct dep_path_code *b, size_t n, u64 base)
{
	struct run r = {
		.pc = b->pc - base, .last = b[n - 1].last - base, .branch = b[n - 1].branch,
	};
	size_t i, at = 0;

	for (i = 0; i < n; i++)
		r.size += b[i].size;
	r.bytes = malloc(r.size + 1ul);
	if (!r.bytes)
		return no_memory();
	for (i = 0; i < n; at += b[i++].size)
		if (b[i].size)
			memcpy(r.bytes + at, b[i].bytes, b[i].size);
	return add_run(f, &r);
}

int dep_path_flow_path(struct dep_path_flow *f, const struct dep_path_row *row,
		       const struct dep_path_code *block, uint64_t base)
{
	const bool ends = row->kind == DEP_PATH_ROW_PARTIAL;
	const struct dep_path_code *last;
	size_t i, n;
	u64 to, next;
	int err = add_start(f, block->pc - base);

	for (i = 0; i < row->blocks && !err; i += n) {
		n = run_length(block + i, row->blocks - i);
		last = block + i + n - 1;
		err = last->size ? add_blocks(f, block + i, n, base) : 0;
		if (err || (ends && i + n == row->blocks))
			continue;
		next = last->pc + last->size - base;
		to = i + n < row->blocks ? block[i + n].pc - base :
		     row->next ? row->next - base : NOWHERE;
		err = add_jump(f, last->last - base, to, kind_of(last->branch, next, to));
	}
	return err;
}

/* ---- the code of the file ---- */

int dep_path_flow_code(struct dep_path_flow *f, uint64_t pc, const void *bytes, size_t size)
{
	struct range r = { .pc = pc, .size = size, .bytes = malloc(size + 1) };
	int err = r.bytes ? grow(&f->range, f->nranges, &f->ranges_room, sizeof(r)) : no_memory();

	if (err) {
		free(r.bytes);
		return err;
	}
	memcpy(r.bytes, bytes, size);
	f->range[f->nranges++] = r;
	return 0;
}

static const struct range *range_at(const struct dep_path_flow *f, u64 pc)
{
	size_t i;

	for (i = 0; i < f->nranges; i++)
		if (pc - f->range[i].pc < f->range[i].size)
			return f->range + i;
	return NULL;
}

/* An edge to @pc, or out of the function. */
static int lead(struct dep_path_flow *f, u64 from, u64 pc, u8 kind)
{
	if (range_at(f, pc))
		return add_jump(f, from, pc, kind);
	return add_jump(f, from, NOWHERE, DEP_PATH_TAIL_CALL);
}

/* A jump through a pointer that is in no table calls another function. */
static int lead_indirect(struct dep_path_flow *f, u64 from, const struct x86_insn *in)
{
	if (in->nmem && in->mem[0].index == X86_NONE)
		return add_jump(f, from, NOWHERE, DEP_PATH_TAIL_CALL);
	f->more = true;
	return 0;
}

/* The edges out of branch @in at @pc, whose run is added. */
static int lead_on(struct dep_path_flow *f, const struct x86_insn *in, u64 pc)
{
	u64 next = pc + in->len;
	int err;

	switch (in->kind) {
	case X86_JCC:
	case X86_LOOP:
		err = lead(f, pc, next, DEP_PATH_FALL_THROUGH);
		return err ? err : lead(f, pc, x86_branch_target(in, pc), DEP_PATH_TAKEN);
	case X86_JMP:
		return lead(f, pc, x86_branch_target(in, pc), DEP_PATH_FALL_THROUGH);
	case X86_JMP_IND:
		return lead_indirect(f, pc, in);
	case X86_RET:
		return add_jump(f, pc, NOWHERE, DEP_PATH_RETURN);
	case X86_CALL:
	case X86_CALL_IND:
	case X86_SYSCALL:
		return lead(f, pc, next, DEP_PATH_FALL_THROUGH);
	default:
		return add_jump(f, pc, NOWHERE, DEP_PATH_UNKNOWN);
	}
}

static u8 branch_of(u8 kind)
{
	static const u8 branch[] = {
		[X86_JCC] = DEP_BRANCH_COND, [X86_LOOP] = DEP_BRANCH_COND,
		[X86_JMP] = DEP_BRANCH_JUMP, [X86_JMP_IND] = DEP_BRANCH_JUMP_INDIRECT,
		[X86_CALL] = DEP_BRANCH_CALL, [X86_CALL_IND] = DEP_BRANCH_CALL_INDIRECT,
		[X86_RET] = DEP_BRANCH_RETURN, [X86_SYSCALL] = DEP_BRANCH_SYSCALL,
	};

	return kind < sizeof(branch) ? branch[kind] : (u8)DEP_BRANCH_NONE;
}

/* Does code never go on behind @in? */
static bool stops(const struct x86_insn *in)
{
	return branch_of(in->kind) != DEP_BRANCH_NONE || in->kind == X86_INVALID ||
	       in->kind == X86_INT || in->kind == X86_FAR;
}

/* Decode the run at @pc of range @r, up to a branch or the end of the range. */
static int decode(struct dep_path_flow *f, const struct range *r, u64 pc)
{
	size_t from = pc - r->pc, at = from;
	struct run run = { .pc = pc, .last = pc };
	struct x86_insn in = { 0 };
	int err;

	do {
		at += in.len;
		if (at >= r->size ||
		    x86_decode(&in, r->bytes + at, (unsigned int)(r->size - at)) <= 0) {
			in = (struct x86_insn){ .kind = X86_INVALID };
			break;
		}
		run.last = r->pc + at;
	} while (!stops(&in));
	run.size = (u32)(at + in.len - from);
	run.branch = branch_of(in.kind);
	if (!run.size)
		run.size = 1;	/* no instruction, but control can come here */
	run.bytes = malloc(run.size);
	if (!run.bytes)
		return no_memory();
	memcpy(run.bytes, r->bytes + from, run.size);
	err = add_run(f, &run);
	return err ? err : lead_on(f, &in, run.last);
}

/* Decode all code that can be reached.  Jumps are added at the end of the list meanwhile. */
static int decode_all(struct dep_path_flow *f)
{
	struct dep_row_map seen = { 0 };
	size_t i, n = f->nstarts + f->nruns;
	const struct range *r;
	int err = 0;
	u64 pc;

	for (i = 0; f->nranges && i < 1 + n + f->njumps && !err; i++) {
		pc = !i ? f->entry : i <= f->nstarts ? f->start[i - 1] :
		     i <= n ? f->run[i - 1 - f->nstarts].pc : f->jump[i - 1 - n].to;
		r = pc == NOWHERE ? NULL : range_at(f, pc);
		if (!r || dep_row_find(&seen, &(struct dep_row_key){ .a = pc }) >= 0)
			continue;
		if (dep_row_set(&seen, &(struct dep_row_key){ .a = pc }, 0))
			err = no_memory();
		else
			err = decode(f, r, pc);
	}
	dep_row_free(&seen);
	return err;
}

/* ---- the graph ---- */

/** struct block - @next: address behind it */
struct block {
	u64 pc, last, next;
	u32 insns;
};

struct edge {
	u32 from, to;
	u64 pc;
	u8 kind;
};

struct graph {
	u64 entry, *leader;
	struct block *block;
	struct edge *edge;
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
		return no_memory();
	for (i = 0; i < f->nruns; i++) {
		g->leader[n++] = f->run[i].pc;
		if (f->run[i].branch == DEP_BRANCH_NONE)
			g->leader[n++] = f->run[i].pc + f->run[i].size;
	}
	for (i = 0; i < f->njumps; i++)
		if (f->jump[i].to != NOWHERE)
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
static u32 next_block(const struct graph *g, const struct run *r, u32 at, struct block *b)
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
			err = grow(&g->block, g->nblocks, &g->blocks_room, sizeof(*g->block));
			if (!err)
				at = next_block(g, f->run + i, at, g->block + g->nblocks++);
		}
	if (!err)
		err = grow(&g->block, g->nblocks, &g->blocks_room, sizeof(*g->block));
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
	int err = grow(&g->edge, g->nedges, &g->edges_room, sizeof(*g->edge));

	if (!err)
		g->edge[g->nedges++] = (struct edge){
			from, to, to == DEP_PATH_EXIT ? 0 : g->block[to].pc, kind,
		};
	return err;
}

/* Edges from a block to all that begin at @pc. */
static int add_edges_to(struct graph *g, u32 from, u64 pc, u8 kind)
{
	int err = 0;
	u32 to;

	if (pc == NOWHERE)
		return add_edge(g, from, DEP_PATH_EXIT, kind);
	for (to = find_block(g, pc, 0); to < g->nblocks && g->block[to].pc == pc && !err; to++)
		err = add_edge(g, from, to, kind);
	return err;
}

/* The edges within a run; its last block is noted. */
static int link_run(struct graph *g, struct run *r)
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

static int by_last(const void *pa, const void *pb)
{
	const struct run *a = pa, *b = pb;

	return a->last < b->last ? -1 : a->last > b->last;
}

static int compare_ends(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int compare_edges(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static int find_edges(struct graph *g, struct dep_path_flow *f)
{
	size_t i, k, n = 0;
	int err = 0;

	for (i = 0; i < f->nruns && !err; i++)
		err = link_run(g, f->run + i);
	if (f->nruns)
		qsort(f->run, f->nruns, sizeof(*f->run), by_last);
	for (i = 0; i < f->njumps && !err; i++) {
		size_t lo = 0, hi = f->nruns;

		while (lo < hi) {
			k = lo + (hi - lo) / 2;
			if (f->run[k].last < f->jump[i].from)
				lo = k + 1;
			else
				hi = k;
		}
		for (k = lo; k < f->nruns && f->run[k].last == f->jump[i].from && !err; k++)
			if (k == lo || f->run[k].vertex != f->run[k - 1].vertex)
				err = add_edges_to(g, f->run[k].vertex, f->jump[i].to,
						   f->jump[i].kind);
	}
	if (err || !g->nedges)
		return err;
	qsort(g->edge, g->nedges, sizeof(*g->edge), compare_ends);
	for (i = 0; i < g->nedges; i++)
		if (!n || g->edge[n - 1].from != g->edge[i].from ||
		    g->edge[n - 1].to != g->edge[i].to)
			g->edge[n++] = g->edge[i];
	g->nedges = n;
	qsort(g->edge, n, sizeof(*g->edge), compare_edges);
	return 0;
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
	err = decode_all(f);
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
