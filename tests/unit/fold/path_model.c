// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dep/fold.h"
#include "path_model.h"

#define BLOCKS	64
#define TEXT	2048
#define EXIT	BLOCKS		/* as a target */

static void *grown(void *row, size_t n, size_t *room, size_t bytes)
{
	if (n < *room)
		return row;
	*room = *room ? 2 * *room : 16;
	row = realloc(row, *room * bytes);
	assert_non_null(row);
	return row;
}

size_t model_begin(struct model *m, u64 function)
{
	m->trace = grown(m->trace, m->n, &m->room, sizeof(*m->trace));
	m->trace[m->n] = (struct model_trace){ .function = function };
	return m->n++;
}

void model_add(struct model *m, size_t trace, const struct model_run *run)
{
	struct model_trace *t = m->trace + trace;

	t->run = grown(t->run, t->n, &t->room, sizeof(*t->run));
	t->run[t->n++] = run;
}

void model_free(struct model *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		free(m->trace[i].run);
	free(m->trace);
}

/* ---- rows as text ---- */

/* A path with its function and kind, as text. */
struct row {
	char text[TEXT];
	u64 count;
};

struct rows {
	struct row *row;
	size_t n, room;
};

static void add_row(struct rows *r, const char *text, u64 count)
{
	size_t i;

	for (i = 0; i < r->n && strcmp(r->row[i].text, text) != 0; i++)
		;
	if (i == r->n) {
		r->row = grown(r->row, r->n, &r->room, sizeof(*r->row));
		r->row[r->n++] = (struct row){ 0 };
		snprintf(r->row[i].text, TEXT, "%s", text);
	}
	r->row[i].count += count;
}

/* @before: blocks of the paths in front of it */
static void put_head(char *text, u64 function, u8 kind, const char *before)
{
	static const char *const kinds[] = { "whole", "partial", "loop" };

	snprintf(text, TEXT, "%lx %s%s", function, kinds[kind], before);
}

static void put_block(char *text, const struct dep_path_code *b)
{
	size_t n = strlen(text);

	snprintf(text + n, TEXT - n, " %lx-%lx.%u", b->pc, b->last, b->version);
}

static void put_next(char *text, u64 next)
{
	size_t n = strlen(text);

	snprintf(text + n, TEXT - n, " > %lx", next);
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->text, ((const struct row *)b)->text);
}

/* ---- the graph of a function ---- */

/* A block; @bytes: up to the block behind it. */
struct block {
	struct dep_path_code code;
	const u8 *bytes;
	u32 nbytes;
};

struct graph {
	u64 function;
	u64 leader[BLOCKS];
	size_t nleaders;
	struct block block[BLOCKS];
	u32 n;
	/* 1 + kind of the edge, as libdep/paths orders them; 0: there is no edge */
	u8 edge[BLOCKS][BLOCKS + 1];
	bool back[BLOCKS][BLOCKS], starts[BLOCKS];
	u32 by_pc[BLOCKS];
	enum { NEW, ON_STACK, DONE } state[BLOCKS];
};

static bool is_leader(const struct graph *g, u64 pc)
{
	size_t i;

	for (i = 0; i < g->nleaders && g->leader[i] != pc; i++)
		;
	return i < g->nleaders;
}

static void add_leader(struct graph *g, u64 pc)
{
	if (is_leader(g, pc))
		return;
	assert_true(g->nleaders < BLOCKS);
	g->leader[g->nleaders++] = pc;
}

/* Instructions have one byte in front of the branch. */
static u64 last_of(const struct model_run *r)
{
	u32 i = 0;

	while (r->branch != DEP_BRANCH_NONE && i < r->nbytes &&
	       (r->bytes[i] == 0x90 || r->bytes[i] == 0xf8))
		i++;
	return r->branch == DEP_BRANCH_NONE ? r->next - 1 : r->pc + i;
}

/* The next block of @r, from @pc on; returns where it ends. */
static u64 next_block(const struct graph *g, const struct model_run *r, u64 pc, struct block *b)
{
	u64 end = pc + 1, last = last_of(r);

	while (end <= last && !is_leader(g, end))
		end++;
	if (end > last)
		end = r->next;
	*b = (struct block){
		.code = { .pc = pc, .last = end == r->next ? last : end - 1 },
		.bytes = r->bytes + (pc - r->pc), .nbytes = (u32)(end - pc),
	};
	return end;
}

static int compare_blocks(const void *pa, const void *pb, void *arg)
{
	const struct block *a = pa, *b = pb;
	const struct graph *g = arg;

	if ((a->code.pc == g->function) != (b->code.pc == g->function))
		return a->code.pc == g->function ? -1 : 1;
	if (a->code.pc != b->code.pc)
		return a->code.pc < b->code.pc ? -1 : 1;
	if (a->code.last != b->code.last)
		return a->code.last < b->code.last ? -1 : 1;
	assert_int_equal(a->nbytes, b->nbytes);
	return memcmp(a->bytes, b->bytes, a->nbytes);
}

static u32 find_block(struct graph *g, const struct block *b)
{
	u32 i;

	for (i = 0; i < g->n && compare_blocks(g->block + i, b, g); i++)
		;
	return i;
}

static void add_blocks(struct graph *g, const struct model_run *r)
{
	struct block b;
	u64 pc = r->pc;

	while (pc < r->next) {
		pc = next_block(g, r, pc, &b);
		if (find_block(g, &b) < g->n)
			continue;
		assert_true(g->n < BLOCKS);
		g->block[g->n++] = b;
	}
}

static void number_versions(struct graph *g)
{
	struct dep_path_code *a, *b;
	u32 i;

	for (i = 1; i < g->n; i++) {
		a = &g->block[i - 1].code;
		b = &g->block[i].code;
		if (a->pc == b->pc && a->last == b->last)
			b->version = a->version + 1;
	}
}

/* Find the blocks of all traces of the function.  Vertex 0 is its entry, even if that is empty. */
static void find_blocks(struct graph *g, const struct model *m)
{
	const struct model_run *r;
	size_t i, k;

	for (i = 0; i < m->n; i++)
		for (k = 0; m->trace[i].function == g->function && k < m->trace[i].n; k++) {
			r = m->trace[i].run[k];
			add_leader(g, r->pc);
			if (r->branch == DEP_BRANCH_NONE)
				add_leader(g, r->next);
		}
	for (i = 0; i < m->n; i++)
		for (k = 0; m->trace[i].function == g->function && k < m->trace[i].n; k++)
			add_blocks(g, m->trace[i].run[k]);
	qsort_r(g->block, g->n, sizeof(*g->block), compare_blocks, g);
	number_versions(g);
	if (g->block[0].code.pc == g->function)
		return;
	memmove(g->block + 1, g->block, g->n++ * sizeof(*g->block));
	g->block[0] = (struct block){ .code = { g->function, g->function, 0, 0 } };
}

static u8 kind_of(const struct model_run *from, u64 to)
{
	if (from->branch == DEP_BRANCH_COND && to != from->next)
		return 1;
	return from->branch == DEP_BRANCH_JUMP_INDIRECT ? 2 : 0;
}

static void add_edge(struct graph *g, u32 from, u32 to, u8 kind)
{
	u8 *e = &g->edge[from][to];

	if (!*e || *e > kind + 1)
		*e = (u8)(kind + 1);
}

/* The blocks of a trace, one by one; @kind: of the edge to each. */
static u32 *blocks_of(struct graph *g, const struct model_trace *t, size_t *n, u8 **kind)
{
	u32 *list = NULL;
	size_t i, room = 0;
	struct block b;
	u64 pc;

	*n = 0;
	*kind = calloc(t->n * BLOCKS + 1, 1);
	assert_non_null(*kind);
	for (i = 0; i < t->n; i++)
		for (pc = t->run[i]->pc; pc < t->run[i]->next;) {
			if (i && pc == t->run[i]->pc)
				(*kind)[*n] = kind_of(t->run[i - 1], pc);
			pc = next_block(g, t->run[i], pc, &b);
			list = grown(list, *n, &room, sizeof(*list));
			list[(*n)++] = find_block(g, &b);
		}
	return list;
}

static void add_edges(struct graph *g, const struct model_trace *t)
{
	size_t n, i;
	u8 *kind;
	u32 *list = blocks_of(g, t, &n, &kind);

	g->starts[list[0]] = true;
	for (i = 1; i < n; i++)
		add_edge(g, list[i - 1], list[i], kind[i]);
	if (t->whole)
		add_edge(g, list[n - 1], EXIT, 3);
	free(list);
	free(kind);
}

/* Depth-first: an edge to a block that is not left yet goes back. */
static void search(struct graph *g, u32 v)
{
	u32 i, to;
	u8 kind;

	if (g->state[v] != NEW)
		return;
	g->state[v] = ON_STACK;
	for (kind = 1; kind < 4; kind++)
		for (i = 0; i < g->n; i++) {
			to = g->by_pc[i];
			if (g->edge[v][to] != kind || to == v)
				continue;
			g->back[v][to] = g->state[to] == ON_STACK;
			search(g, to);
		}
	g->state[v] = DONE;
}

/* The order in which edges are followed; only the entry does not stand where its address is. */
static void sort_by_pc(struct graph *g)
{
	u32 i, k, v;

	for (i = 0; i < g->n; i++) {
		v = i;
		for (k = i; k && g->block[g->by_pc[k - 1]].code.pc > g->block[v].code.pc; k--)
			g->by_pc[k] = g->by_pc[k - 1];
		g->by_pc[k] = v;
	}
}

/* ---- paths ---- */

static bool ends_at(const struct graph *g, const u32 *list, size_t i)
{
	return list[i - 1] != list[i] && g->back[list[i - 1]][list[i]];
}

/* Append the blocks @from to @to of a list, without those that follow themselves. */
static void put_blocks(char *text, const struct graph *g, const u32 *list, size_t from, size_t to)
{
	size_t n, i;

	for (i = from; i < to; i++)
		if (i == from || list[i - 1] != list[i])
			put_block(text, &g->block[list[i]].code);
	n = strlen(text);
	snprintf(text + n, TEXT - n, " |");
}

/* The paths in front of that which begins at @at. */
static void put_before(char *text, const struct graph *g, const u32 *list, size_t at,
		       u32 iterations)
{
	size_t begin[2 * BLOCKS], n = 0, i;

	assert_true(iterations <= BLOCKS);
	for (i = 0; i <= at; i++) {
		if (i && !ends_at(g, list, i))
			continue;
		if (n == iterations)
			memmove(begin, begin + 1, --n * sizeof(*begin));
		begin[n++] = i;
	}
	*text = 0;
	for (i = 0; i + 1 < n; i++)
		put_blocks(text, g, list, begin[i], begin[i + 1]);
}

/* Add the paths of a trace. */
static void add_paths(struct graph *g, const struct model_trace *t, u32 iterations,
		      struct rows *rows)
{
	char text[TEXT] = "", loop[TEXT], before[TEXT];
	size_t n, i, k;
	u8 *kind;
	u32 *list = blocks_of(g, t, &n, &kind);

	for (i = 0; i < n; i++) {
		const struct dep_path_code *code = &g->block[list[i]].code;

		if (i && list[i - 1] == list[i]) {
			put_head(loop, g->function, DEP_PATH_ROW_LOOP, "");
			put_block(loop, code);
			put_next(loop, code->pc);
			add_row(rows, loop, 1);
			continue;
		}
		if (!i || ends_at(g, list, i)) {
			if (i) {
				put_next(text, code->pc);
				add_row(rows, text, 1);
			}
			for (k = i + 1; k < n && !ends_at(g, list, k); k++)
				;
			put_before(before, g, list, i, iterations);
			put_head(text, g->function, k < n || t->whole ? DEP_PATH_ROW_WHOLE :
				 DEP_PATH_ROW_PARTIAL, before);
		}
		put_block(text, code);
	}
	put_next(text, 0);
	add_row(rows, text, 1);
	free(list);
	free(kind);
}

static void count_function(const struct model *m, u64 function, u32 iterations,
			   struct rows *rows)
{
	struct graph *g = calloc(1, sizeof(*g));
	size_t i;

	assert_non_null(g);
	g->function = function;
	find_blocks(g, m);
	for (i = 0; i < m->n; i++)
		if (m->trace[i].function == function)
			add_edges(g, m->trace + i);
	sort_by_pc(g);
	search(g, 0);
	for (i = 1; i < g->n; i++)
		if (g->starts[i])
			search(g, (u32)i);
	for (i = 0; i < m->n; i++)
		if (m->trace[i].function == function)
			add_paths(g, m->trace + i, iterations, rows);
	free(g);
}

static void read_before(const struct dep_path_profile *p, size_t row, char *text)
{
	struct dep_path_code block[BLOCKS];
	u64 number[BLOCKS];
	size_t n = dep_path_profile_before(p, row, number, BLOCKS), i, k, blocks;

	assert_int_equal(n, p->row[row].before);
	*text = 0;
	for (i = 0; i < n; i++) {
		blocks = dep_path_profile_path(p, p->row[row].function, number[i], block, BLOCKS);
		assert_in_range(blocks, 1, BLOCKS);
		for (k = 0; k < blocks; k++)
			put_block(text, block + k);
		k = strlen(text);
		snprintf(text + k, TEXT - k, " |");
	}
}

static void read_rows(const struct dep_path_profile *p, struct rows *rows)
{
	struct dep_path_code block[BLOCKS];
	char text[TEXT], before[TEXT];
	size_t i, k;

	for (i = 0; i < p->nrows; i++) {
		assert_int_equal(dep_path_profile_blocks(p, i, block, BLOCKS), p->row[i].blocks);
		read_before(p, i, before);
		put_head(text, p->row[i].pc, p->row[i].kind, before);
		for (k = 0; k < p->row[i].blocks; k++)
			put_block(text, block + k);
		put_next(text, p->row[i].next);
		add_row(rows, text, p->row[i].count);
	}
}

static void compare(struct rows *want, struct rows *have)
{
	size_t i;

	qsort(want->row, want->n, sizeof(*want->row), compare_rows);
	qsort(have->row, have->n, sizeof(*have->row), compare_rows);
	for (i = 0; i < want->n && i < have->n; i++)
		if (strcmp(want->row[i].text, have->row[i].text) != 0 ||
		    want->row[i].count != have->row[i].count)
			fail_msg("%s: %lu, not %s: %lu", have->row[i].text, have->row[i].count,
				 want->row[i].text, want->row[i].count);
	assert_int_equal(want->n, have->n);
}

void model_check(const struct model *m, const struct dep_path_profile *p, u32 iterations)
{
	struct rows want = { 0 }, have = { 0 };
	size_t i, k;

	for (i = 0; i < m->n; i++) {
		for (k = 0; k < i && m->trace[k].function != m->trace[i].function; k++)
			;
		if (k == i)
			count_function(m, m->trace[i].function, iterations, &want);
	}
	read_rows(p, &have);
	compare(&want, &have);
	free(want.row);
	free(have.row);
}
