// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Find the file that a process had mapped at an address. The store has mappings with executed code,
 * with their times, and all that a process had when it was attached to. The addresses of a file's
 * data are computed from its program headers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libdep/format/read/store.h"
#include "internal.h"

#define PAGE	4096ull

static int by_place(const void *pa, const void *pb)
{
	const struct dep_module *a = ((const struct dep_row *)pa)->m;
	const struct dep_module *b = ((const struct dep_row *)pb)->m;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	/* Mappings with the same address and time keep the order of the store. */
	return a < b ? -1 : a > b;
}

int dep_rows_build(struct dep_symbols *s)
{
	const struct dep_module *m;
	size_t i, n = dep_store_modules(s->store, &m);
	struct dep_row *r;

	free(s->row);
	s->row = NULL;
	s->nrows = 0;
	s->have_inst = false;
	s->rows_version = s->store->modules_version;
	if (!n)
		return 0;
	s->row = calloc(n, sizeof(*s->row));
	if (!s->row)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		s->row[i].m = &m[i];
	qsort(s->row, n, sizeof(*s->row), by_place);
	for (i = 0; i < n; i++) {
		r = &s->row[i];
		r->reach = r->m->end;
		if (i && r[-1].m->process == r->m->process && r[-1].reach > r->reach)
			r->reach = r[-1].reach;
	}
	s->nrows = n;
	return 0;
}

/* Read the modules again if the store has grown. If memory is short, no names are found. */
static void renew(struct dep_symbols *s)
{
	if (s->rows_version != s->store->modules_version)
		dep_rows_build(s);
}

/*
 * Rows (executable mappings) are sorted by process and start address. Return: the number of rows
 * that come before the first one that starts after @pc of @process.
 */
static size_t rows_up_to(const struct dep_symbols *s, u32 process, u64 pc)
{
	size_t lo = 0, hi = s->nrows, mid;
	const struct dep_module *m;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		m = s->row[mid].m;
		if (m->process < process || (m->process == process && m->start <= pc))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Return: how far @time_ns is from the time in which the module was mapped, 0 if it is inside.
 * If @time_ns is 0, a later mapping has a smaller distance.
 */
static u64 distance(const struct dep_module *m, u64 time_ns)
{
	if (!time_ns)
		return UINT64_MAX - m->from_ns;
	if (time_ns < m->from_ns)
		return m->from_ns - time_ns;
	return m->to_ns && time_ns >= m->to_ns ? time_ns - m->to_ns + 1 : 0;
}

static bool same_file(const struct dep_module *a, const struct dep_module *b)
{
	return a->start - a->offset == b->start - b->offset && !strcmp(a->path, b->path) &&
	       !strcmp(a->build_id, b->build_id);
}

struct dep_row *dep_row_at(struct dep_symbols *s, u32 process, u64 pc, u64 time_ns,
			   bool *ambiguous)
{
	struct dep_row *r, *best = NULL;
	bool other = false;
	size_t i;

	renew(s);
	i = rows_up_to(s, process, pc);
	while (i-- > 0) {
		r = &s->row[i];
		if (r->m->process != process || r->reach <= pc)
			break;
		if (r->m->end <= pc)
			continue;
		if (best && !same_file(best->m, r->m))
			other = true;
		if (!best || distance(r->m, time_ns) < distance(best->m, time_ns))
			best = r;
	}
	/* Not ambiguous if the best row (mapping) existed at @time_ns. */
	*ambiguous = other && (!time_ns || distance(best->m, time_ns));
	return best;
}

static struct dep_image *image_of(struct dep_symbols *s, const struct dep_module *m)
{
	const char *path = dep_string(&s->strings, m->path);
	const char *id = dep_string(&s->strings, m->build_id);
	struct dep_image **p;
	size_t i;

	for (i = 0; i < s->nimages; i++)
		if (s->image[i]->path == path && s->image[i]->build_id == id)
			return s->image[i];
	p = dep_grow(s->image, s->nimages, &s->images_room, sizeof(*p));
	if (!p)
		return NULL;
	s->image = p;
	p[s->nimages] = dep_image_new(s, m);
	if (!p[s->nimages])
		return NULL;
	dep_image_open(p[s->nimages]);
	return p[s->nimages++];
}

/* A file without code that has no build-id is mostly no program or library. */
static bool is_image(const struct dep_module *m)
{
	return m->path[0] == '/' && (m->prot & PROT_EXEC || m->build_id[0]);
}

struct dep_image *dep_row_image(struct dep_symbols *s, struct dep_row *row)
{
	if (!row->looked && is_image(row->m))
		row->image = image_of(s, row->m);
	row->looked = true;
	return row->image && row->image->nloads ? row->image : NULL;
}

/*
 * Add a mapped file with all its segments. If it was added before with the same @bias (load address
 * minus linked address), only extend the time in which it was mapped.
 */
static void add_instance(struct dep_symbols *s, const struct dep_module *m, struct dep_image *im,
			 u64 bias)
{
	struct dep_instance *p, *in;
	size_t i;

	for (i = 0; i < s->ninst; i++) {
		in = &s->inst[i];
		if (in->image != im || in->bias != bias)
			continue;
		if (m->from_ns < in->from_ns)
			in->from_ns = m->from_ns;
		if (in->to_ns && (!m->to_ns || m->to_ns > in->to_ns))
			in->to_ns = m->to_ns;
		return;
	}
	p = dep_grow(s->inst, s->ninst, &s->inst_room, sizeof(*p));
	if (p)
		s->inst = p;
	if (!p || s->ninst >= DEP_INSTANCES)
		return;
	in = &p[s->ninst++];
	*in = (struct dep_instance){ .process = m->process, .image = im, .bias = bias,
				     .lo = UINT64_MAX, .from_ns = m->from_ns,
				     .to_ns = m->to_ns };
	for (i = 0; i < im->nloads; i++) {
		if (im->load[i].vaddr < in->lo)
			in->lo = im->load[i].vaddr;
		if (im->load[i].vaddr + im->load[i].memsz > in->hi)
			in->hi = im->load[i].vaddr + im->load[i].memsz;
	}
	in->lo += bias;
	in->hi += bias;
}

struct dep_instance *dep_instance_of(struct dep_symbols *s, const struct dep_image *im, u64 addr)
{
	size_t i;

	for (i = 0; i < s->ninst; i++)
		if (s->inst[i].image == im && addr >= (s->inst[i].lo & -PAGE) &&
		    addr < s->inst[i].hi)
			return &s->inst[i];
	return NULL;
}

/*
 * Add the files of the rows from @i on that have code, or of those that have none. A page at the
 * boundary of two segments is mapped twice, so mappings without code do not tell the load address
 * of a file for certain: they count only if there are no others.
 */
static void add_files(struct dep_symbols *s, size_t i, u32 process, bool code)
{
	const struct dep_module *m;
	struct dep_image *im;
	u64 vaddr;

	for (; i < s->nrows && s->row[i].m->process == process; i++) {
		m = s->row[i].m;
		im = !!(m->prot & PROT_EXEC) == code ? dep_row_image(s, &s->row[i]) : NULL;
		if (im && (code || !dep_instance_of(s, im, m->start)) &&
		    dep_image_linked(im, m, m->offset, &vaddr))
			add_instance(s, m, im, m->start - vaddr);
	}
}

size_t dep_instances(struct dep_symbols *s, u32 process, struct dep_instance **out)
{
	size_t i;

	renew(s);
	if (!s->have_inst || s->inst_process != process) {
		s->ninst = 0;
		s->inst_process = process;
		s->have_inst = true;
		/* Find the first row (mapping) of the process: rows are sorted by process. */
		i = process ? rows_up_to(s, process - 1, UINT64_MAX) : 0;
		add_files(s, i, process, true);
		add_files(s, i, process, false);
	}
	*out = s->inst;
	return s->ninst;
}
