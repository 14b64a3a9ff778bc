// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the code of a function is, and what of it executed paths show. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "libdep/paths/graph.h"
#include "flow.h"

#define RUNS_MAX	(1u << 20)
#define BYTES_MAX	(64ull << 20)	/* of all runs of a function */

int dep_flow_no_memory(void)
{
	return dep_fail(-ENOMEM, "paths");
}

int dep_flow_grow(void *rowp, size_t n, size_t *room, size_t bytes)
{
	void **row = rowp, *more;
	size_t want = *room ? 2 * *room : 16;

	if (n < *room)
		return 0;
	if (want > 4ul * RUNS_MAX)
		return dep_fail(-E2BIG, "paths: a function has too many blocks");
	more = reallocarray(*row, want, bytes);
	if (!more)
		return dep_flow_no_memory();
	*row = more;
	*room = want;
	return 0;
}

/* ---- what the code is ---- */

static int too_much_code(void)
{
	return dep_fail(-E2BIG, "paths: a function has too much code");
}

/* Take over @r->bytes. */
int dep_flow_add_run(struct dep_path_flow *f, const struct dep_flow_run *r)
{
	/* Versions of rewritten code have other bytes. */
	const struct dep_row_key key = {
		.a = r->pc, .b = r->size, .c = (u32)XXH3_64bits(r->bytes, r->size),
	};
	int err;

	if (dep_row_find(&f->run_map, &key) >= 0) {
		free(r->bytes);
		return 0;
	}
	err = r->size > BYTES_MAX - f->bytes ? too_much_code() :
	      dep_flow_grow(&f->run, f->nruns, &f->runs_room, sizeof(*f->run));
	if (!err && dep_row_set(&f->run_map, &key, (u32)f->nruns))
		err = dep_flow_no_memory();
	if (err) {
		free(r->bytes);
		return err;
	}
	f->run[f->nruns++] = *r;
	f->bytes += r->size;
	return 0;
}

int dep_flow_add_jump(struct dep_path_flow *f, u64 from, u64 to, u8 kind)
{
	/* An address has at most 57 bits, of which the upper ones are equal. */
	const struct dep_row_key key = {
		.a = from, .b = (u32)to, .c = kind | (u32)(to >> 32) << 8,
	};
	int err;

	if (dep_row_find(&f->jump_map, &key) >= 0)
		return 0;
	err = dep_flow_grow(&f->jump, f->njumps, &f->jumps_room, sizeof(*f->jump));
	if (!err && dep_row_set(&f->jump_map, &key, (u32)f->njumps))
		err = dep_flow_no_memory();
	if (!err)
		f->jump[f->njumps++] = (struct dep_flow_jump){ from, to, kind };
	return err;
}

static int add_start(struct dep_path_flow *f, u64 pc)
{
	const struct dep_row_key key = { .a = pc };
	int err;

	if (dep_row_find(&f->start_map, &key) >= 0)
		return 0;
	err = dep_flow_grow(&f->start, f->nstarts, &f->starts_room, sizeof(*f->start));
	if (!err && dep_row_set(&f->start_map, &key, 0))
		err = dep_flow_no_memory();
	if (!err)
		f->start[f->nstarts++] = pc;
	return err;
}

int dep_path_flow_new(uint64_t entry, struct dep_path_flow **out)
{
	struct dep_path_flow *f = calloc(1, sizeof(*f));

	if (!f)
		return dep_flow_no_memory();
	f->entry = entry;
	*out = f;
	return 0;
}

void dep_path_flow_free(struct dep_path_flow *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->nruns; i++)
		free(f->run[i].bytes);
	for (i = 0; i < f->nranges; i++)
		free(f->range[i].bytes);
	free(f->run);
	free(f->jump);
	free(f->range);
	free(f->start);
	dep_row_free(&f->run_map);
	dep_row_free(&f->jump_map);
	dep_row_free(&f->start_map);
	free(f);
}

/* ---- executed paths ---- */

static u8 kind_of(u8 branch, u64 next, u64 to)
{
	if (to == DEP_FLOW_NOWHERE)
		return branch == DEP_BRANCH_RETURN ? DEP_PATH_RETURN : DEP_PATH_TAIL_CALL;
	if (branch == DEP_BRANCH_JUMP_INDIRECT || branch == DEP_BRANCH_RETURN)
		return DEP_PATH_INDIRECT;
	return branch == DEP_BRANCH_COND && to != next ? DEP_PATH_TAKEN : DEP_PATH_FALL_THROUGH;
}

/* Number of blocks from @b on that are one run. */
static size_t run_length(const struct dep_path_code *b, size_t n)
{
	size_t i = 1;

	while (i < n && b[i - 1].branch == DEP_BRANCH_NONE &&
	       b[i].pc == b[i - 1].pc + b[i - 1].size)
		i++;
	return i;
}

static int add_blocks(struct dep_path_flow *f, const struct dep_path_code *b, size_t n, u64 base)
{
	struct dep_flow_run r = {
		.pc = b->pc - base, .last = b[n - 1].last - base, .branch = b[n - 1].branch,
	};
	size_t i, at = 0;
	u64 size = 0;

	for (i = 0; i < n; i++)
		size += b[i].size;
	if (size > BYTES_MAX)
		return too_much_code();
	r.size = (u32)size;
	r.bytes = malloc(r.size + 1ul);
	if (!r.bytes)
		return dep_flow_no_memory();
	for (i = 0; i < n; at += b[i++].size)
		if (b[i].size)
			memcpy(r.bytes + at, b[i].bytes, b[i].size);
	return dep_flow_add_run(f, &r);
}

int dep_path_flow_path(struct dep_path_flow *f, const struct dep_path_row *row,
		       const struct dep_path_code *block, uint64_t base)
{
	const bool ends = row->kind == DEP_PATH_ROW_PARTIAL;
	const struct dep_path_code *last;
	size_t i, n;
	u64 to, next;
	/* A block that goes back to itself begins no path. */
	int err = row->kind == DEP_PATH_ROW_LOOP ? 0 : add_start(f, block->pc - base);

	for (i = 0; i < row->blocks && !err; i += n) {
		n = run_length(block + i, row->blocks - i);
		last = block + i + n - 1;
		err = last->size ? add_blocks(f, block + i, n, base) : 0;
		if (err || (ends && i + n == row->blocks))
			continue;
		next = last->pc + last->size - base;
		to = i + n < row->blocks ? block[i + n].pc - base :
		     row->next ? row->next - base : DEP_FLOW_NOWHERE;
		err = dep_flow_add_jump(f, last->last - base, to, kind_of(last->branch, next, to));
	}
	return err;
}
