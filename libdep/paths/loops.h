/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nesting of loops. */
#ifndef ADEPT_PATHS_LOOPS_H
#define ADEPT_PATHS_LOOPS_H

#include "number.h"

/**
 * dep_path_loops() - find the loops that back edges make
 * @loop: gets for each vertex the head of the innermost loop around it, which is not itself;
 *	DEP_PATH_NONE outside of loops
 * @head: gets for each vertex whether it is the head of a loop
 *
 * A loop has the vertices from which its back edges can be reached without its head.  What is
 * entered from outside without passing the head (an irreducible loop) belongs to the loop only as
 * far as the depth-first search found it behind the head.  Edges that were cut are ordinary edges
 * here, and so are those of DEP_PATH_GIVEN, which can make loops.  Self loops are no loops.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_path_loops(const struct dep_paths *p, u32 *loop, u8 *head);

#endif
