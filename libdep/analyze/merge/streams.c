// SPDX-License-Identifier: LGPL-2.1-or-later
/* The streams of threads, and the heap that orders them by timestamp. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "merge.h"

static bool before(const struct stream *a, const struct stream *b)
{
	if (stream_time(a) != stream_time(b))
		return stream_time(a) < stream_time(b);
	return a->thread->serial < b->thread->serial;
}

static void sift_down(struct merge *m, size_t i)
{
	struct stream *l = m->heap[i];
	size_t k;

	for (; (k = 2 * i + 1) < m->nheap; i = k) {
		if (k + 1 < m->nheap && before(m->heap[k + 1], m->heap[k]))
			k++;
		if (!before(m->heap[k], l))
			break;
		m->heap[i] = m->heap[k];
	}
	m->heap[i] = l;
}

void merge_heap(struct merge *m)
{
	size_t i = m->nheap / 2;

	while (i--)
		sift_down(m, i);
}

void merge_remove_first(struct merge *m)
{
	m->heap[0] = m->heap[--m->nheap];
	if (m->nheap)
		sift_down(m, 0);
}

void merge_first_moved(struct merge *m)
{
	sift_down(m, 0);
}

/* A stream never goes back in time, so a wrong timestamp does not reorder other threads. */
void stream_set_time(struct merge *m, struct stream *l, uint64_t timestamp)
{
	if (!timestamp)
		return;
	if (timestamp < l->key)
		m->out->disorder++;
	else
		l->key = timestamp;
}

/* In a growing store the segment after @seg may not be stored yet: then @more is false. */
void *stream_prefetch(struct merge *m, struct stream *l, const struct dep_segment *seg)
{
	bool more = seg + 1 < l->end && seg[1].seq == seg->seq + 1;

	return dep_loader_ask(m->loader, seg, l->filter, more);
}

/* Create the thread's filter with the parameters that the analyzer's scope() callback returns. */
int merge_begin_stream(struct merge *m, struct stream *l)
{
	const struct dep_process_filter *scope =
		m->a->scope ? m->a->scope(m->self, l->thread) : NULL;

	l->begun = true;
	if (!scope)
		return 0;
	l->filter = malloc(sizeof(*l->filter));
	return l->filter ? dep_filter_init(l->filter, scope, l->thread->serial + 1) :
			  dep_fail(-ENOMEM, "threads");
}

void stream_end(struct merge *m, struct stream *l)
{
	if (l->filter) {
		dep_loader_forget(m->loader, l->filter);
		dep_filter_free(l->filter);
	}
	free(l->filter);
	l->filter = NULL;
}

const struct dep_segment *stream_next_segment(const struct stream *l)
{
	const struct dep_segment *seg = l->seg + (l->now && !l->now->prefix);

	return l->seg < l->end && seg < l->end ? seg : NULL;
}

void merge_stream_free(struct merge *m, struct stream *l)
{
	if (l->asked)
		dep_loaded_free(dep_loader_take(m->loader, l->asked));
	dep_loaded_free(l->now);
	dep_loaded_free(l->next);
	l->asked = NULL;
	l->now = l->next = NULL;
	stream_end(m, l);
}
