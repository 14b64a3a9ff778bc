/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chords: the few arcs that need to change the path register.
 *
 * A maximum spanning tree of the acyclic graph, with an arc EXIT->ENTRY in it, takes the arcs that
 * are executed most often.  Each other arc is a chord.  By Ball's event counting (TOPLAS 16, 1994)
 * each chord gets an increment, so that on every path the increments of its chords add up to the
 * path's number.
 *
 * How the increments are found: every vertex gets a potential, which is 0 at ENTRY and at EXIT, and
 * over an arc u->v of the tree rises by the arc's value.  The increment of a chord u->v is
 *
 *	potential(u) + value - potential(v)
 *
 * Arcs of the tree would have 0 by the same formula.  Along a path the potentials cancel out, and
 * the sum of the values remains.
 */
#ifndef ADEPT_PATHS_CHORDS_H
#define ADEPT_PATHS_CHORDS_H

#include "number.h"

/**
 * struct dep_path_chords - chords and their increments
 * @increment: for each arc; 0 in the tree.  Sums are modulo 2^64 and never lose a bit, since
 *	numbers are smaller.
 * @chord: for each arc: is it a chord?
 * @chords: number of chords
 * @largest: largest magnitude of an increment: what an immediate operand must hold
 */
struct dep_path_chords {
	const struct dep_paths *paths;
	s64 *increment;
	u8 *chord;
	u32 chords;
	u64 largest;

	/* private: */
	struct dep_path_block block;
};

/**
 * dep_path_chords() - choose chords
 * @weight: of each arc, see weights.h
 *
 * Of arcs with equal weights the first one goes into the tree.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_path_chords(struct dep_path_chords *c, const struct dep_paths *p, const u64 *weight);
void dep_path_chords_free(struct dep_path_chords *c);

/**
 * dep_path_edge_counters() - what a profile of edges would cost instead
 * @count: executions of each edge; NULL: the weights in the graph
 * @entered: how often the function was called, which is an edge as well
 * @counters: gets the number of edges that need a counter
 * @increments: gets how often they are executed
 *
 * The edges outside of a maximum spanning tree of the graph itself have counters, which is the
 * least that a profile of edges needs (Ball and Larus, "Optimally Profiling and Tracing Programs").
 * Self loops always have a counter.  Edges that no path reaches have none.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_path_edge_counters(const struct dep_paths *p, const u64 *count, u64 entered,
			   u32 *counters, u64 *increments);

#endif
