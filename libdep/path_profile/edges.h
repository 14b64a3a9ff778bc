/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Edges between blocks, before they are those of a graph. */
#ifndef ADEPT_PATH_PROFILE_EDGES_H
#define ADEPT_PATH_PROFILE_EDGES_H

#include <stddef.h>

#include "libdep/abi/types.h"

/** struct dep_path_link - an edge; @pc: of its target; @kind: enum dep_path_kind */
struct dep_path_link {
	u32 from, to;
	u64 pc, weight;
	u8 kind;
};

/**
 * dep_path_links_unite() - make one edge of all from the same block to the same block
 *
 * The edges are then in the order that the search wants: fall-through, taken, indirect by address.
 *
 * Return: the number of edges that are left.
 */
size_t dep_path_links_unite(struct dep_path_link *edge, size_t n);

#endif
