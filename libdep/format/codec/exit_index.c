// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "descriptor.h"
#include "exit_index.h"

int dep_index_init(struct dep_index *x)
{
	x->root = calloc(DEP_INDEX_ROOT, sizeof(*x->root));
	return x->root ? 0 : -ENOMEM;
}

static void free_node(struct dep_exit_entry **node)
{
	u32 i;

	for (i = 0; i < DEP_INDEX_NODE; i++)
		free(node[i]);
	free(node);
}

void dep_index_free(struct dep_index *x)
{
	u32 i;

	if (!x->root)
		return;
	for (i = 0; i < DEP_INDEX_ROOT; i++)
		if (x->root[i])
			free_node(x->root[i]);
	free(x->root);
	x->root = NULL;
}

/* Allocate the page for exit @id, and the node for this page, unless they exist. */
static int make_page(struct dep_index *x, u32 id)
{
	struct dep_exit_entry ***at = &x->root[id / DEP_INDEX_PAGE / DEP_INDEX_NODE];
	struct dep_exit_entry **node, *page;

	if (!*at) {
		node = calloc(DEP_INDEX_NODE, sizeof(*node));
		if (!node)
			return -ENOMEM;
		__atomic_store_n(at, node, __ATOMIC_RELEASE);
	}
	node = *at + id / DEP_INDEX_PAGE % DEP_INDEX_NODE;
	if (*node)
		return 0;
	page = calloc(DEP_INDEX_PAGE, sizeof(*page));
	if (!page)
		return -ENOMEM;
	__atomic_store_n(node, page, __ATOMIC_RELEASE);
	return 0;
}

int dep_index_add(struct dep_index *x, const struct adept_desc_frag *d, u32 frag)
{
	const struct adept_exit *exits = dep_desc_exits(d);
	const struct adept_store *stores = dep_desc_stores(d);
	struct dep_exit_entry e;
	u32 i, j, id, bytes;
	int err;

	for (i = 0; i < d->nexits; i++) {
		id = d->first_exit + i;
		if (dep_index_find(x, id))
			return -EEXIST;
		err = make_page(x, id);
		if (err)
			return err;
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
