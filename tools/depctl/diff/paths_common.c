// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tools/depctl/depctl.h"
#include "overlap.h"
#include "paths_common.h"

/** struct path - what each side executed of a path */
struct path {
	uint64_t executions[SIDES], insns[SIDES];
};

/* Part of a path's key: code up to a branch.  @hash: of its bytes; 0: they need not be compared */
struct key_run {
	uint64_t begin, last, hash;
};

/* The rest of the key. */
struct key_head {
	uint64_t pc, next;	/* @next: NOWHERE: the function ends */
	uint32_t row, runs;
};

#define NOWHERE		UINT64_MAX

struct common {
	struct diff d;
	struct numbering keys;
	struct path *path;
	size_t room;
	uint8_t *has;		/* by row of @d: bits of the sides with paths */
	struct dep_path_code *block;
	char *key;		/* struct key_head, then struct key_run */
	size_t block_room;
	XXH3_state_t *hash;
};

static int no_memory(void)
{
	warn("out of memory");
	return 1;
}

/* Make room for the blocks and the key of a path. */
static int make_room(struct common *c, size_t blocks)
{
	struct dep_path_code *block;
	char *key;

	if (blocks < c->block_room)
		return 0;
	block = reallocarray(c->block, 2 * blocks, sizeof(*block));
	if (block)
		c->block = block;
	key = realloc(c->key, sizeof(struct key_head) + 2 * blocks * sizeof(struct key_run));
	if (key)
		c->key = key;
	if (!block || !key)
		return no_memory();
	c->block_room = 2 * blocks;
	return 0;
}

static uint64_t hash_of(struct common *c, const struct dep_path_code *b, size_t n)
{
	size_t i;

	XXH3_64bits_reset(c->hash);
	for (i = 0; i < n; i++)
		if (b[i].size)
			XXH3_64bits_update(c->hash, b[i].bytes, b[i].size);
	return XXH3_64bits_digest(c->hash) | 1;
}

static uint64_t place(const struct common *c, unsigned int side, const struct dep_path_row *r,
		      uint64_t pc)
{
	return overlap_site(&c->d, side, r->process, r->image, pc).offset;
}

/* Make the key of path @r; its size. */
static size_t make_key(struct common *c, unsigned int side, const struct dep_path_row *r,
		       struct overlap_site at)
{
	struct key_head head = {
		.pc = at.offset, .row = at.row,
		.next = r->next ? place(c, side, r, r->next) : NOWHERE,
	};
	const bool same = at.row < c->d.nrows && c->d.row[at.row].code == DIFF_CODE_SAME;
	struct key_run *run = (struct key_run *)(c->key + sizeof(head));
	const struct dep_path_code *b = c->block;
	size_t i, n;

	for (i = 0; i < r->blocks; i += n) {
		/* Where code goes on behind a block, it is one run with the next one. */
		for (n = 1; i + n < r->blocks && b[i + n - 1].branch == DEP_BRANCH_NONE &&
		     b[i + n].pc == b[i + n - 1].pc + b[i + n - 1].size; n++)
			;
		run[head.runs++] = (struct key_run){
			.begin = place(c, side, r, b[i].pc),
			.last = place(c, side, r, b[i + n - 1].last),
			.hash = same ? 0 : hash_of(c, b + i, n),
		};
	}
	memcpy(c->key, &head, sizeof(head));
	return sizeof(head) + head.runs * sizeof(*run);
}

static int add_path(struct common *c, unsigned int side, const struct dep_path_profile *p, size_t i)
{
	const struct dep_path_row *r = p->row + i;
	struct overlap_site at = overlap_site(&c->d, side, r->process, r->image, r->pc);
	uint32_t n = c->keys.n, number;
	struct path *more;
	size_t room;

	/* Nothing of it is in the profile of instructions, so nothing can match it. */
	if (at.row == NO_FUNCTION)
		at.row = c->d.nrows + side;
	c->has[at.row] |= (uint8_t)(1u << side);
	if (make_room(c, r->blocks + 1ul))
		return 1;
	if (dep_path_profile_blocks(p, i, c->block, r->blocks) != r->blocks)
		return no_memory();
	number = number_of(&c->keys, c->key, make_key(c, side, r, at));
	if (number == NUMBERING_FULL)
		return no_memory();
	if (number == n && n == c->room) {
		room = c->room ? 2 * c->room : 1024;
		more = reallocarray(c->path, room, sizeof(*more));
		if (!more)
			return no_memory();
		c->path = more;
		c->room = room;
	}
	if (number == n)
		c->path[n] = (struct path){ 0 };
	c->path[number].executions[side] += r->count;
	c->path[number].insns[side] += r->count * r->insns;
	return 0;
}

static void add(struct common_sums *to, const struct path *p, unsigned int side)
{
	to->paths++;
	to->executions += p->executions[side];
	to->insns += p->insns[side];
}

static void sum_up(const struct common *c, struct common_paths *out)
{
	const struct path *p;
	unsigned int side;
	uint32_t i;

	for (i = 0; i < c->keys.n; i++) {
		p = c->path + i;
		for (side = 0; side < SIDES; side++) {
			if (p->executions[side])
				add(&out->all[side], p, side);
			if (p->executions[0] && p->executions[1])
				add(&out->common[side], p, side);
		}
	}
	for (i = 0; i < c->d.nrows + SIDES; i++) {
		out->functions += c->has[i] != 0;
		out->of_both += c->has[i] == 3;
		out->changed += c->has[i] == 3 && c->d.row[i].code == DIFF_CODE_CHANGED;
	}
}

static int compare(struct common *c, const struct common_side side[SIDES],
		   struct common_paths *out)
{
	const struct dep_path_profile *p;
	unsigned int s;
	size_t i;

	if (diff_functions(&c->d))
		return 1;
	c->has = calloc(c->d.nrows + SIDES, 1);
	c->hash = XXH3_createState();
	if (!c->has || !c->hash)
		return no_memory();
	for (s = 0; s < SIDES; s++) {
		p = side[s].paths;
		for (i = 0; i < p->nrows; i++)
			if (p->row[i].kind == DEP_PATH_ROW_WHOLE && add_path(c, s, p, i))
				return 1;
	}
	sum_up(c, out);
	return 0;
}

int paths_common(const struct common_side side[SIDES], struct common_paths *out)
{
	struct common c = { 0 };
	struct loaded *l;
	unsigned int s;
	int ret;

	*out = (struct common_paths){ 0 };
	for (s = 0; s < SIDES; s++) {
		l = &c.d.l[s];
		l->store = side[s].store;
		l->symbols = side[s].symbols;
		l->code = side[s].code;
		l->profile = side[s].profile;
		l->functions = side[s].functions;
		l->nfunctions = functions_all(l->functions, &l->function);
	}
	ret = compare(&c, side, out);
	/* They belong to the caller. */
	for (s = 0; s < SIDES; s++)
		memset(&c.d.l[s], 0, sizeof(c.d.l[s]));
	diff_free(&c.d);
	numbering_free(&c.keys);
	XXH3_freeState(c.hash);
	free(c.path);
	free(c.has);
	free(c.block);
	free(c.key);
	return ret;
}
