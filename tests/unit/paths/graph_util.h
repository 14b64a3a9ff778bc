/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs and paths written as text, random graphs, and memory that is counted. */
#ifndef TESTS_UNIT_PATHS_GRAPH_UTIL_H
#define TESTS_UNIT_PATHS_GRAPH_UTIL_H

#include "libdep/paths/chords.h"
#include "libdep/paths/number.h"
#include "libdep/paths/regenerate.h"

#define NO_PATH		UINT64_MAX
#define PATH_TEXT	128

/**
 * struct counted_memory - memory with counts
 * @bytes: bytes that are in use; @most: the most at a time; @calls: calls of get()
 * @fail_at: the call of get() that fails, from 1 on; 0: none
 */
struct counted_memory {
	struct dep_path_memory memory;
	size_t bytes, most;
	unsigned int calls, fail_at;
};

void counted_memory_init(struct counted_memory *m);

/** add_blocks() - add @n blocks; block i has i + 1 instructions */
int add_blocks(struct dep_path_graph *g, u32 n);

/**
 * make_graph() - a finished graph from text
 * @text: edges such as "AB:120 AC B.": from, to, and a weight; '.' is the exit, 'A' the entry.
 *	"^C:5" makes C a start, and "!BC" says that paths end on the edge from B to C.
 *
 * The first edge of a block falls through, the second one is taken, others are indirect.
 */
void make_graph(struct dep_path_graph *g, const struct dep_path_memory *m, const char *text);

/** number_graph() - number the paths of a graph; the test fails if that fails */
void number_graph(struct dep_paths *p, const struct dep_path_graph *g, u64 limit, bool given_order);

/**
 * number_of() - the number of a path
 * @text: blocks, '>' and the next block or '.'; '^' in front of a path that a call began:
 *	"^ABD>." or "BCD>B".  Without '>' the sum of a partial path.
 *
 * Return: the number or NO_PATH.
 */
u64 number_of(const struct dep_paths *p, const char *text);

/** path_text() - a path of a number as text; returns @text */
char *path_text(const struct dep_paths *p, u64 number, char text[PATH_TEXT]);

/**
 * random_graph() - a finished graph of 1 to @most blocks
 *
 * Edges lead anywhere, so that many of the graphs are irreducible; some blocks are not reached,
 * loop to themselves or have no edges.  In some graphs paths end at chosen edges.
 */
void random_graph(struct dep_path_graph *g, const struct dep_path_memory *m, u32 most);

/** sum_of_increments() - what the chords on the path of a number add up to */
u64 sum_of_increments(const struct dep_path_chords *c, u64 number);

#endif
