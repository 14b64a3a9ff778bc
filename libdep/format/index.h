/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exit id -> fragment and record length: a flat table of two levels, made for the
 * loops that parse bodies.
 */
#ifndef DEP_FORMAT_INDEX_H
#define DEP_FORMAT_INDEX_H

#include "../abi/descriptor.h"
#include "wire.h"

#define DEP_INDEX_PAGE	1024u	/* ADEPT_EXIT_BATCH: a process's ids are dense */

struct dep_exit_entry {
	u32 frag;	/* number of the fragment */
	u16 bytes;	/* of the record, id included; 0 = unknown id */
	u16 first;	/* 1: first exit of its fragment */
};

struct dep_index {
	struct dep_exit_entry **page;	/* DEP_EXIT_LIMIT / DEP_INDEX_PAGE */
	u32 npages;			/* behind the last one that there is; for who adds */
};

/* Entered whole and never changed, so threads may look while one adds. */
typedef u64 __attribute__((may_alias)) dep_index_word;

static inline struct dep_exit_entry dep_index_get(const struct dep_index *x, u32 id)
{
	union { u64 word; struct dep_exit_entry e; } u = { 0 };
	struct dep_exit_entry *page;

	if (id >= DEP_EXIT_LIMIT)
		return u.e;
	page = __atomic_load_n(&x->page[id / DEP_INDEX_PAGE], __ATOMIC_ACQUIRE);
	if (page)
		u.word = __atomic_load_n((dep_index_word *)&page[id % DEP_INDEX_PAGE],
					 __ATOMIC_RELAXED);
	return u.e;
}

/** dep_index_set() - put @e where @id, whose page exists, belongs */
static inline void dep_index_set(struct dep_index *x, u32 id, struct dep_exit_entry e)
{
	union { struct dep_exit_entry e; u64 word; } u = { e };

	__atomic_store_n((dep_index_word *)&x->page[id / DEP_INDEX_PAGE][id % DEP_INDEX_PAGE],
			 u.word, __ATOMIC_RELAXED);
}

int dep_index_init(struct dep_index *x);
void dep_index_free(struct dep_index *x);

/**
 * dep_index_add() - enter all exits of a checked fragment as number @frag
 *
 * Return: 0, -EEXIST if an id is known already (nothing is entered), -ENOMEM.
 */
int dep_index_add(struct dep_index *x, const struct adept_desc_frag *d, u32 frag);

static inline const struct dep_exit_entry *dep_index_find(const struct dep_index *x, u32 id)
{
	const struct dep_exit_entry *e;

	if (id >= DEP_EXIT_LIMIT || !x->page[id / DEP_INDEX_PAGE])
		return NULL;
	e = &x->page[id / DEP_INDEX_PAGE][id % DEP_INDEX_PAGE];
	return e->bytes ? e : NULL;
}

#endif
