// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph_util.h"
#include "tests/unit/lib/random.h"

/* The size stands in front of the memory, to be checked when it is given back. */
#define FRONT	16

static void *get(void *self, size_t bytes)
{
	struct counted_memory *m = self;
	char *p;

	if (++m->calls == m->fail_at)
		return NULL;
	p = malloc(bytes + FRONT);
	assert_non_null(p);
	memcpy(p, &bytes, sizeof(bytes));
	memset(p + FRONT, 0xa5, bytes);
	m->bytes += bytes;
	if (m->bytes > m->most)
		m->most = m->bytes;
	return p + FRONT;
}

static void put(void *self, void *memory, size_t bytes)
{
	struct counted_memory *m = self;
	char *p = (char *)memory - FRONT;
	size_t size;

	memcpy(&size, p, sizeof(size));
	assert_int_equal(size, bytes);
	m->bytes -= bytes;
	free(p);
}

void counted_memory_init(struct counted_memory *m)
{
	*m = (struct counted_memory){ .memory = { .get = get, .put = put, .self = m } };
}

int add_blocks(struct dep_path_graph *g, u32 n)
{
	int err = 0;

	while (n-- && err >= 0)
		err = dep_path_graph_vertex(g, g->vertices + 1);
	return err < 0 ? err : 0;
}

/* The largest letter of a text of edges. */
static u32 blocks_in(const char *text)
{
	u32 n = 0;

	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z' && *text - 'A' >= (int)n)
			n = (u32)(*text - 'A') + 1;
	return n;
}

void make_graph(struct dep_path_graph *g, const struct dep_path_memory *m, const char *text)
{
	enum dep_path_kind kind;
	u32 seen[26] = { 0 }, from;
	u64 weight;
	char *end;
	bool ends;
	int edge;

	dep_path_graph_init(g, m);
	assert_int_equal(add_blocks(g, blocks_in(text)), 0);
	while (*text) {
		ends = *text == '!';
		text += ends;
		weight = text[2] == ':' ? strtoull(text + 3, &end, 10) : 0;
		if (*text == '^') {
			assert_int_equal(dep_path_graph_start(g, (u32)(text[1] - 'A'), weight), 0);
		} else {
			from = (u32)(text[0] - 'A');
			kind = text[1] == '.' ? DEP_PATH_RETURN :
			       seen[from] > 1 ? DEP_PATH_INDIRECT : (enum dep_path_kind)seen[from];
			seen[from]++;
			edge = dep_path_graph_edge(g, from, text[1] == '.' ? DEP_PATH_EXIT :
						   (u32)(text[1] - 'A'), kind, weight);
			assert_true(edge >= 0);
			if (ends)
				assert_int_equal(dep_path_graph_end_at(g, (u32)edge), 0);
		}
		text = text[2] == ':' ? end : text + 2;
		text += *text == ' ';
	}
	assert_int_equal(dep_path_graph_finish(g), 0);
}

void number_graph(struct dep_paths *p, const struct dep_path_graph *g, u64 limit, bool given_order)
{
	struct dep_path_options options = { .limit = limit, .given_order = given_order };

	assert_int_equal(dep_paths_number(p, g, &options), 0);
}

u64 number_of(const struct dep_paths *p, const char *text)
{
	u32 block[PATH_TEXT], n = 0;
	bool called = *text == '^';
	u64 number = NO_PATH;

	for (text += called; *text && *text != '>'; text++)
		block[n++] = (u32)(*text - 'A');
	if (!*text)
		return dep_path_number_partial(p, block, n, called, &number) ? NO_PATH : number;
	text++;
	if (dep_path_number(p, block, n, called, *text == '.' ? DEP_PATH_EXIT : (u32)(*text - 'A'),
			    &number))
		return NO_PATH;
	return number;
}

char *path_text(const struct dep_paths *p, u64 number, char text[PATH_TEXT])
{
	u32 edge[PATH_TEXT], i;
	struct dep_path path;
	char *t = text;

	assert_int_equal(dep_path_regenerate(p, number, &path, edge, PATH_TEXT), 0);
	if (path.arc == p->entry_arc)
		*t++ = '^';
	*t++ = (char)('A' + path.first);
	for (i = 0; i < path.edges; i++)
		*t++ = (char)('A' + p->graph->edge[edge[i]].to);
	*t++ = '>';
	*t++ = path.next == DEP_PATH_EXIT ? '.' : (char)('A' + path.next);
	*t = '\0';
	return text;
}

static void random_edges(struct dep_path_graph *g, u32 from)
{
	u32 n = g->vertices, i, k = (u32)(rnd() % 8), to;
	u8 used[64] = { 0 };

	/* Mostly one or two edges, sometimes none, sometimes a jump table. */
	k = k < 1 ? 0 : k < 2 ? 1 : k < 7 ? 2 : 2 + (u32)(rnd() % 4);
	for (i = 0; i < k; i++) {
		/* Most edges lead a little forwards, so that there are many paths. */
		to = from + 1 + (u32)(rnd() % 4);
		if (to >= n || !(rnd() % 5))
			to = (u32)(rnd() % n);
		if (used[to])
			continue;
		used[to] = 1;
		assert_true(dep_path_graph_edge(g, from, to, (enum dep_path_kind)(i < 2 ? i : 2),
						rnd() % 1000) >= 0);
	}
	if (!(rnd() % 4))
		assert_true(dep_path_graph_edge(g, from, DEP_PATH_EXIT, DEP_PATH_RETURN,
						rnd() % 1000) >= 0);
}

void random_graph(struct dep_path_graph *g, const struct dep_path_memory *m, u32 most)
{
	u32 n = 1 + (u32)(rnd() % most), v;
	bool ends = !(rnd() % 4);

	dep_path_graph_init(g, m);
	assert_int_equal(add_blocks(g, n), 0);
	for (v = 0; v < n; v++)
		random_edges(g, v);
	if (!(rnd() % 4))
		assert_int_equal(dep_path_graph_start(g, (u32)(rnd() % n), rnd() % 100), 0);
	for (v = 0; ends && v < g->edges; v++)
		if (!(rnd() % 6))
			assert_int_equal(dep_path_graph_end_at(g, v), 0);
	assert_int_equal(dep_path_graph_finish(g), 0);
}

u64 sum_of_increments(const struct dep_path_chords *c, u64 number)
{
	const struct dep_paths *p = c->paths;
	u64 rest = number, sum = 0;
	u32 at = p->entry, arc;

	while (at != p->exit) {
		arc = dep_path_arc_for(p, at, rest);
		rest -= p->arc[arc].value;
		sum += (u64)c->increment[arc];
		at = p->arc[arc].to;
	}
	return sum;
}
