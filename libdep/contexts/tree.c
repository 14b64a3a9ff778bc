// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calling context tree: contexts found by their keys, and counted per thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "tree.h"

/*
 * Bytes for a context: its node, twice while an array grows, and its part of the hash table, which
 * has two to four slots for each.
 */
#define NODE_BYTES	(2 * (sizeof(struct dep_node) + sizeof(struct dep_node_now)) + \
			 4 * sizeof(struct dep_node_slot))
#define SEEN_BYTES	(2 * sizeof(struct dep_node_seen))

static u64 hash(const struct dep_node *k)
{
	u64 h = (k->site + 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h = (h ^ h >> 32 ^ k->pc) * 0xc4ceb9fe1a85ec53ull;
	h = (h ^ h >> 29 ^ k->parent ^ (u64)k->process << 32) * 0x9e3779b97f4a7c15ull;
	h += ((u64)k->kind << 32) + k->image;
	return h ^ h >> 31;
}

static bool same(const struct dep_node *a, const struct dep_node *b)
{
	return a->parent == b->parent && a->pc == b->pc && a->site == b->site &&
	       a->process == b->process && a->image == b->image && a->kind == b->kind;
}

_Static_assert(sizeof(struct dep_node_now) == 64, "a cache line");

/* Room for contexts, of which the first @n are copied from @old. */
static struct dep_node_now *now_new(const struct dep_node_now *old, u32 n, u32 room)
{
	struct dep_node_now *now = aligned_alloc(64, room * sizeof(*now));

	if (now) {
		memset(now + n, 0, (room - n) * sizeof(*now));
		if (n)
			memcpy(now, old, n * sizeof(*now));
	}
	return now;
}

int dep_tree_init(struct dep_tree *t, u64 memory)
{
	u64 limit;

	t->by_segment = t->times || t->division.per_ns;
	limit = memory / (NODE_BYTES + (t->by_segment ? SEEN_BYTES : 0));
	t->limit = limit < 16 ? 16 : limit > 1u << 30 ? 1u << 30 : (u32)limit;
	t->rows_limit = memory / sizeof(struct dep_context_share) + 4096;
	t->room = 16;
	t->node = calloc(t->room, sizeof(*t->node));
	t->now = now_new(NULL, 0, t->room);
	t->seen = t->by_segment ? calloc(t->room, sizeof(*t->seen)) : NULL;
	t->map_mask = 63;
	t->map = calloc(t->map_mask + 1ull, sizeof(*t->map));
	t->n = 1;
	return t->node && t->now && t->map && (t->seen || !t->by_segment) ? 0 : -ENOMEM;
}

void dep_tree_free(struct dep_tree *t)
{
	free(t->node);
	free(t->now);
	free(t->seen);
	free(t->map);
	free(t->used.node);
	free(t->timed.node);
	free(t->share);
	free(t->time);
	dep_interval_rows_free(&t->intervals);
}

static void insert(struct dep_tree *t, u32 n, u64 h)
{
	u32 at = (u32)h & t->map_mask;

	while (t->map[at].n)
		at = (at + 1) & t->map_mask;
	t->map[at] = (struct dep_node_slot){ .hash = (u32)(h >> 32), .n = n };
}

static int grow_map(struct dep_tree *t)
{
	u32 mask = 2 * t->map_mask + 1, i;
	struct dep_node_slot *map = calloc(mask + 1ull, sizeof(*map));

	if (!map)
		return -ENOMEM;
	free(t->map);
	t->map = map;
	t->map_mask = mask;
	for (i = 1; i < t->n; i++)
		insert(t, i, hash(t->node + i));
	return 0;
}

static int grow(struct dep_tree *t)
{
	struct dep_node_seen *seen;
	struct dep_node_now *now;
	struct dep_node *more;
	u32 room = t->room;

	if (t->n == t->room) {
		room = room > t->limit / 2 ? t->limit : 2 * room;
		more = realloc(t->node, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->node = more;
		now = now_new(t->now, t->n, room);
		if (!now)
			return -ENOMEM;
		free(t->now);
		t->now = now;
		seen = t->by_segment ? realloc(t->seen, room * sizeof(*seen)) : NULL;
		if (t->by_segment && !seen)
			return -ENOMEM;
		t->seen = seen;
		t->room = room;
	}
	return t->n * 2ull > t->map_mask ? grow_map(t) : 0;
}

u32 dep_tree_child(struct dep_tree *t, const struct dep_node *key)
{
	u64 h = hash(key);
	u32 at, n;

	t->refused = false;
	for (at = (u32)h & t->map_mask; (n = t->map[at].n); at = (at + 1) & t->map_mask)
		if (t->map[at].hash == h >> 32 && same(t->node + n, key)) {
			t->node[n].incomplete |= key->incomplete;
			t->node[n].guess &= key->guess;
			return n;
		}
	if (t->n >= t->limit) {
		t->not_counted++;
		t->refused = true;
		return key->parent;
	}
	if (grow(t))
		return DEP_NO_NODE;
	n = t->n++;
	t->node[n] = (struct dep_node){
		.parent = key->parent, .process = key->process, .pc = key->pc, .site = key->site,
		.image = key->image, .site_image = key->site_image, .kind = key->kind,
		.incomplete = key->incomplete, .guess = key->guess,
	};
	t->now[n] = (struct dep_node_now){ 0 };
	if (t->by_segment)
		t->seen[n] = (struct dep_node_seen){ 0 };
	insert(t, n, h);
	return n;
}

u32 dep_tree_copy(struct dep_tree *t, u32 node, u32 process)
{
	struct dep_node key;
	u32 at, from, to, depth = 0;
	u32 *path = NULL, *more;
	size_t room = 0;

	for (at = node; at; at = t->node[at].parent) {
		if (t->node[at].process == process ||
		    (t->node[at].copied && t->node[at].twin_process == process))
			break;
		if (depth == room) {
			room = room ? 2 * room : 64;
			more = realloc(path, room * sizeof(*more));
			if (!more) {
				free(path);
				return DEP_NO_NODE;
			}
			path = more;
		}
		path[depth++] = at;
	}
	to = at && t->node[at].process != process ? t->node[at].twin : at;
	while (depth) {
		from = path[--depth];
		key = t->node[from];
		key.parent = to;
		key.process = process;
		to = dep_tree_child(t, &key);
		if (to == DEP_NO_NODE)
			break;
		t->node[from].twin = to;
		t->node[from].twin_process = process;
		t->node[from].copied = 1;
	}
	free(path);
	return to;
}

static int list_add(struct dep_node_list *l, u32 n)
{
	size_t room = l->room ? 2 * l->room : 256;
	u32 *more;

	if (l->n == l->room) {
		more = realloc(l->node, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->node = more;
		l->room = room;
	}
	l->node[l->n++] = n;
	return 0;
}

int dep_tree_list(struct dep_tree *t, u32 n)
{
	struct dep_node_now *now = t->now + n;

	if (!now->used) {
		if (list_add(&t->used, n))
			return -ENOMEM;
		now->used = 1;
		memset(now->next, 0, sizeof(now->next));
	}
	if (t->by_segment && !now->ready && list_add(&t->timed, n))
		return -ENOMEM;
	now->ready = 1;
	return 0;
}

/* Make room for another row in an array. */
static int row_room(const struct dep_tree *t, void **rows, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 256;
	void *p;

	if (n < *room)
		return 0;
	if (n >= t->rows_limit)
		return dep_fail(-EFBIG, "the contexts have more than %zu rows, which need more "
				"memory than is allowed", n);
	p = realloc(*rows, more * size);
	if (!p)
		return dep_fail(-ENOMEM, "contexts");
	*rows = p;
	*room = more;
	return 0;
}

static int add_time(struct dep_tree *t, const struct dep_context_time *time)
{
	int err = row_room(t, (void **)&t->time, t->ntimes, &t->times_room, sizeof(*t->time));

	if (!err)
		t->time[t->ntimes++] = *time;
	return err;
}

/* Make the rows of what the thread at hand did in context @n since the previous segment. */
static int end_node(struct dep_tree *t, u32 n, u32 thread, u64 start_ns)
{
	const struct dep_node_now *now = t->now + n;
	struct dep_node_seen *seen = t->seen + n;
	const struct dep_context_time time = {
		.start_ns = start_ns, .thread = thread, .context = n,
		.insns = now->insns - seen->insns,
	};
	const struct dep_context_interval in = {
		.start_ns = dep_division_start(&t->division,
					       dep_division_of(&t->division, start_ns)),
		.context = n, .calls = now->calls - seen->calls, .insns = time.insns,
		.refs = now->refs - seen->refs,
	};
	int err = 0;

	if (t->times && time.insns)
		err = add_time(t, &time);
	if (!err && t->division.per_ns && (in.calls || in.insns))
		err = dep_interval_rows_add(&t->intervals, &in, t->rows_limit / 2);
	*seen = (struct dep_node_seen){ now->calls, now->insns, now->refs };
	return err;
}

int dep_tree_segment_end(struct dep_tree *t, u32 thread, u64 start_ns)
{
	size_t i;
	int err = 0;

	for (i = 0; i < t->timed.n && !err; i++) {
		t->now[t->timed.node[i]].ready = 0;
		err = end_node(t, t->timed.node[i], thread, start_ns);
	}
	t->timed.n = 0;
	return err;
}

int dep_tree_thread_end(struct dep_tree *t, u32 thread)
{
	struct dep_node_now *now;
	struct dep_node *node;
	size_t i;
	int err;

	for (i = 0; i < t->used.n; i++) {
		node = t->node + t->used.node[i];
		now = t->now + t->used.node[i];
		now->used = now->ready = 0;
		node->all_calls += now->calls;
		node->all_insns += now->insns;
		node->all_refs += now->refs;
		if (now->calls || now->insns) {
			err = row_room(t, (void **)&t->share, t->nshares, &t->shares_room,
				       sizeof(*t->share));
			if (err)
				return err;
			t->share[t->nshares++] = (struct dep_context_share){
				.thread = thread, .context = t->used.node[i],
				.calls = now->calls, .insns = now->insns, .refs = now->refs,
			};
		}
		now->calls = now->insns = now->refs = 0;
		if (t->by_segment)
			t->seen[t->used.node[i]] = (struct dep_node_seen){ 0 };
	}
	t->used.n = 0;
	return 0;
}
