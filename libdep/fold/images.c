// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "images.h"

/* Enough for each row to be compared many times; a normal store has few rows that overlap. */
#define STEPS_PER_ROW	4096u

static int by_place(const void *pa, const void *pb)
{
	const struct dep_module *a = ((const struct dep_images_row *)pa)->m;
	const struct dep_module *b = ((const struct dep_images_row *)pb)->m;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

int dep_images_make(struct dep_images *im, struct dep_store *store)
{
	struct dep_images_row *r;
	size_t i;

	*im = (struct dep_images){ 0 };
	im->n = dep_store_modules(store, &im->module);
	im->steps = (im->n + 1) * STEPS_PER_ROW;
	im->row = calloc(im->n + 1, sizeof(*im->row));
	if (!im->row)
		return dep_fail(-ENOMEM, "mapped files");
	for (i = 0; i < im->n; i++)
		im->row[i].m = &im->module[i];
	if (im->n)
		qsort(im->row, im->n, sizeof(*im->row), by_place);
	for (i = 0; i < im->n; i++) {
		r = &im->row[i];
		r->reach = r->m->end;
		if (i && r[-1].m->process == r->m->process && r[-1].reach > r->reach)
			r->reach = r[-1].reach;
	}
	return 0;
}

void dep_images_free(struct dep_images *im)
{
	free(im->row);
	*im = (struct dep_images){ 0 };
}

static bool covers(const struct dep_module *m, u32 process, u64 pc, u64 time_ns)
{
	return m->process == process && pc >= m->start && pc < m->end && time_ns >= m->from_ns &&
	       (!m->to_ns || time_ns < m->to_ns);
}

/* Number of rows in front of the first one that starts behind @pc of @process. */
static size_t rows_up_to(const struct dep_images *im, u32 process, u64 pc)
{
	size_t lo = 0, hi = im->n, mid;
	const struct dep_module *m;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		m = im->row[mid].m;
		if (m->process < process || (m->process == process && m->start <= pc))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

u32 dep_images_find(struct dep_images *im, u32 process, u64 pc, u64 time_ns)
{
	const struct dep_images_row *r;
	size_t i;

	if (im->last && covers(im->last, process, pc, time_ns))
		return (u32)(im->last - im->module) + 1;
	for (i = rows_up_to(im, process, pc); i > 0 && im->steps; im->steps--) {
		r = &im->row[--i];
		if (r->m->process != process || r->reach <= pc)
			break;
		if (!covers(r->m, process, pc, time_ns))
			continue;
		im->last = r->m;
		return (u32)(r->m - im->module) + 1;
	}
	return 0;
}
