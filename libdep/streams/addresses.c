// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Distinct addresses of a store's references.
 *
 * Each page of a process has a bitmap with a bit for each byte.  Pages are found by a hash table
 * with open addressing.  The hash has a random seed, since a recording is hostile input.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "streams.h"

#define PAGE_BITS	12u
#define FIRST_BITS	6u
#define PAGES_MAX	(1u << 30)

struct page {
	u64 number;
	u64 process;
	u64 bits[(1u << PAGE_BITS) / 64];
};

/**
 * struct counting - references are read
 * @page: @npages pages, with room for half of the slots
 * @slot: 1 + index of a page; 0: free.  1 << bits slots
 * @last: page of the reference before
 * @limit: bytes of memory
 */
struct counting {
	struct dep_store *store;
	const struct dep_fold_options *fold;
	struct page *page, *last;
	u32 *slot;
	u32 npages, bits;
	u64 seed, limit;
	u32 thread, process;
	int err;
	struct dep_addresses out;
};

static u32 *find(const struct counting *c, u64 process, u64 number)
{
	const u64 key[2] = { number, process };
	u32 mask = (1u << c->bits) - 1, i;

	i = (u32)XXH3_64bits_withSeed(key, sizeof(key), c->seed) & mask;
	while (c->slot[i] && (c->page[c->slot[i] - 1].number != number ||
			      c->page[c->slot[i] - 1].process != process))
		i = (i + 1) & mask;
	return &c->slot[i];
}

static int enlarge(struct counting *c)
{
	u32 bits = c->slot ? c->bits + 1 : FIRST_BITS, room = 1u << (bits - 1), i;
	u64 bytes = (u64)room * sizeof(*c->page) + (sizeof(*c->slot) << bits);
	struct page *page;
	u32 *slot;

	if (room > PAGES_MAX / 2 || bytes > c->limit)
		return dep_fail(-ENOSPC, "bitmaps of more than %u pages", c->npages);
	page = realloc(c->page, room * sizeof(*page));
	c->last = NULL;
	if (page)
		c->page = page;
	slot = calloc(1u << bits, sizeof(*slot));
	if (!page || !slot) {
		free(slot);
		return dep_fail(-ENOMEM, "pages of memory");
	}
	free(c->slot);
	c->slot = slot;
	c->bits = bits;
	for (i = 0; i < c->npages; i++)
		*find(c, page[i].process, page[i].number) = i + 1;
	return 0;
}

static struct page *page_of(struct counting *c, u64 number)
{
	u32 *slot;

	if (!c->slot || c->npages == 1u << (c->bits - 1)) {
		c->err = enlarge(c);
		if (c->err)
			return NULL;
	}
	slot = find(c, c->process, number);
	if (!*slot) {
		c->page[c->npages] = (struct page){ .number = number, .process = c->process };
		*slot = ++c->npages;
		c->out.pages++;
	}
	return &c->page[*slot - 1];
}

static void count_ref(struct counting *c, u64 address)
{
	u64 number = address >> PAGE_BITS, byte = address & ((1u << PAGE_BITS) - 1);
	struct page *p = c->last;
	u64 bit = 1ull << byte % 64;

	if (!p || p->number != number || p->process != c->process) {
		p = page_of(c, number);
		if (!p)
			return;
		c->last = p;
	}
	c->out.refs++;
	c->out.addresses += !(p->bits[byte / 64] & bit);
	p->bits[byte / 64] |= bit;
}

static int read_batch(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		      size_t n)
{
	struct counting *c = arg;
	size_t i;

	if (seg->thread != c->thread) {
		c->thread = seg->thread;
		c->process = dep_model_thread(&c->store->model, c->thread)->process;
	}
	for (i = 0; i < n && !c->err; i++)
		if (items[i].kind == DEP_ITEM_REF)
			count_ref(c, items[i].ref.addr);
	return c->err;
}

static void segment_failed(void *arg, const struct dep_segment *seg, const char *why)
{
	struct counting *c = arg;

	c->out.loss.segments++;
	if (c->fold->failed)
		c->fold->failed(c->fold->arg, seg, why);
}

static int read_all(struct counting *c, struct streams_input *in)
{
	const struct dep_sink sink = { .want = DEP_WANT_REFS, .batch = read_batch, .arg = c };
	const struct dep_recover_options options = {
		.jobs = c->fold->jobs, .failed = segment_failed, .arg = c,
	};
	int err = streams_select(in, c->store, c->fold, &c->out.loss);

	if (!err && in->n)
		err = dep_recover(c->store, in->seg, in->n, &sink, &options);
	/* Segments that cannot be decoded have been counted. */
	return c->err ? c->err : err == -EBADMSG ? 0 : err;
}

int dep_addresses_count(struct dep_store *store, const struct dep_streams_options *options,
			struct dep_addresses *out)
{
	const struct dep_streams_options none = { 0 }, *o = options ? options : &none;
	struct counting c = {
		.store = store, .fold = &o->fold,
		.limit = o->memory ? o->memory : DEP_STREAMS_MEMORY,
	};
	struct streams_input in = { 0 };
	int err;

	*out = (struct dep_addresses){ 0 };
	if (c.limit < DEP_STREAMS_MEMORY_MIN)
		return dep_fail(-EINVAL, "options of addresses");
	if (getrandom(&c.seed, sizeof(c.seed), 0) != sizeof(c.seed))
		return dep_fail(-errno, "random numbers");
	err = read_all(&c, &in);
	if (!err)
		*out = c.out;
	streams_input_free(&in);
	free(c.page);
	free(c.slot);
	return err;
}
