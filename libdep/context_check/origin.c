// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Contexts of the calls that created threads and processes.
 *
 * The threads of a recording are walked one after the other, so what a child goes on from is kept
 * until it begins: the encoder's record, and a copy of the plain stack.
 */
#include <string.h>

#include "libdep/context/array.h"
#include "check.h"

/* ---- dictionaries that records need ---- */

bool check_is_pinned(const struct check *c, u32 stamp)
{
	return stamp < c->npins && c->pins[stamp];
}

static int pin(struct check *c, u32 stamp)
{
	while (c->npins <= stamp) {
		if (dep_cc_room_for(&c->pins, c->npins, &c->pins_room, sizeof(*c->pins)))
			return -ENOMEM;
		c->pins[c->npins++] = 0;
	}
	c->pins[stamp]++;
	return 0;
}

static void unpin(struct check *c, u32 stamp)
{
	if (!--c->pins[stamp] && stamp < c->oldest)
		dep_cc_history_drop(&c->encoder.history, stamp);
}

/* ---- origins ---- */

static struct dep_cc_origin *record_of(const struct check_stack *s)
{
	struct dep_cc_origin *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->refs = 1;
	if (!dep_cc_state_record(&s->encoded.state, true, &o->record))
		return o;
	free(o);
	return NULL;
}

struct check_origin *check_origin_new(struct check *c, struct check_stack *s)
{
	struct check_origin *o;

	/* Beyond this limit, the contexts of children end with their first functions. */
	if (!s->n || c->functions + s->n >= c->walk->max_frames)
		return NULL;
	o = calloc(1, sizeof(*o));
	if (!o)
		goto no_memory;
	o->function = malloc(s->n * sizeof(*o->function));
	o->record = o->function ? record_of(s) : NULL;
	if (!o->record || pin(c, o->record->record.stamp)) {
		dep_cc_origin_put(o->record);
		free(o->function);
		free(o);
		goto no_memory;
	}
	memcpy(o->function, s->function, s->n * sizeof(*o->function));
	o->n = s->n;
	o->refs = 1;
	o->parent = check_origin_get(s->origin);
	c->functions += o->n;
	return o;

no_memory:
	c->err = c->err ? c->err : -ENOMEM;
	return NULL;
}

struct check_origin *check_origin_get(struct check_origin *o)
{
	if (o)
		o->refs++;
	return o;
}

/* Threads that create threads make a list of any length. */
void check_origin_put(struct check *c, struct check_origin *o)
{
	struct check_origin *parent;

	for (; o && !--o->refs; o = parent) {
		parent = o->parent;
		unpin(c, o->record->record.stamp);
		dep_cc_origin_put(o->record);
		c->functions -= o->n;
		free(o->function);
		free(o);
	}
}

/* ---- comparison ---- */

static const char *same(const struct check *c, const struct check_origin *o)
{
	const char *why;
	size_t at = 0, i;

	for (; o; o = o->parent) {
		for (i = o->n; i-- > 0; at++) {
			if (at == c->chain.n)
				return "the decoded context of the creator has too few functions";
			why = check_same_function(c->chain.frame + at, o->function + i);
			if (why)
				return why;
		}
	}
	return at == c->chain.n ? NULL : "the decoded context of the creator has more functions";
}

/* Records and dictionaries do not change, so once for each encoding is enough. */
const char *check_origin_same(struct check *c, struct check_stack *s)
{
	struct dep_cc_origin *o = s->encoded.state.origin;
	int err;

	if (s->encodings == c->encoder.history.n)
		return NULL;
	s->encodings = c->encoder.history.n;
	if (!s->origin || !o)
		return !s->origin == !o ? NULL : "the creator of the thread is lost";
	err = dep_cc_decode_origins(&c->encoder.history, &o->record, &c->chain);
	if (err == -ENOMEM) {
		c->err = err;
		return NULL;
	}
	return err ? "the context of the creator cannot be decoded" : same(c, s->origin);
}
