// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/recover/jit/jit.h"
#include "libdep/recover/interp/run.h"
#include "libdep/analyze/event_timestamp.h"
#include "segments.h"

#define PAYLOAD_BYTES	(64u << 10)

/* Memory for copies of event payloads, function values and merged accesses; it never moves. */
struct dep_payload {
	struct dep_payload *next;
	size_t used;
	char byte[PAYLOAD_BYTES];
};

/** struct dep_load_buffers - buffers that are reused from segment to segment */
struct dep_load_buffers {
	struct dep_interp run;
	struct dep_columns columns;
	/* number of items of the previous segment: allocate as many at once */
	size_t nitems;
};

static int grow(void **p, size_t *room, size_t n, size_t size)
{
	size_t want = *room ? *room : 1024;
	void *more;

	if (n <= *room)
		return 0;
	while (want < n)
		want *= 2;
	more = realloc(*p, want * size);
	if (!more)
		return dep_fail(-ENOMEM, "items");
	*p = more;
	*room = want;
	return 0;
}

static int add_mark(struct dep_segment_items *l, uint64_t timestamp, size_t item)
{
	if (grow((void **)&l->mark, &l->marks_room, l->nmarks + 1, sizeof(*l->mark)))
		return -ENOMEM;
	l->mark[l->nmarks++] = (struct dep_sync_index){ timestamp, item };
	return 0;
}

static const void *keep(struct dep_segment_items *l, const void *payload, size_t size)
{
	struct dep_payload *p = l->payloads;
	void *to;

	if (!p || p->used + size > PAYLOAD_BYTES) {
		p = malloc(sizeof(*p));
		if (!p)
			return NULL;
		p->next = l->payloads;
		p->used = 0;
		l->payloads = p;
	}
	to = memcpy(p->byte + p->used, payload, size);
	/* Align the next payload to 8 bytes. */
	p->used += (size + 7) & ~(size_t)7;
	return to;
}

static int add_event(struct dep_segment_items *l, const struct dep_event *from)
{
	struct dep_item it = { .kind = DEP_ITEM_EVENT, .event = *from };
	uint64_t timestamp;
	int err;

	it.event.payload = keep(l, from->payload, from->size);
	if (!it.event.payload)
		return dep_fail(-ENOMEM, "events");
	if (from->id == ADEPT_EV_SYSCALL)
		it.event.id |= DEP_EV_ENTER;
	for (;;) {
		timestamp = dep_event_timestamp(&it.event);
		err = timestamp ? add_mark(l, timestamp, l->nitems) : 0;
		if (err)
			return err;
		l->item[l->nitems++] = it;
		if (!(it.event.id & DEP_EV_ENTER))
			return 0;
		it.event.id &= ~DEP_EV_ENTER;
	}
}

static int add_function(struct dep_segment_items *l, struct dep_function_call *f)
{
	f->passed = keep(l, f->passed, sizeof(*f->passed));
	return f->passed ? 0 : dep_fail(-ENOMEM, "functions");
}

static int add_page_accesses(struct dep_segment_items *l, struct dep_item *it)
{
	const struct dep_page_accesses *j = it->joined;

	l->nwords += j->nwords;
	it->joined = keep(l, j, sizeof(*j) + j->nwords * sizeof(j->word[0]));
	return it->joined ? 0 : dep_fail(-ENOMEM, "items");
}

static int batch(void *arg, const struct dep_segment *seg, const struct dep_item *items, size_t n)
{
	struct dep_segment_items *l = arg;
	int err;

	(void)seg;
	err = grow((void **)&l->item, &l->room, l->nitems + 2 * n, sizeof(*l->item));
	for (; n-- && !err; items++) {
		if (items->kind == DEP_ITEM_EVENT) {
			err = add_event(l, &items->event);
			continue;
		}
		if (items->kind == DEP_ITEM_TIMESTAMP)
			err = add_mark(l, items->timestamp.timestamp, l->nitems);
		l->item[l->nitems] = *items;
		if (items->kind == DEP_ITEM_FUNCTION)
			err = add_function(l, &l->item[l->nitems].function);
		else if (items->kind == DEP_ITEM_PAGE)
			err = add_page_accesses(l, &l->item[l->nitems]);
		l->nitems += !err;
	}
	return err;
}

/*
 * Copy dep_lock_timestamp.wrote from the second timestamp of a locked instruction to the first.
 * Recovery knows it only after the instruction; the analyzer needs it before.
 */
static void tell_before(struct dep_segment_items *l)
{
	struct dep_lock_timestamp *before = NULL, *t;
	size_t i;

	for (i = 1; i < l->nmarks; i++) {
		if (l->item[l->mark[i].item].kind != DEP_ITEM_TIMESTAMP)
			continue;
		t = &l->item[l->mark[i].item].timestamp;
		if (!t->after) {
			before = t;
			before->wrote = 1;
		} else if (before && before->pc == t->pc) {
			before->wrote = t->wrote;
		}
	}
}

/* Free unused memory of the arrays, since a loaded segment may wait for long. */
static void give_back(struct dep_segment_items *l)
{
	struct dep_item *item = l->nitems ? realloc(l->item, l->nitems * sizeof(*item)) : NULL;
	struct dep_sync_index *mark = realloc(l->mark, l->nmarks * sizeof(*mark));

	if (item) {
		l->item = item;
		l->room = l->nitems;
	}
	if (mark) {
		l->mark = mark;
		l->marks_room = l->nmarks;
	}
}

struct dep_load_buffers *dep_load_buffers_new(void)
{
	static const struct dep_sink nowhere;
	struct dep_load_buffers *p = calloc(1, sizeof(*p));

	if (p)
		dep_interp_init(&p->run, &p->columns, &nowhere, NULL);
	return p;
}

void dep_load_buffers_free(struct dep_load_buffers *p)
{
	if (!p)
		return;
	dep_interp_free(&p->run);
	dep_columns_free(&p->columns);
	free(p);
}

/* The parameters of dep_load(). */
struct how {
	struct dep_columns *columns;	/* columns of the segment; NULL: read from the store */
	unsigned int want;
	struct dep_filter *filter;
	bool more;
};

/* Recover the items of @seg into @l, or set l->err. */
static void recover(struct dep_segment_items *l, struct dep_store *s, const struct dep_segment *seg,
		    const struct how *how, struct dep_load_buffers *p)
{
	struct dep_filter *filter = how->filter;
	const struct dep_sink sink = {
		.want = how->want | DEP_WANT_EVENTS | DEP_WANT_TIMESTAMPS, .batch = batch, .arg = l,
	};
	struct dep_interp *r = &p->run;

	dep_interp_again(r, how->columns ? how->columns : &p->columns, &sink);
	r->filter = filter;
	r->more = how->more;
	r->filtered = filter && !filter->scope->wanted &&
		  !(how->want & (DEP_WANT_BLOCKS | DEP_WANT_CALLS | DEP_WANT_JUMPS));
	r->jit = r->filtered && !filter->scope->interpret ? dep_jit_of(s) : NULL;
	if (filter && seg->seq != filter->next_seq)
		dep_filter_reset(filter);
	if (filter) {
		filter->next_seq = seg->seq + 1;
		filter->timestamps_stay = seg->seq == filter->peeked;
	}
	l->err = how->columns ? dep_recover_columns(s, seg, r, &l->counts) :
				dep_recover_traced(s, seg, r, &l->counts);
	if (l->err) {
		strncpy(l->why, dep_error(), sizeof(l->why) - 1);
	} else {
		l->mark[0].timestamp = r->columns->h.timestamp;
		l->lost_bytes = r->columns->h.lost_bytes;
	}
	/*
	 * Data is missing from here on: the filter must forget the functions that the thread is in.
	 */
	if (filter && (l->err || l->lost_bytes))
		dep_filter_reset(filter);
}

static struct dep_segment_items *load(struct dep_store *s, const struct dep_segment *seg,
				      const struct how *how, struct dep_load_buffers *space)
{
	struct dep_load_buffers *p = space ? space : dep_load_buffers_new();
	struct dep_segment_items *l = calloc(1, sizeof(*l));

	if (!l || !p || add_mark(l, 0, 0) ||
	    grow((void **)&l->item, &l->room, p->nitems, sizeof(*l->item))) {
		dep_loaded_free(l);
		l = NULL;
		goto out;
	}
	recover(l, s, seg, how, p);
	p->nitems = l->nitems;
	tell_before(l);
	give_back(l);
out:
	if (p != space)
		dep_load_buffers_free(p);
	return l;
}

struct dep_segment_items *dep_load(struct dep_store *s, const struct dep_segment *seg,
				   unsigned int want, struct dep_filter *filter, bool more,
				   struct dep_load_buffers *space)
{
	return load(s, seg, &(struct how){ NULL, want, filter, more }, space);
}

struct dep_segment_items *dep_load_columns(struct dep_store *s, const struct dep_segment *seg,
					   struct dep_columns *c, unsigned int want,
					   struct dep_filter *filter)
{
	return load(s, seg, &(struct how){ c, want, filter, false }, NULL);
}

void dep_loaded_free(struct dep_segment_items *l)
{
	struct dep_payload *p;

	if (!l)
		return;
	while ((p = l->payloads)) {
		l->payloads = p->next;
		free(p);
	}
	free(l->item);
	free(l->mark);
	free(l);
}

uint64_t dep_segment_timestamp(struct dep_store *s, const struct dep_segment *seg)
{
	struct dep_seg_header h;

	return dep_store_header(s, seg, &h) ? 0 : h.timestamp;
}
