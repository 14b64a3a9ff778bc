// SPDX-License-Identifier: LGPL-2.1-or-later
/* The result: rows from the counters, and the blocks of a row. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "pass.h"

/* The path of a row that is whole or partial. */
static int regenerate(const struct dep_path_fn *f, const struct dep_path_row *r,
		      struct dep_path *path, u32 *edge, u32 room)
{
	if (r->kind == DEP_PATH_ROW_PARTIAL)
		return dep_path_regenerate_partial(&f->paths, r->number, r->block, path, edge,
						   room);
	return dep_path_regenerate(&f->paths, r->number, path, edge, room);
}

static void set_function(struct dep_path_row *r, const struct dep_path_pass *p, u32 function)
{
	const struct dep_path_fn *f = dep_path_fn_at(p, function);

	r->pc = f->pc;
	r->process = f->process;
	r->image = f->image;
	r->function = function;
}

static int set_path(struct dep_path_row *r, const struct dep_path_pass *p,
		    const struct dep_path_counter *c)
{
	const struct dep_path_fn *f = dep_path_fn_at(p, c->function);
	u64 before[DEP_PATH_ITERATIONS];
	struct dep_path path;

	set_function(r, p, c->function);
	r->number = c->number;
	r->count = c->count;
	r->kind = c->block == DEP_PATH_NO ? DEP_PATH_ROW_WHOLE : DEP_PATH_ROW_PARTIAL;
	r->block = c->block == DEP_PATH_NO ? 0 : c->block;
	r->window = c->before;
	r->before = dep_path_window(p, c->before, before);
	if (regenerate(f, r, &path, NULL, 0))
		return dep_fail(-EINVAL, "path %llu of the function at %#llx",
				(unsigned long long)c->number, (unsigned long long)f->pc);
	r->insns = path.insns;
	r->blocks = path.edges + 1;
	if (r->kind == DEP_PATH_ROW_WHOLE && path.next != DEP_PATH_EXIT)
		r->next = f->block[path.next].pc;
	return 0;
}

static void set_loop(struct dep_path_row *r, const struct dep_path_pass *p,
		     const struct dep_path_transition *t)
{
	const struct dep_path_node *to = dep_path_node_at(p, t->to);

	set_function(r, p, to->function);
	r->block = *DEP_PATH_ROW(u32, p->chain, to->chain);
	r->kind = DEP_PATH_ROW_LOOP;
	r->count = t->count;
	r->insns = dep_path_fn_at(p, to->function)->block[r->block].insns;
	r->next = dep_path_fn_at(p, to->function)->block[r->block].pc;
	r->blocks = 1;
}

/* Shorter windows come first. */
static int compare_windows(const struct dep_path_pass *p, u32 a, u32 b)
{
	u64 x[DEP_PATH_ITERATIONS], y[DEP_PATH_ITERATIONS];
	u32 i, n, m;

	if (a == b)
		return 0;
	n = dep_path_window(p, a, x);
	m = dep_path_window(p, b, y);
	for (i = 0; i < n && i < m; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return n < m ? -1 : n > m;
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct dep_path_row *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return compare_windows(arg, a->window, b->window);
}

/* Several transitions can go over the same edge from a block to itself. */
static size_t unite(struct dep_path_pass *p, struct dep_path_row *row, size_t n)
{
	size_t i, to = 0;

	qsort_r(row, n, sizeof(*row), compare_rows, p);
	for (i = 0; i < n; i++) {
		if (to && !compare_rows(row + to - 1, row + i, p))
			row[to - 1].count += row[i].count;
		else
			row[to++] = row[i];
	}
	return to;
}

static struct dep_path_function *functions(const struct dep_path_pass *p)
{
	struct dep_path_function *all = calloc(p->function.n + 1, sizeof(*all));
	const struct dep_path_fn *f;
	u32 i;

	for (i = 0; all && i < p->function.n; i++) {
		f = dep_path_fn_at(p, i);
		all[i] = (struct dep_path_function){
			.pc = f->pc, .process = f->process, .image = f->image,
		};
		if (!f->numbered)
			continue;
		all[i].blocks = f->graph.vertices;
		all[i].edges = f->graph.edges;
		all[i].truncated = f->paths.truncated;
		all[i].potential = f->paths.potential > UINT64_MAX ? UINT64_MAX :
				   (u64)f->paths.potential;
	}
	return all;
}

/* Number of transitions over an edge from a block to itself. */
static size_t loops(const struct dep_path_pass *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->transition.n; i++)
		n += dep_path_transition_at(p, (u32)i)->loop;
	return n;
}

static bool is_same_path(const struct dep_path_row *a, const struct dep_path_row *b)
{
	return a->function == b->function && a->kind == b->kind && a->number == b->number;
}

/* Memory for the rows was counted with the counters, and with the graphs. */
int dep_path_rows(struct dep_path_pass *p, struct dep_path_profile *out)
{
	struct dep_path_function *all = functions(p);
	struct dep_path_row *row = calloc(p->counter.n + loops(p) + 1, sizeof(*row));
	const struct dep_path_transition *t;
	size_t i, n = 0;
	int err = 0;

	out->function = all;
	out->nfunctions = p->function.n;
	out->row = row;
	if (!all || !row)
		return dep_fail(-ENOMEM, "paths");
	for (i = 0; i < p->counter.n && !err; i++)
		err = set_path(row + n++, p, DEP_PATH_ROW(struct dep_path_counter, p->counter, i));
	for (i = 0; i < p->transition.n && !err; i++) {
		t = dep_path_transition_at(p, (u32)i);
		if (t->loop && t->count)
			set_loop(row + n++, p, t);
	}
	if (err)
		return err;
	out->nrows = unite(p, row, n);
	for (i = 0; i < out->nrows; i++) {
		out->insns += row[i].count * row[i].insns;
		if (row[i].kind == DEP_PATH_ROW_WHOLE && !(i && is_same_path(row + i - 1, row + i)))
			all[row[i].function].paths++;
	}
	out->not_counted += p->not_counted;
	return 0;
}

static size_t put_blocks(const struct dep_path_fn *f, const struct dep_path *path,
			 const u32 *edge, struct dep_path_code *out, size_t room)
{
	size_t i;

	out[0] = f->block[path->first];
	for (i = 0; i < path->edges && i + 1 < room; i++)
		out[i + 1] = f->block[f->graph.edge[edge[i]].to];
	return path->edges + 1ull;
}

/* The first @room blocks, at least one, of a path that @r describes; not of a loop. */
static size_t path_blocks(const struct dep_path_fn *f, const struct dep_path_row *r,
			  struct dep_path_code *out, size_t room)
{
	const u32 n = room < r->blocks ? (u32)room : r->blocks;
	struct dep_path path;
	size_t blocks = 0;
	u32 *edge = NULL;

	if (n > 1) {
		edge = calloc(n, sizeof(*edge));
		if (!edge)
			return 0;
	}
	if (!regenerate(f, r, &path, edge, edge ? n : 0))
		blocks = put_blocks(f, &path, edge, out, room);
	free(edge);
	return blocks;
}

size_t dep_path_profile_blocks(const struct dep_path_profile *p, size_t row,
			       struct dep_path_code *out, size_t room)
{
	const struct dep_path_row *r = p->row + row;
	const struct dep_path_fn *f = dep_path_fn_at(p->own, r->function);

	if (!room)
		return r->blocks;
	if (r->kind != DEP_PATH_ROW_LOOP)
		return path_blocks(f, r, out, room);
	out[0] = f->block[r->block];
	return 1;
}

size_t dep_path_profile_before(const struct dep_path_profile *p, size_t row, uint64_t *number,
			       size_t room)
{
	u64 last[DEP_PATH_ITERATIONS];
	u32 n = dep_path_window(p->own, p->row[row].window, last), i;

	for (i = 0; i < n && i < room; i++)
		number[i] = last[n - 1 - i];
	return n;
}

size_t dep_path_profile_path(const struct dep_path_profile *p, uint32_t function, uint64_t number,
			     struct dep_path_code *out, size_t room)
{
	struct dep_path_row r = { .number = number, .kind = DEP_PATH_ROW_WHOLE };
	const struct dep_path_fn *f = dep_path_fn_at(p->own, function);
	struct dep_path path;

	if (!f->numbered || regenerate(f, &r, &path, NULL, 0))
		return 0;
	r.blocks = path.edges + 1;
	return room ? path_blocks(f, &r, out, room) : r.blocks;
}
