// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Take fragments out of the index of exits, for a recording that keeps only its newest part.
 *
 * Only an admission changes the index.  So dep_writer_forget() puts lists aside, and the next
 * admission works them off.  Memory that it takes out of the index may have readers that began
 * before; it is freed later, when there are none.
 */
#include <stdlib.h>

#include "libdep/format/codec/split.h"
#include "forget.h"
#include "pack.h"
#include "writer.h"

void dep_writer_forget(struct dep_writer *w, struct dep_forgotten *f)
{
	f->next = __atomic_load_n(&w->forgotten, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&w->forgotten, &f->next, f, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

static struct dep_forgotten *take_all(struct dep_writer *w)
{
	return __atomic_exchange_n(&w->forgotten, NULL, __ATOMIC_ACQUIRE);
}

void dep_writer_drop_forgotten(struct dep_writer *w)
{
	struct dep_forgotten *f = take_all(w), *next;

	for (; f; f = next) {
		next = f->next;
		free(f);
	}
}

void dep_writer_work_off(struct dep_writer *w)
{
	struct dep_forgotten *f = take_all(w), *next;
	size_t i;

	for (; f; f = next) {
		next = f->next;
		/* Without memory entries stay, which only costs memory. */
		for (i = 0; i < f->n; i++)
			dep_index_remove(&w->index, f->frag[i].first_exit, f->frag[i].nexits);
		free(f);
	}
}

bool dep_writer_frag(const struct dep_writer *w, uint32_t first_exit, uint32_t *frag)
{
	struct dep_exit_entry e = dep_index_get(&w->index, first_exit);

	*frag = e.frag;
	return e.bytes && e.first;
}

void dep_writer_named(const struct dep_writer *w, const void *body, uint32_t size, uint32_t from,
		      uint32_t n, uint8_t *bits)
{
	dep_split_frags(&w->index, body, size, from, n, bits);
}

uint64_t dep_writer_index_bytes(const struct dep_writer *w)
{
	return __atomic_load_n(&w->index.bytes, __ATOMIC_RELAXED);
}

void dep_writer_reclaim(struct dep_writer *w)
{
	dep_index_reclaim(&w->index);
}
