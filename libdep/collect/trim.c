// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/write/pack.h"
#include "trim.h"

#define FRAGMENT_BYTES	400u	/* typical size of a fragment's descriptor and index */

/* ---- what processes say ---- */

static size_t place_of(const struct dep_fates *f, u32 process)
{
	size_t low = 0, high = f->n, half;

	while (low < high) {
		half = low + (high - low) / 2;
		if (f->row[half].process < process)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

static struct dep_fate *find(const struct dep_fates *f, u32 process)
{
	size_t i = place_of(f, process);

	return i < f->n && f->row[i].process == process ? &f->row[i] : NULL;
}

static struct dep_fate *get(struct dep_fates *f, u32 process)
{
	size_t i = place_of(f, process), room = f->room ? 2 * f->room : 16;
	struct dep_fate *more;

	if (i < f->n && f->row[i].process == process)
		return &f->row[i];
	if (f->n == f->room) {
		more = realloc(f->row, room * sizeof(*more));
		if (!more)
			return NULL;
		f->bytes += (room - f->room) * sizeof(*more);
		f->row = more;
		f->room = room;
	}
	memmove(&f->row[i + 1], &f->row[i], (f->n++ - i) * sizeof(*f->row));
	f->row[i] = (struct dep_fate){ .process = process };
	return &f->row[i];
}

static int note_removed(struct dep_fates *f, struct dep_fate *p,
			const struct adept_desc_removed *d)
{
	u32 room = p->room ? 2 * p->room : 256;
	struct dep_dead *more;

	/* A child may have it, or the process has not described it. */
	if (d->first_exit < p->pinned || d->first_exit >= p->highest)
		return 0;
	if (p->ndead == p->room) {
		more = realloc(p->dead, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		f->bytes += (room - p->room) * sizeof(*more);
		p->dead = more;
		p->room = room;
	}
	p->dead[p->ndead++] = (struct dep_dead){ .first_exit = d->first_exit, .ns = d->time_ns };
	f->loose += FRAGMENT_BYTES;
	return 0;
}

int dep_fates_note(struct dep_fates *f, u32 process, const struct adept_desc *h)
{
	const struct adept_desc_frag *frag = (const void *)h;
	struct dep_fate *p = get(f, process);

	if (!p)
		return -ENOMEM;
	switch (h->type) {
	case ADEPT_DESC_FRAGMENT:
		if (frag->first_exit + frag->nexits > p->highest)
			p->highest = frag->first_exit + frag->nexits;
		return 1;
	case ADEPT_DESC_REMOVED:
		return note_removed(f, p, (const void *)h);
	case ADEPT_DESC_FORKED:
		p->pinned = p->highest;
		return 1;
	case ADEPT_DESC_UNMAP:
		f->loose += h->size + sizeof(struct adept_desc_map);
		return 1;
	case ADEPT_DESC_MAP:
		/* It may replace another one. */
		f->loose += h->size / 2;
		return 1;
	}
	return 1;
}

int dep_fates_inherits(struct dep_fates *f, u32 process)
{
	struct dep_fate *p = get(f, process);

	if (p)
		p->inherits = true;
	return p ? 0 : -ENOMEM;
}

void dep_fates_forget(struct dep_fates *f, u32 process)
{
	struct dep_fate *p = find(f, process);

	if (!p)
		return;
	f->bytes -= p->room * sizeof(*p->dead);
	free(p->dead);
	f->n--;
	memmove(p, p + 1, (size_t)(f->row + f->n - p) * sizeof(*p));
}

void dep_fates_free(struct dep_fates *f)
{
	while (f->n)
		free(f->row[--f->n].dead);
	free(f->row);
	*f = (struct dep_fates){ 0 };
}

/* ---- a trim ---- */

/* Forget a removal of a fragment that is not known (any more). */
static void number_dead(struct dep_fate *p, const struct dep_trim_ops *ops)
{
	u32 i, n = 0;

	for (i = 0; i < p->ndead; i++)
		if (ops->frag(ops->arg, p->dead[i].first_exit, &p->dead[i].number))
			p->dead[n++] = p->dead[i];
	p->ndead = n;
}

static void widen(struct dep_trim *t, const struct dep_fate *p, u32 *last)
{
	u32 i;

	for (i = 0; i < p->ndead; i++) {
		if (p->dead[i].ns >= t->begin_ns)
			continue;
		if (p->dead[i].number < t->from)
			t->from = p->dead[i].number;
		if (p->dead[i].number > *last)
			*last = p->dead[i].number;
		if (p->dead[i].ns > t->last_ns)
			t->last_ns = p->dead[i].ns;
	}
}

struct dep_trim *dep_trim_begin(struct dep_fates *f, u64 ns, const struct dep_trim_ops *ops)
{
	struct dep_trim *t = calloc(1, sizeof(*t));
	u32 last = 0;
	size_t i;

	if (!t)
		return NULL;
	t->fates = f;
	t->ops = *ops;
	t->begin_ns = ns;
	t->from = UINT32_MAX;
	f->loose = 0;
	for (i = 0; i < f->n; i++) {
		f->row[i].cutoff = f->row[i].oldest = ns;
		f->row[i].has_thread = false;
		number_dead(&f->row[i], ops);
		widen(t, &f->row[i], &last);
	}
	if (t->from <= last) {
		t->n = last - t->from + 1;
		t->bits = calloc(1, t->n / 8 + 1);
	}
	if (t->n && !t->bits) {
		free(t);
		return NULL;
	}
	return t;
}

/* A position names a fragment by its first exit. */
static void mark_position(struct dep_trim *t, u32 first_exit)
{
	u32 number;

	if (first_exit && t->ops.frag(t->ops.arg, first_exit, &number) && number - t->from < t->n)
		t->bits[(number - t->from) / 8] |= (u8)(1u << (number - t->from) % 8);
}

void dep_trim_mark(struct dep_trim *t, const u8 *body, u32 size, u32 head, u32 tail)
{
	if (!t->n)
		return;
	t->ops.named(t->ops.arg, body, size, t->from, t->n, t->bits);
	mark_position(t, head);
	mark_position(t, tail);
}

void dep_trim_thread(struct dep_trim *t, u32 process, u64 cutoff, u64 oldest)
{
	struct dep_fate *p = find(t->fates, process);

	if (!p)
		return;
	p->has_thread = true;
	if (p->cutoff > cutoff)
		p->cutoff = cutoff;
	if (p->oldest > oldest)
		p->oldest = oldest;
}

static bool is_useless(const struct dep_trim *t, const struct dep_fate *p,
		       const struct dep_dead *d)
{
	u32 i = d->number - t->from;

	return d->ns < p->cutoff && i < t->n && !(t->bits[i / 8] & 1u << i % 8);
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* Drop what is useless of process @p. Without memory nothing is dropped. */
static void end_process(struct dep_trim *t, struct dep_fate *p, struct dep_batches *b)
{
	u32 *useless = malloc((p->ndead + 1) * sizeof(*useless)), i, n = 0, left = 0;
	struct dep_forgotten *dropped;

	for (i = 0; i < p->ndead; i++)
		n += is_useless(t, p, &p->dead[i]);
	dropped = malloc(sizeof(*dropped) + n * sizeof(dropped->frag[0]));
	if (!useless || !dropped) {
		free(useless);
		free(dropped);
		return;
	}
	dropped->n = 0;
	for (i = 0, n = 0; i < p->ndead; i++) {
		if (is_useless(t, p, &p->dead[i]))
			useless[n++] = p->dead[i].first_exit;
		else
			p->dead[left++] = p->dead[i];
	}
	p->ndead = left;
	qsort(useless, n, sizeof(*useless), compare);
	dep_trim_batches(b, p, useless, n, dropped);
	free(useless);
	if (dropped->n)
		t->ops.forget(t->ops.arg, dropped);
	else
		free(dropped);
}

void dep_trim_end(struct dep_trim *t, struct dep_batches *b)
{
	size_t i;

	for (i = 0; i < t->fates->n; i++)
		if (t->fates->row[i].has_thread)
			end_process(t, &t->fates->row[i], b);
	dep_trim_free(t);
}

void dep_trim_free(struct dep_trim *t)
{
	if (!t)
		return;
	free(t->bits);
	free(t);
}
