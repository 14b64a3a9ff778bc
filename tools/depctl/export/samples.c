// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples in time: the instructions that a context executed in a segment.
 *
 * Times are kept in picoseconds, so that each instruction has a time of its own: a viewer that
 * nests functions by their times must not see two that are equal.
 */
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "names.h"
#include "samples.h"

#define PS_PER_NS	1000u

static bool wanted(const struct export *x, const struct dep_context_time *t)
{
	const struct dep_context *c = &x->l.contexts->context[t->context];

	if (!t->context || !t->insns)
		return false;
	if (x->thread ? t->thread != x->thread : x->process && c->process != x->process)
		return false;
	return export_chosen(x, functions_of(x->l.functions, t->context));
}

/* Rows are sorted by time already, so that their indices are. */
static int by_thread(const void *pa, const void *pb, void *arg)
{
	const struct dep_context_time *time = arg;
	const uint32_t *a = pa, *b = pb;

	if (time[*a].thread != time[*b].thread)
		return time[*a].thread < time[*b].thread ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

int samples_begin(struct samples *s, const struct export *x)
{
	const struct dep_contexts *c = x->l.contexts;
	size_t i;

	*s = (struct samples){ .x = x, .contexts = c };
	if (c->ntimes >= UINT32_MAX) {
		warn("%s has too many segments and contexts", x->path);
		return 1;
	}
	s->row = calloc(c->ntimes + 1, sizeof(*s->row));
	if (!s->row) {
		warn("out of memory");
		return 1;
	}
	for (i = 0; i < c->ntimes; i++)
		if (wanted(x, &c->time[i]))
			s->row[s->n++] = (uint32_t)i;
	qsort_r(s->row, s->n, sizeof(*s->row), by_thread, (void *)c->time);
	return 0;
}

void samples_end(struct samples *s)
{
	free(s->row);
	s->row = NULL;
}

/* When the first segment of thread @serial behind @start_ns begins; @otherwise: there is none. */
static uint64_t next_start(const struct samples *s, uint32_t serial, uint64_t start_ns,
			   uint64_t otherwise)
{
	const struct dep_segment *seg;
	size_t low = 0, high = dep_store_segments(s->x->l.store, &seg), n = high, i;

	while (low < high) {
		i = low + (high - low) / 2;
		if (seg[i].thread < serial ||
		    (seg[i].thread == serial && seg[i].start_ns <= start_ns))
			low = i + 1;
		else
			high = i;
	}
	return low < n && seg[low].thread == serial ? seg[low].start_ns : otherwise;
}

/*
 * When the segment of thread @t that begins at @start_ns ends.  The end of a thread that called
 * execve can be noticed after the new program has begun, which has the same ids.
 */
static uint64_t end_of(const struct samples *s, const struct dep_thread *t, uint64_t start_ns)
{
	const struct dep_thread *other;
	size_t n = dep_store_threads(s->x->l.store, &other), i;
	uint64_t end = next_start(s, t->serial, start_ns, 0), start;

	if (end)
		return end;
	end = t->end_ns > start_ns ? t->end_ns : start_ns;
	for (i = 0; i < n; i++) {
		if (other[i].tid != t->tid || other[i].serial <= t->serial)
			continue;
		start = next_start(s, other[i].serial, start_ns, end);
		end = start < end ? start : end;
	}
	return end;
}

/* Segments of a thread follow each other, also if the store says otherwise. */
static void set_times(const struct samples *s, struct segment_samples *b, uint64_t start_ns,
		      unsigned __int128 not_before)
{
	uint64_t end_ns = b->thread ? end_of(s, b->thread, start_ns) : start_ns;

	b->start_ps = (unsigned __int128)start_ns * PS_PER_NS;
	b->length_ps = (unsigned __int128)(end_ns - start_ns) * PS_PER_NS;
	if (b->start_ps < not_before)
		b->start_ps = not_before;
	if (b->length_ps < b->insns)
		b->length_ps = b->insns;
	/* The product in samples_time() must not overflow. */
	if (b->length_ps > UINT64_MAX)
		b->length_ps = UINT64_MAX;
}

bool samples_next(const struct samples *s, struct segment_samples *b)
{
	unsigned __int128 end = b->start_ps + b->length_ps;
	const struct dep_context_time *row, *first;
	uint32_t previous = b->serial;
	size_t i = b->first + b->n;

	if (i >= s->n)
		return false;
	first = samples_row(s, i);
	*b = (struct segment_samples){ .serial = first->thread, .first = i };
	b->new_thread = !i || first->thread != previous;
	b->thread = thread_of(s->x->l.store, b->serial);
	if (b->thread)
		b->process = process_of(s->x->l.store, b->thread->process);
	for (; i < s->n; i++, b->n++) {
		row = samples_row(s, i);
		if (row->thread != b->serial || row->start_ns != first->start_ns)
			break;
		b->insns += row->insns;
	}
	set_times(s, b, first->start_ns, b->new_thread ? 0 : end);
	return true;
}

struct moment samples_time(const struct segment_samples *b, uint64_t done)
{
	unsigned __int128 ps = b->start_ps + b->length_ps * done / b->insns;
	unsigned __int128 ns = ps / PS_PER_NS;

	if (ns > UINT64_MAX)
		return (struct moment){ .ns = UINT64_MAX };
	return (struct moment){ .ns = (uint64_t)ns, .ps = (uint32_t)(ps % PS_PER_NS) };
}

const char *samples_name(const struct samples *s, const struct segment_samples *b)
{
	if (b->thread && b->thread->name && *b->thread->name)
		return b->thread->name;
	return export_program(s->x, b->thread ? b->thread->process : 0);
}
