/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Index of exits: finds the fragment and the record length of an exit id.  It is a tree of three
 * levels, fast enough for the loops that parse chunk bodies.
 *
 *	id	bits 16 and up	5 to 15		0 to 4
 *		root ---------> node ---------> page of entries
 *
 * The ids of a process are dense, but a forged log can give each fragment, of at least 40 bytes, an
 * id far from all others.  So pages are small: the index takes at most 256 bytes for each fragment,
 * and 64 MiB for all nodes.
 */
#ifndef ADEPT_FORMAT_CODEC_EXIT_INDEX_H
#define ADEPT_FORMAT_CODEC_EXIT_INDEX_H

#include "libdep/abi/stream.h"
#include "libdep/format/file/wire.h"

#define DEP_INDEX_PAGE	32u	/* number of entries in a page */
#define DEP_INDEX_NODE	2048u	/* number of pages in a node */
#define DEP_INDEX_ROOT	(DEP_EXIT_LIMIT / DEP_INDEX_PAGE / DEP_INDEX_NODE)

struct dep_exit_entry {
	u32 frag;	/* number of the fragment */
	u16 bytes;	/* size of the exit's record, exit id included; 0: unknown id */
	u16 first;	/* 1: first exit of its fragment */
};

struct dep_index {
	struct dep_exit_entry ***root;	/* DEP_INDEX_ROOT nodes; NULL: not allocated yet */
	u64 bytes;	/* of all pages and nodes, and of @retired; any thread may read it */
	/* memory that dep_index_remove() has taken out; readers may still use it */
	void **retired;
	size_t nretired, retired_room;
	u64 retired_bytes;
};

/* Entries are read and written as one word, so other threads may look up ids at the same time. */
typedef u64 __attribute__((may_alias)) dep_index_word;

/** dep_index_page() - the page of @id, which is below DEP_EXIT_LIMIT; NULL: not allocated yet */
static inline struct dep_exit_entry *dep_index_page(const struct dep_index *x, u32 id)
{
	struct dep_exit_entry **node;

	node = __atomic_load_n(&x->root[id / DEP_INDEX_PAGE / DEP_INDEX_NODE], __ATOMIC_ACQUIRE);
	if (!node)
		return NULL;
	return __atomic_load_n(&node[id / DEP_INDEX_PAGE % DEP_INDEX_NODE], __ATOMIC_ACQUIRE);
}

static inline struct dep_exit_entry dep_index_get(const struct dep_index *x, u32 id)
{
	union { u64 word; struct dep_exit_entry e; } u = { 0 };
	struct dep_exit_entry *page;

	if (id >= DEP_EXIT_LIMIT)
		return u.e;
	page = dep_index_page(x, id);
	if (page)
		u.word = __atomic_load_n((dep_index_word *)&page[id % DEP_INDEX_PAGE],
					 __ATOMIC_RELAXED);
	return u.e;
}

/** dep_index_set() - set the entry of @id, whose page must exist */
static inline void dep_index_set(struct dep_index *x, u32 id, struct dep_exit_entry e)
{
	union { struct dep_exit_entry e; u64 word; } u = { e };

	__atomic_store_n((dep_index_word *)&dep_index_page(x, id)[id % DEP_INDEX_PAGE], u.word,
			 __ATOMIC_RELAXED);
}

int dep_index_init(struct dep_index *x);
void dep_index_free(struct dep_index *x);

/**
 * dep_index_add() - add all exits of a checked fragment with number @frag
 *
 * Return: 0, -ENOMEM, or -EEXIST if an id is known already (then none is added).
 */
int dep_index_add(struct dep_index *x, const struct adept_desc_frag *d, u32 frag);

/**
 * dep_index_remove() - forget the @n exits from @first_exit on
 *
 * Other threads may look up ids meanwhile, but not add any.  Return: 0 or -ENOMEM: some stay.
 */
int dep_index_remove(struct dep_index *x, u32 first_exit, u32 n);

/** dep_index_reclaim() - free what dep_index_remove() has taken out; it must have no readers */
void dep_index_reclaim(struct dep_index *x);

static inline const struct dep_exit_entry *dep_index_find(const struct dep_index *x, u32 id)
{
	struct dep_exit_entry *page = id < DEP_EXIT_LIMIT ? dep_index_page(x, id) : NULL;

	return page && page[id % DEP_INDEX_PAGE].bytes ? &page[id % DEP_INDEX_PAGE] : NULL;
}

#endif
