// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "desc.h"
#include "index.h"

#define PAGES	(DEP_EXIT_LIMIT / DEP_INDEX_PAGE)

int dep_index_init(struct dep_index *x)
{
	x->npages = 0;
	x->page = calloc(PAGES, sizeof(*x->page));
	return x->page ? 0 : -ENOMEM;
}

void dep_index_free(struct dep_index *x)
{
	u32 i;

	if (!x->page)
		return;
	/* The table is large, and mostly never touched. */
	for (i = 0; i < x->npages; i++)
		free(x->page[i]);
	free(x->page);
	x->page = NULL;
}

int dep_index_add(struct dep_index *x, const struct adept_desc_frag *d, u32 frag)
{
	const struct adept_exit *exits = dep_desc_exits(d);
	const struct adept_store *stores = dep_desc_stores(d);
	struct dep_exit_entry *page, e;
	u32 i, j, id, bytes;

	for (i = 0; i < d->nexits; i++) {
		id = d->first_exit + i;
		if (dep_index_find(x, id))
			return -EEXIST;
		if (x->page[id / DEP_INDEX_PAGE])
			continue;
		page = calloc(DEP_INDEX_PAGE, sizeof(*page));
		if (!page)
			return -ENOMEM;
		__atomic_store_n(&x->page[id / DEP_INDEX_PAGE], page, __ATOMIC_RELEASE);
		if (x->npages <= id / DEP_INDEX_PAGE)
			x->npages = id / DEP_INDEX_PAGE + 1;
	}
	for (i = 0; i < d->nexits; i++) {
		id = d->first_exit + i;
		for (j = 0, bytes = 4; j < exits[i].nstores; j++)
			bytes += adept_store_bytes(&stores[j]);
		e.frag = frag;
		e.bytes = bytes;
		e.first = !i;
		dep_index_set(x, id, e);
	}
	return 0;
}
