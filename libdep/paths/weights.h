/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How often the arcs of the acyclic graph are executed: measured, or guessed from the graph.
 *
 * The chords are chosen by these weights, so that edges which are executed often carry no
 * instrumentation.  Wrong weights make instrumentation slower, and never wrong.
 */
#ifndef ADEPT_PATHS_WEIGHTS_H
#define ADEPT_PATHS_WEIGHTS_H

#include "number.h"

/**
 * dep_path_measured_weights() - weights from the counts of the graph's edges and starts
 * @count: executions of each edge; NULL: the weights in the graph
 * @entered: how often the function was called
 * @weight: gets the executions of each arc
 */
void dep_path_measured_weights(const struct dep_paths *p, const u64 *count, u64 entered,
			       u64 *weight);

/**
 * dep_path_static_weights() - guessed weights
 * @weight: gets a weight for each arc
 *
 * What enters a loop is executed ten times in it, and leaves by the loop's exits in equal shares.
 * A branch goes each way equally often, so each way of a conditional branch gets half.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_path_static_weights(const struct dep_paths *p, u64 *weight);

#endif
