// SPDX-License-Identifier: LGPL-2.1-or-later
/* Race prediction: memory, and begin and end of both passes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int take(struct predict *p, u64 bytes)
{
	if (p->limit && bytes > p->limit - p->bytes)
		return -ENOSPC;
	p->bytes += bytes;
	return 0;
}

void *predict_alloc(struct predict *p, size_t size)
{
	void *v = take(p, size) ? NULL : calloc(1, size);

	if (!v)
		errno = p->limit && size > p->limit - p->bytes ? ENOSPC : ENOMEM;
	return v;
}

void *predict_room(struct predict *p, void *v, u32 n, u32 *room, size_t size, int *err)
{
	u32 more = *room ? 2 * *room : 4;
	void *new;

	*err = 0;
	if (n < *room)
		return v;
	*err = more < *room ? -ENOSPC : take(p, (u64)(more - *room) * size);
	if (*err)
		return v;
	new = realloc(v, more * size);
	if (!new) {
		*err = -ENOMEM;
		return v;
	}
	*room = more;
	return new;
}

bool predict_take_event(struct predict *p)
{
	if (p->stopped)
		return false;
	if (p->received == p->stop_at) {
		p->stopped = true;
		return false;
	}
	p->received++;
	return true;
}

/* The event at the memory limit may be stored in part: it counts as ignored. */
int predict_result(struct predict *p, int err)
{
	if (err != -ENOSPC)
		return err;
	p->received--;
	predict_stop(p);
	return 0;
}

void predict_stop(struct predict *p)
{
	if (p->stopped)
		return;
	p->stopped = true;
	if (p->received < p->stop_at)
		p->stop_at = p->received;
}

bool predict_stopped(const struct predict *p)
{
	return p->stopped;
}

int predict_create(struct predict **out, u64 limit)
{
	struct predict *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return -ENOMEM;
	p->limit = limit;
	p->stop_at = ~0ull;
	return 0;
}

static void free_order(struct predict_order *o)
{
	u32 i;

	for (i = 0; i < o->n; i++)
		free(o->by[i].v);
	free(o->by);
}

static void free_threads(struct predict *p)
{
	struct predict_thread *t;

	for (t = p->thread; t < p->thread + p->nthreads; t++) {
		free(t->clock);
		free_order(&t->hard);
		free_order(&t->soft);
		free(t->late_events);
		free(t->taken);
		free(t->interval);
		free(t->held);
	}
	free(p->thread);
	p->thread = NULL;
	p->nthreads = p->threads_room = 0;
}

static void free_entries(struct predict *p)
{
	u32 i;

	for (i = 0; i < p->nentries; i++)
		free(p->entries[i].v);
	free(p->entries);
	p->entries = NULL;
	p->nentries = p->entries_room = p->free_entries = 0;
}

static void free_cells(struct predict_page *page)
{
	u32 i;

	for (i = 0; page->cell && i < PREDICT_CELLS; i++) {
		if (!page->cell[i])
			continue;
		free(page->cell[i]->write);
		free(page->cell[i]->last);
		free(page->cell[i]->event);
		free(page->cell[i]);
	}
	free(page->cell);
}

static void free_locks(struct predict *p)
{
	u32 i;

	for (i = 0; i < p->nlocks; i++)
		free(p->lock[i].section);
	free(p->lock);
	free(p->lock_slot);
	for (i = 0; i < p->nsets; i++)
		free(p->set[i].v);
	free(p->set);
	p->lock = NULL;
	p->lock_slot = NULL;
	p->set = NULL;
	p->nlocks = p->locks_room = p->lock_slots = p->nsets = p->sets_room = 0;
	memset(p->set_head, 0, sizeof(p->set_head));
}

void predict_again(struct predict *p)
{
	u32 i;

	free_threads(p);
	free_entries(p);
	free_locks(p);
	p->bytes = p->pages_room * sizeof(*p->page);
	for (i = 0; i < p->pages_room; i++) {
		if (!p->page[i])
			continue;
		free(p->page[i]->entry);
		p->page[i]->entry = NULL;
		p->bytes += sizeof(*p->page[i]);
	}
	p->received = 0;
	p->again = true;
	p->stopped = false;
}

void predict_free(struct predict *p)
{
	u32 i;

	if (!p)
		return;
	free_threads(p);
	free_entries(p);
	free_locks(p);
	for (i = 0; i < p->pages_room; i++) {
		if (!p->page[i])
			continue;
		free(p->page[i]->entry);
		free_cells(p->page[i]);
		free(p->page[i]);
	}
	free(p->page);
	free(p);
}

void predict_get_stats(const struct predict *p, struct predict_stats *out)
{
	*out = (struct predict_stats){
		.bytes = p->bytes, .shared = p->shared, .candidates = p->candidates,
		.accesses = p->accesses, .sections = p->sections, .edges = p->edges,
	};
}
