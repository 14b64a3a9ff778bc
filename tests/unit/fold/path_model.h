/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths counted naively: each activation's blocks are listed, and the list is cut at back edges.
 * With several iterations, the text of a path begins with those of the paths in front of it.
 */
#ifndef TESTS_UNIT_FOLD_PATH_MODEL_H
#define TESTS_UNIT_FOLD_PATH_MODEL_H

#include <stdbool.h>

#include "dep/path_profile.h"
#include "libdep/abi/types.h"

/**
 * struct model_run - code up to a branch
 * @target: where the branch jumps to; 0: it does not, or to many places
 * @branch: enum dep_branch
 */
struct model_run {
	u64 pc, next, target;
	const u8 *bytes;
	u32 nbytes;
	u8 branch;
};

/** struct model_trace - runs that follow each other in an activation; @whole: up to its exit */
struct model_trace {
	u64 function;
	const struct model_run **run;
	size_t n, room;
	bool whole;
};

struct model {
	struct model_trace *trace;
	size_t n, room;
};

/** model_begin() - a trace of @function begins; its number */
size_t model_begin(struct model *m, u64 function);
void model_add(struct model *m, size_t trace, const struct model_run *run);
void model_free(struct model *m);

/** model_check() - fails unless @p has the paths of all traces, as sequences, and no others */
void model_check(const struct model *m, const struct dep_path_profile *p, u32 iterations);

#endif
