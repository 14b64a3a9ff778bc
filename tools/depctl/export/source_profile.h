/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts by source lines, for compilers: each function of one program, with a tree of the calls
 * that were inlined into it.
 *
 * A compiler finds its code again by lines relative to the line at which a function begins.  So a
 * profile stays useful after changes elsewhere in the file.
 */
#ifndef DEPCTL_EXPORT_SOURCE_PROFILE_H
#define DEPCTL_EXPORT_SOURCE_PROFILE_H

#include "tools/depctl/common/numbering.h"
#include "program.h"

#define SOURCE_NONE	UINT32_MAX

/** struct source_at - a place in a function; by @discriminator several blocks of one line differ */
struct source_at {
	uint32_t offset;	/* lines after the start of the function, modulo 65536 */
	uint32_t discriminator;
};

/** struct source_target - a function that is called from a line, and how often */
struct source_target {
	uint32_t function;
	struct source_at at;
	uint32_t name;
	uint64_t count;
};

/** struct source_line - how often the code of a line was executed */
struct source_line {
	uint32_t function;
	struct source_at at;
	uint64_t count;
	const struct source_target *target;
	size_t ntargets;
};

/** struct source_function - a function, or one inlined at @at of function @parent */
struct source_function {
	uint32_t parent;	/* lower than its own index; SOURCE_NONE: a function of its own */
	uint32_t name;
	struct source_at at;
	uint64_t head;		/* times it was called */
	uint64_t total;		/* sum of the counts of its lines and of what is inlined */
	struct source_line *line;
	size_t nlines;
	const uint32_t *inlined;	/* functions with this @parent */
	size_t ninlined;
};

struct source_profile {
	struct numbering names;
	struct source_function *function;
	struct source_line *line;	/* sorted by function and place */
	struct source_target *target;	/* the same, and then by name */
	uint32_t *order;		/* all functions, by parent and place; the last have none */
	const uint32_t *outer;		/* the functions without a parent, by name */
	uint32_t nfunctions;
	size_t nouter, nlines, ntargets;
};

/** enum source_compiler - who made the program, which decides what discriminators mean */
enum source_compiler { SOURCE_GCC, SOURCE_LLVM };

/**
 * source_profile_make() - count the lines of the program that @x describes
 *
 * A line's count is that of its most executed instruction.  Functions without line numbers are left
 * out, and named in a message.
 *
 * Return: 0, or 1 after a message.
 */
int source_profile_make(struct source_profile *s, struct export *x,
			enum source_compiler compiler);
void source_profile_free(struct source_profile *s);

/** source_name() - name number @name, as the linker has it */
static inline const char *source_name(const struct source_profile *s, uint32_t name)
{
	return number_key(&s->names, name);
}

#endif
