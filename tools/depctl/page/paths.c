// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths and the loops that they go round.
 *
 * A block is written as a range of the instructions that page_code_write() writes for its function,
 * so that the source view can mark it.  Blocks of functions without assembly are left out.
 */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

/** struct range - instructions @from to @to of the assembly of @function, counted from its first */
struct range {
	uint32_t function, from, to;
};

/** struct ranges - the blocks of all paths, one path after the other */
struct ranges {
	struct range *range;
	size_t n;
	size_t *first;		/* by path: index of its first block; one more at the end */
};

/* Index of the row of @pc, or ninsns. */
static size_t row_at(const struct dep_profile *p, uint32_t process, uint32_t image, uint64_t pc)
{
	size_t lo = 0, hi = p->ninsns, mid;

	while (lo < hi) {
		const struct dep_insn_count *r = &p->insn[mid = (lo + hi) / 2];

		if (r->process != process ? r->process < process :
		    r->image != image ? r->image < image : r->pc < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < p->ninsns && p->insn[lo].process == process && p->insn[lo].image == image &&
	    p->insn[lo].pc == pc)
		return lo;
	return p->ninsns;
}

/* Index of the instruction of row @row, which is in function @f; c->n: it is not on the page. */
static size_t insn_of(const struct page_input *in, const struct page_code *c, size_t row,
		      uint32_t f)
{
	uint64_t address = page_address(in, &in->profile->insn[row]);
	size_t lo = 0, hi = c->n, mid;

	while (lo < hi) {
		const struct page_insn *x = &c->insn[mid = (lo + hi) / 2];

		if (x->function != f ? x->function < f : x->address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->n && c->insn[lo].function == f && c->insn[lo].address == address ? lo : c->n;
}

/* Find the instructions of a block; false: they are not on the page. */
static bool find_block(const struct page_input *in, const struct page_code *c,
		       const struct page_path *path, const struct dep_path_code *block,
		       struct range *out)
{
	size_t first = row_at(in->profile, path->process, path->image, block->pc);
	size_t last = row_at(in->profile, path->process, path->image, block->last), start;
	uint32_t f;

	if (first == in->profile->ninsns || last == in->profile->ninsns)
		return false;
	f = functions_at(in->functions, path->process, path->image, block->pc);
	first = insn_of(in, c, first, f);
	last = insn_of(in, c, last, f);
	if (first == c->n || last == c->n || last < first)
		return false;
	for (start = first; start && c->insn[start - 1].function == f; start--)
		;
	*out = (struct range){ f, (uint32_t)(first - start), (uint32_t)(last - start) };
	return true;
}

static int find_blocks(const struct page_input *in, const struct page_code *c, struct ranges *r)
{
	const struct page_paths *p = in->paths;
	size_t room = 0, i, k;

	for (i = 0; i < p->n; i++)
		room += p->path[i].nblocks;
	r->range = calloc(room + 1, sizeof(*r->range));
	r->first = calloc(p->n + 1, sizeof(*r->first));
	if (!r->range || !r->first)
		return -ENOMEM;
	for (i = 0; i < p->n; i++) {
		for (k = 0; k < p->path[i].nblocks; k++)
			if (find_block(in, c, &p->path[i], &p->path[i].block[k], &r->range[r->n]))
				r->n++;
		r->first[i + 1] = r->n;
	}
	return 0;
}

static void write_ranges(const struct page_functions *f, const struct ranges *r, struct json *j)
{
	size_t i;

	json_object(j, "code");
	COLUMN(j, "function", i, r->n, page_number(f, r->range[i].function));
	COLUMN(j, "from", i, r->n, r->range[i].from);
	COLUMN(j, "to", i, r->n, r->range[i].to);
	json_close(j, '}');
}

static void write_loops(const struct page_paths *p, const struct page_functions *f,
			struct json *j)
{
	size_t i;

	json_object(j, "loops");
	COLUMN(j, "function", i, p->nloops, page_number(f, p->loop[i].function));
	COLUMN(j, "offset", i, p->nloops, p->loop[i].offset);
	COLUMN(j, "line", i, p->nloops, p->loop[i].line);
	COLUMN(j, "entered", i, p->nloops, p->loop[i].entered);
	COLUMN(j, "iterations", i, p->nloops, p->loop[i].iterations);
	COLUMN(j, "insns", i, p->nloops, p->loop[i].insns);
	COLUMN(j, "path", i, p->nloops, p->loop[i].path < p->n ? (int64_t)p->loop[i].path : -1);
	json_close(j, '}');
}

int page_paths_write(const struct page_input *in, const struct page_code *c,
		     const struct page_functions *f, struct json *j)
{
	const struct page_paths *p = in->paths;
	struct ranges r = { };
	int ret;
	size_t i;

	if (!p) {
		json_str(j, "paths", NULL);
		return 0;
	}
	ret = find_blocks(in, c, &r);
	if (ret)
		goto out;
	json_object(j, "paths");
	COLUMN(j, "function", i, p->n, page_number(f, p->path[i].function));
	COLUMN(j, "offset", i, p->n, p->path[i].offset);
	COLUMN(j, "count", i, p->n, p->path[i].count);
	COLUMN(j, "insns", i, p->n, p->path[i].insns);
	COLUMN(j, "blocks", i, p->n, p->path[i].blocks);
	COLUMN(j, "round", i, p->n, p->path[i].round);
	COLUMN(j, "first", i, p->n + 1, r.first[i]);
	write_ranges(f, &r, j);
	write_loops(p, f, j);
	json_u64(j, "left_out", p->left_out);
	json_u64(j, "left_insns", p->left_insns);
	json_u64(j, "partial", p->partial);
	json_u64(j, "partial_insns", p->partial_insns);
	json_u64(j, "truncated", p->truncated);
	json_u64(j, "loops_left_out", p->loops_left_out);
	json_close(j, '}');
out:
	free(r.range);
	free(r.first);
	return ret;
}
