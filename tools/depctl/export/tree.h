/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the tree of calling contexts that is exported, with sums. */
#ifndef DEPCTL_EXPORT_TREE_H
#define DEPCTL_EXPORT_TREE_H

#include "export.h"

/** struct tree_node - a context; all zero unless it, or one below it, has weight or calls */
struct tree_node {
	uint64_t weight, calls, insns;	/* of its own; @weight is one of the two others */
	uint64_t inclusive;		/* weight of it and of all below it */
	uint64_t called;		/* instructions of it and of all that it called */
	uint32_t child, next;		/* index of first child and next sibling; 0: none */
	bool used;
};

struct tree {
	const struct export *x;
	const struct dep_contexts *contexts;
	/* By context: the first one with the same functions, which counts for all of them. */
	uint32_t *same;
	/* By context: it and all that it counts for are callers at an attach that are guesses. */
	bool *guess;
	struct tree_node *node;		/* by index of context */
	uint32_t *used;			/* nodes that are used, largest index first */
	size_t nused;
};

/**
 * tree_begin() - prepare to select contexts of @x
 * @merge: contexts of a process that differ in their call sites only become one
 *
 * Return: 0, or 1 after a message.
 */
int tree_begin(struct tree *t, const struct export *x, bool merge);
void tree_end(struct tree *t);

/**
 * tree_select() - find what one thread did, or all of them
 * @first, @n: shares of the thread in t->contexts->share
 */
void tree_select(struct tree *t, size_t first, size_t n);

/** tree_thread() - find the next thread's shares from share @first on; return their number */
size_t tree_thread(const struct tree *t, size_t first);

/** struct tree_walk - a walk, which enters and leaves each used context; all zero: not begun */
struct tree_walk {
	uint32_t context;
	bool begun, leave;
};

/** tree_walk() - go one step, depth first; return false after the last one */
bool tree_walk(const struct tree *t, struct tree_walk *w);

/** tree_parent() - the context above @context */
static inline uint32_t tree_parent(const struct tree *t, uint32_t context)
{
	return t->same[t->contexts->context[context].parent];
}

/** tree_is_call() - true if context @c was entered by its parent's own instructions */
static inline bool tree_is_call(const struct dep_context *c)
{
	return c->parent && (c->kind == DEP_CONTEXT_CALL || c->kind == DEP_CONTEXT_TAIL);
}

#endif
