// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "vector_clock.h"
#include "clock_log.h"

static size_t vec_size(u32 n)
{
	return sizeof(struct race_vec) + n * sizeof(struct race_chunk *);
}

static void chunk_put(struct race_mem *m, struct race_chunk *c)
{
	if (c && !--c->refs)
		race_free(m, RACE_MEM_CLOCKS, c, sizeof(*c));
}

struct race_vec *race_vec_ref(struct race_vec *v)
{
	if (v)
		v->refs++;
	return v;
}

void race_vec_put(struct race_mem *m, struct race_vec *v)
{
	u32 i;

	if (!v || --v->refs)
		return;
	for (i = 0; i < v->n; i++)
		chunk_put(m, v->chunk[i]);
	race_free(m, RACE_MEM_CLOCKS, v, vec_size(v->n));
}

void race_clock_free(struct race_mem *m, struct race_clock *c)
{
	race_vec_put(m, c->vec);
	memset(c, 0, sizeof(*c));
}

void race_clock_copy(struct race_mem *m, struct race_clock *c, const struct race_clock *from)
{
	struct race_vec *old = c->vec;

	race_vec_ref(from->vec);
	*c = *from;
	race_vec_put(m, old);
}

/* Make *@v an unshared vector (reference count 1) of at least @n chunks, by a copy if necessary. */
static int own_vec(struct race_mem *m, struct race_vec **v, u32 n)
{
	struct race_vec *old = *v, *new;
	u32 i;

	if (old && old->n > n)
		n = old->n;
	if (old && old->refs == 1 && old->n == n)
		return 0;
	new = race_alloc(m, RACE_MEM_CLOCKS, vec_size(n));
	if (!new)
		return -ENOMEM;
	new->refs = 1;
	new->n = n;
	for (i = 0; old && i < old->n; i++) {
		new->chunk[i] = old->chunk[i];
		if (new->chunk[i])
			new->chunk[i]->refs++;
	}
	race_vec_put(m, old);
	*v = new;
	return 0;
}

/* Make chunk @i of the unshared vector @v unshared, by a copy if necessary. */
static int own_chunk(struct race_mem *m, struct race_vec *v, u32 i)
{
	struct race_chunk *old = v->chunk[i], *new;

	if (old && old->refs == 1)
		return 0;
	new = race_alloc(m, RACE_MEM_CLOCKS, sizeof(*new));
	if (!new)
		return -ENOMEM;
	if (old) {
		memcpy(new, old, sizeof(*new));
		old->refs--;
	}
	new->refs = 1;
	v->chunk[i] = new;
	return 0;
}

int race_clock_raise(struct race_mem *m, struct race_clock *c, u32 thread, u64 value,
		     struct race_history *log, u32 version)
{
	int ret;

	if (race_clock_get(c, thread) >= value)
		return 0;
	if (thread == c->owner) {
		c->epoch = value;
		return 1;
	}
	ret = own_vec(m, &c->vec, thread / RACE_CHUNK + 1);
	if (!ret)
		ret = own_chunk(m, c->vec, thread / RACE_CHUNK);
	if (!ret && log)
		ret = race_history_add(m, log, version, thread, value);
	if (ret)
		return ret;
	c->vec->chunk[thread / RACE_CHUNK]->value[thread % RACE_CHUNK] = value;
	return 1;
}

/* Join chunk @o into chunk @i of @c. The component of @c's owner is skipped. */
static int join_chunk(struct race_mem *m, struct race_clock *c, u32 i, struct race_chunk *o,
		      struct race_history *log, u32 version)
{
	static const struct race_chunk none;
	const struct race_chunk *mine = &none;
	bool less = false, more = false;
	u32 j, first = i * RACE_CHUNK;
	int ret;

	if (c->vec && i < c->vec->n && c->vec->chunk[i])
		mine = c->vec->chunk[i];
	if (mine == o)
		return 0;
	for (j = 0; j < RACE_CHUNK; j++) {
		if (first + j == c->owner)
			continue;
		less |= mine->value[j] < o->value[j];
		more |= mine->value[j] > o->value[j];
	}
	if (!less)
		return 0;
	for (j = 0; log && j < RACE_CHUNK; j++) {
		if (first + j == c->owner || mine->value[j] >= o->value[j])
			continue;
		ret = race_history_add(m, log, version, first + j, o->value[j]);
		if (ret)
			return ret;
	}
	ret = own_vec(m, &c->vec, i + 1);
	if (ret)
		return ret;
	if (!more) {
		o->refs++;
		chunk_put(m, c->vec->chunk[i]);
		c->vec->chunk[i] = o;
		return 1;
	}
	ret = own_chunk(m, c->vec, i);
	if (ret)
		return ret;
	for (j = 0; j < RACE_CHUNK; j++)
		if (c->vec->chunk[i]->value[j] < o->value[j])
			c->vec->chunk[i]->value[j] = o->value[j];
	return 1;
}

int race_clock_join(struct race_mem *m, struct race_clock *c, const struct race_clock *other,
		    struct race_history *log, u32 version)
{
	const struct race_vec *v = other->vec;
	int ret, changed = 0;
	u32 i;

	if (!other->epoch)
		return 0;
	if (other->whole && race_clock_get(c, other->owner) >= other->epoch)
		return 0;
	for (i = 0; v && v != c->vec && i < v->n; i++) {
		if (!v->chunk[i])
			continue;
		ret = join_chunk(m, c, i, v->chunk[i], log, version);
		if (ret < 0)
			return ret;
		changed |= ret;
	}
	/* If @c is an object's clock, @other may have a newer component of @c's owner. */
	if (race_vec_get(v, c->owner) > c->epoch) {
		c->epoch = race_vec_get(v, c->owner);
		changed = 1;
	}
	ret = race_clock_raise(m, c, other->owner, other->epoch, log, version);
	return ret < 0 ? ret : changed | ret;
}
