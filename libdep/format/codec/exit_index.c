// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdbool.h>
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
	while (x->nretired)
		free(x->retired[--x->nretired]);
	free(x->retired);
	x->retired = NULL;
	x->retired_room = 0;
}

static void count(struct dep_index *x, s64 bytes)
{
	__atomic_store_n(&x->bytes, x->bytes + (u64)bytes, __ATOMIC_RELAXED);
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
		count(x, DEP_INDEX_NODE * sizeof(*node));
		__atomic_store_n(at, node, __ATOMIC_RELEASE);
	}
	node = *at + id / DEP_INDEX_PAGE % DEP_INDEX_NODE;
	if (*node)
		return 0;
	page = calloc(DEP_INDEX_PAGE, sizeof(*page));
	if (!page)
		return -ENOMEM;
	count(x, DEP_INDEX_PAGE * sizeof(*page));
	__atomic_store_n(node, page, __ATOMIC_RELEASE);
	return 0;
}

/* Make room for a page and a node. */
static int room_to_retire(struct dep_index *x)
{
	size_t room = x->retired_room ? 2 * x->retired_room : 64;
	void **more;

	if (x->nretired + 2 <= x->retired_room)
		return 0;
	more = realloc(x->retired, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	x->retired = more;
	x->retired_room = room;
	return 0;
}

static bool is_zero(const void *memory, size_t size)
{
	const u64 *word = memory;
	size_t i;

	for (i = 0; i < size / 8; i++)
		if (word[i])
			return false;
	return true;
}

static void retire(struct dep_index *x, void *memory, size_t size)
{
	x->retired[x->nretired++] = memory;
	x->retired_bytes += size;
}

void dep_index_reclaim(struct dep_index *x)
{
	while (x->nretired)
		free(x->retired[--x->nretired]);
	count(x, -(s64)x->retired_bytes);
	x->retired_bytes = 0;
}

/* Take the page of @id out of the tree if it has no entry, and its node if that has no page. */
static int retire_page(struct dep_index *x, u32 id)
{
	struct dep_exit_entry ***at = &x->root[id / DEP_INDEX_PAGE / DEP_INDEX_NODE];
	struct dep_exit_entry **node = *at, **page;

	page = node ? node + id / DEP_INDEX_PAGE % DEP_INDEX_NODE : NULL;
	if (!page || !*page || !is_zero(*page, DEP_INDEX_PAGE * sizeof(**page)))
		return 0;
	if (room_to_retire(x))
		return -ENOMEM;
	retire(x, *page, DEP_INDEX_PAGE * sizeof(**page));
	__atomic_store_n(page, NULL, __ATOMIC_RELEASE);
	if (!is_zero(node, DEP_INDEX_NODE * sizeof(*node)))
		return 0;
	retire(x, node, DEP_INDEX_NODE * sizeof(*node));
	__atomic_store_n(at, NULL, __ATOMIC_RELEASE);
	return 0;
}

int dep_index_remove(struct dep_index *x, u32 first_exit, u32 n)
{
	u32 i;
	int err = 0;

	for (i = 0; i < n; i++)
		if (dep_index_find(x, first_exit + i))
			dep_index_set(x, first_exit + i, (struct dep_exit_entry){ 0 });
	for (i = 0; i < n && !err; i += DEP_INDEX_PAGE)
		err = retire_page(x, first_exit + i);
	return n && !err ? retire_page(x, first_exit + n - 1) : err;
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
