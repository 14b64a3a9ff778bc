/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Potential paths of a function: through the code that several recordings executed, and through
 * that of its file.
 *
 * Code is kept as runs, from where control can come to up to a branch, and as jumps between them.
 * Blocks of executed paths are put together to runs first, since each recording divides them in its
 * own way.
 */
#ifndef ADEPT_PATH_PROFILE_FLOW_H
#define ADEPT_PATH_PROFILE_FLOW_H

#include "dep/path_profile.h"
#include "libdep/abi/types.h"
#include "row_map.h"

#define DEP_FLOW_NOWHERE	UINT64_MAX	/* as the target of a jump: the function ends */

/** struct dep_flow_run - code up to a branch; @vertex: of its last block */
struct dep_flow_run {
	u64 pc, last;
	u8 *bytes;
	u32 size, vertex;
	u8 branch;		/* enum dep_branch */
};

/** struct dep_flow_jump - @from: address of the branch */
struct dep_flow_jump {
	u64 from, to;
	u8 kind;		/* enum dep_path_kind */
};

/** struct dep_flow_range - code of the file */
struct dep_flow_range {
	u64 pc;
	u8 *bytes;
	size_t size;
};

struct dep_path_flow {
	u64 entry;
	struct dep_flow_run *run;
	struct dep_flow_jump *jump;
	struct dep_flow_range *range;
	u64 *start;		/* where paths begin */
	size_t nruns, runs_room, njumps, jumps_room, nranges, ranges_room, nstarts, starts_room;
	u64 bytes;		/* of all runs */
	struct dep_row_map run_map, jump_map, start_map;
	bool more;		/* an indirect jump can lead where it never did */
};

/* ---- flow.c ---- */

int dep_flow_no_memory(void);

/**
 * dep_flow_grow() - make room for row number @n of an array
 * @rowp: points to the array's pointer
 *
 * Return: 0, -ENOMEM, or -E2BIG.
 */
int dep_flow_grow(void *rowp, size_t n, size_t *room, size_t bytes);

/** dep_flow_add_run() - add a run unless it is known, and take over @r->bytes; 0 or an error */
int dep_flow_add_run(struct dep_path_flow *f, const struct dep_flow_run *r);
/** dep_flow_add_jump() - add a jump unless it is known; 0 or an error */
int dep_flow_add_jump(struct dep_path_flow *f, u64 from, u64 to, u8 kind);

/* ---- flow_code.c ---- */

/** dep_flow_decode() - add all code of the file that can be reached; 0 or an error */
int dep_flow_decode(struct dep_path_flow *f);

#endif
