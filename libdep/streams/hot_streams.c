// SPDX-License-Identifier: LGPL-2.1-or-later
/* A set of streams by their symbols. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "hot.h"

/*
 * @symbol: symbols of all streams, one after another; @nsymbols of them belong to streams
 * @slot: 1 + index of a stream, or 0; their number is a power of two
 * @seed: of the hash, random: a recording is hostile input
 */
struct hot_streams {
	size_t limit;
	u64 seed;
	u64 *symbol;
	size_t nsymbols, symbols_room;
	struct hot_stream *stream;
	size_t n, room;
	u32 *slot;
	size_t slots;
};

struct hot_streams *hot_streams_new(size_t memory)
{
	struct hot_streams *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->limit = memory;
	if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed)) {
		free(s);
		return NULL;
	}
	return s;
}

void hot_streams_free(struct hot_streams *s)
{
	if (!s)
		return;
	free(s->symbol);
	free(s->stream);
	free(s->slot);
	free(s);
}

static size_t memory(const struct hot_streams *s)
{
	return s->symbols_room * sizeof(*s->symbol) + s->room * sizeof(*s->stream) +
	       s->slots * sizeof(*s->slot);
}

/* An array grows by half; while it is copied there are two of it. */
static int enlarge(struct hot_streams *s, void **array, size_t *room, size_t want, size_t size)
{
	size_t more = *room + *room / 2 < want ? want : *room + *room / 2;
	void *p;

	if (memory(s) + more * size > s->limit)
		return -ENOSPC;
	p = realloc(*array, more * size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = more;
	return 0;
}

static u64 hash(const struct hot_streams *s, const struct hot_stream *t)
{
	return XXH3_64bits_withSeed(s->symbol + t->first, t->length * sizeof(*s->symbol),
				    s->seed ^ t->owner);
}

/* The slot of the stream @t, or a free one. */
static u32 *find(const struct hot_streams *s, const struct hot_stream *t)
{
	const struct hot_stream *o;
	size_t i;

	for (i = hash(s, t) & (s->slots - 1); s->slot[i]; i = (i + 1) & (s->slots - 1)) {
		o = &s->stream[s->slot[i] - 1];
		if (o->length == t->length && o->owner == t->owner &&
		    !memcmp(s->symbol + o->first, s->symbol + t->first,
			    t->length * sizeof(*s->symbol)))
			break;
	}
	return &s->slot[i];
}

static int enlarge_slots(struct hot_streams *s)
{
	size_t i, n = s->slots ? 2 * s->slots : 64;
	u32 *slot;

	if (memory(s) + n * sizeof(*slot) > s->limit || s->n >= UINT32_MAX / 2)
		return -ENOSPC;
	slot = calloc(n, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(s->slot);
	s->slot = slot;
	s->slots = n;
	for (i = 0; i < s->n; i++)
		*find(s, &s->stream[i]) = (u32)i + 1;
	return 0;
}

static int make_room(struct hot_streams *s, u64 length)
{
	int err = 0;

	if (length > UINT32_MAX)
		return -E2BIG;
	if (s->nsymbols + length > s->symbols_room)
		err = enlarge(s, (void **)&s->symbol, &s->symbols_room, s->nsymbols + length,
			      sizeof(*s->symbol));
	if (!err && s->n == s->room)
		err = enlarge(s, (void **)&s->stream, &s->room, s->n + 16, sizeof(*s->stream));
	if (!err && 2 * (s->n + 1) > s->slots)
		err = enlarge_slots(s);
	return err;
}

struct copy {
	u64 *to;
};

static int put(void *arg, u64 symbol)
{
	struct copy *c = arg;

	*c->to++ = symbol;
	return 0;
}

int hot_streams_add(struct hot_streams *s, const struct sequitur *g, u32 rule, u32 owner,
		    u64 times, u64 where)
{
	u64 length = sequitur_length(g, rule);
	struct hot_stream t = { .times = times, .where = where, .first = s->nsymbols,
				.length = (u32)length, .owner = owner };
	int err = make_room(s, length);
	struct hot_stream *same;
	struct copy c;
	u32 *slot;

	if (err)
		return err;
	c.to = s->symbol + s->nsymbols;
	err = sequitur_expand(g, rule, put, &c);
	if (err)
		return err;
	slot = find(s, &t);
	if (*slot) {
		same = &s->stream[*slot - 1];
		same->times += times;
		if (where < same->where)
			same->where = where;
		return 0;
	}
	s->stream[s->n++] = t;
	s->nsymbols += length;
	*slot = (u32)s->n;
	return 0;
}

size_t hot_streams_all(const struct hot_streams *s, const struct hot_stream **out)
{
	*out = s->stream;
	return s->n;
}

const u64 *hot_symbols(const struct hot_streams *s, const struct hot_stream *stream)
{
	return s->symbol + stream->first;
}
