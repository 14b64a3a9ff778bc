// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "access_history.h"

#define SMALL		8u	/* maximum units of a history that is put into a free gap */
#define CHUNK_SIZE	((size_t)RACE_ARENA * RACE_UNIT)

static u32 units_of(u32 info)
{
	if (info & ACCESS_HISTORY_FREE)
		return info & ACCESS_HISTORY_N;
	if (info & ACCESS_HISTORY_SPLIT)
		return (sizeof(struct access_history) + 8 * 4 + RACE_UNIT - 1) / RACE_UNIT;
	return (sizeof(struct access_history) + (info & ACCESS_HISTORY_N) * 12 + RACE_UNIT - 1) /
	       RACE_UNIT;
}

static u64 mix(u64 h, u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static u32 hash_accesses(u32 info, u32 n, const u64 *when, const u32 *site)
{
	u64 h = info & (ACCESS_HISTORY_N | ACCESS_HISTORY_FULL);
	u32 i;

	for (i = 0; i < n; i++)
		h = mix(mix(h, when[i]), site[i]);
	return h >> 20;
}

static u32 hash_split(const u32 *part)
{
	u64 h = 1;
	u32 i;

	for (i = 0; i < 8; i += 2)
		h = mix(h, (u64)part[i] << 32 | part[i + 1]);
	return h >> 20;
}

static u32 hash_of(struct access_history *s)
{
	return s->info & ACCESS_HISTORY_SPLIT
		       ? hash_split(access_history_part(s))
		       : hash_accesses(s->info, access_history_n(s), access_history_when(s),
				       access_history_site(s));
}

/* Find the index for a new chunk: that of a freed chunk, or one more. */
static int add_slot(struct race_mem *m, struct access_histories *s, u32 *slot)
{
	u32 room = s->room ? s->room * 2 : 16;
	u8 **p;

	for (*slot = 0; s->gaps && *slot < s->nchunks; ++*slot)
		if (!s->chunk[*slot])
			return 0;
	/* An id has 31 bits (see local_shadow.h), which limits the number of chunks. */
	if (s->nchunks == RACE_ARENA / 2)
		return -ENOMEM;
	if (s->nchunks == s->room) {
		p = race_grow(m, RACE_MEM_STATES, s->chunk, s->room * sizeof(*p),
			      room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->chunk = p;
		s->room = room;
	}
	*slot = s->nchunks++;
	s->chunk[*slot] = NULL;
	s->gaps++;
	return 0;
}

static int add_chunk(struct race_mem *m, struct access_histories *s)
{
	u32 slot;

	if (add_slot(m, s, &slot))
		return -ENOMEM;
	s->chunk[slot] = race_alloc(m, RACE_MEM_STATES, CHUNK_SIZE);
	if (!s->chunk[slot])
		return -ENOMEM;
	s->gaps--;
	s->last = slot;
	s->used = 0;
	return 0;
}

/* Mark the @units from @id on as free memory. */
static void set_free(struct access_histories *s, u32 id, u32 units)
{
	if (units)
		access_histories_get(s, id)->info = ACCESS_HISTORY_FREE | units;
}

static void next_hole(struct access_histories *s)
{
	struct access_history *h;

	set_free(s, s->hole, s->hole_end - s->hole);
	s->hole = s->hole_end = 0;
	if (!s->holes)
		return;
	h = access_histories_get(s, s->holes);
	s->hole = s->holes;
	s->hole_end = s->hole + (h->info & ACCESS_HISTORY_N);
	s->holes = h->next;
}

/* Allocate @units for a history. Return: its id; 0: no memory. */
static u32 take(struct race_mem *m, struct access_histories *s, u32 units)
{
	u32 id;

	s->fresh += units * RACE_UNIT;
	if (units <= SMALL) {
		while (s->hole_end - s->hole < units && (s->holes || s->hole))
			next_hole(s);
		if (s->hole) {
			id = s->hole;
			s->hole += units;
			return id;
		}
	}
	if (RACE_ARENA - s->used < units) {
		set_free(s, s->last * RACE_ARENA + s->used, RACE_ARENA - s->used);
		s->used = RACE_ARENA;
		if (add_chunk(m, s))
			return 0;
	}
	id = s->last * RACE_ARENA + s->used;
	s->used += units;
	return id;
}

static void link_state(struct access_histories *s, u32 id, u32 h)
{
	u32 *at = &s->head[h & (s->heads - 1)];

	access_histories_get(s, id)->next = *at;
	*at = id;
}

static void each(struct access_histories *s, void (*f)(void *, u32, struct access_history *),
		 void *arg)
{
	u32 c, u, end, units;
	struct access_history *state;

	/* Mark the rest of the current gap as free, so that this walk over all memory skips it. */
	set_free(s, s->hole, s->hole_end - s->hole);
	for (c = 0; c < s->nchunks; c++) {
		if (!s->chunk[c])
			continue;
		end = c == s->last ? s->used : RACE_ARENA;
		for (u = c ? 0 : 1; u < end; u += units) {
			state = access_histories_get(s, c * RACE_ARENA + u);
			units = units_of(state->info);
			if (f)
				f(arg, c * RACE_ARENA + u, state);
		}
	}
}

static void relink(void *arg, u32 id, struct access_history *state)
{
	if (!(state->info & ACCESS_HISTORY_FREE))
		link_state(arg, id, hash_of(state));
}

static int add_heads(struct race_mem *m, struct access_histories *s)
{
	u32 heads = s->heads ? s->heads * 2 : 4096;
	u32 *head = race_alloc(m, RACE_MEM_STATES, heads * sizeof(*head));

	if (!head)
		return -ENOMEM;
	race_free(m, RACE_MEM_STATES, s->head, s->heads * sizeof(*head));
	s->head = head;
	s->heads = heads;
	each(s, relink, s);
	return 0;
}

int access_histories_init(struct race_mem *m, struct access_histories *s)
{
	int ret = add_chunk(m, s);

	s->used = 1;
	return ret ? ret : add_heads(m, s);
}

void access_histories_free(struct race_mem *m, struct access_histories *s)
{
	u32 i;

	for (i = 0; i < s->nchunks; i++)
		race_free(m, RACE_MEM_STATES, s->chunk[i], CHUNK_SIZE);
	race_free(m, RACE_MEM_STATES, s->chunk, s->room * sizeof(*s->chunk));
	race_free(m, RACE_MEM_STATES, s->head, s->heads * sizeof(*s->head));
}

static struct access_history *make(struct race_mem *m, struct access_histories *s, u32 info, u32 h,
				   u32 *id)
{
	struct access_history *state;

	if (s->n >= s->heads && s->heads < 1u << 31 && add_heads(m, s))
		return NULL;
	*id = take(m, s, units_of(info));
	if (!*id)
		return NULL;
	state = access_histories_get(s, *id);
	state->info = info;
	link_state(s, *id, h);
	s->n++;
	return state;
}

int access_histories_find(struct race_mem *m, struct access_histories *s, u32 flags, u32 n,
			  const u64 *when, const u32 *site, u32 *id)
{
	u32 info = n | flags, h = hash_accesses(info, n, when, site), i;
	struct access_history *state;

	*id = 0;
	if (!info)
		return 0;
	for (i = s->head[h & (s->heads - 1)]; i; i = state->next) {
		state = access_histories_get(s, i);
		if (state->info == info && !memcmp(access_history_when(state), when, n * 8ul) &&
		    !memcmp(access_history_site(state), site, n * 4ul)) {
			*id = i;
			return 0;
		}
	}
	state = make(m, s, info, h, id);
	if (!state)
		return -ENOMEM;
	memcpy(access_history_when(state), when, n * 8ul);
	memcpy(access_history_site(state), site, n * 4ul);
	return 0;
}

int access_histories_find_split(struct race_mem *m, struct access_histories *s, const u32 *part,
				u32 *id)
{
	struct access_history *state;
	u32 h, i;

	for (i = 1; i < 8 && part[i] == part[0]; i++)
		;
	*id = part[0];
	if (i == 8)
		return 0;
	h = hash_split(part);
	for (i = s->head[h & (s->heads - 1)]; i; i = state->next) {
		state = access_histories_get(s, i);
		if (state->info == ACCESS_HISTORY_SPLIT &&
		    !memcmp(access_history_part(state), part, 32)) {
			*id = i;
			return 0;
		}
	}
	state = make(m, s, ACCESS_HISTORY_SPLIT, h, id);
	if (!state)
		return -ENOMEM;
	memcpy(access_history_part(state), part, 32);
	return 0;
}

void access_histories_mark(struct access_histories *s, u32 id)
{
	struct access_history *state;
	u32 i;

	if (!id)
		return;
	state = access_histories_get(s, id);
	if (state->info & ACCESS_HISTORY_MARK)
		return;
	state->info |= ACCESS_HISTORY_MARK;
	if (state->info & ACCESS_HISTORY_SPLIT)
		for (i = 0; i < 8; i++)
			access_histories_mark(s, access_history_part(state)[i]);
}

struct collection {
	struct race_mem *m;
	struct access_histories *s;
	/* ids of the gap found last, which the next unmarked history may extend */
	u32 begin, end;
	u32 *last;		/* link at the end of the list of gaps */
};

static void end_hole(struct collection *w)
{
	u32 begin = w->begin, chunk = begin / RACE_ARENA, units = w->end - begin;
	struct access_history *h;

	w->begin = w->end = 0;
	if (!units)
		return;
	if (units == RACE_ARENA && chunk != w->s->last) {
		race_free(w->m, RACE_MEM_STATES, w->s->chunk[chunk], CHUNK_SIZE);
		w->s->chunk[chunk] = NULL;
		w->s->gaps++;
		return;
	}
	set_free(w->s, begin, units);
	h = access_histories_get(w->s, begin);
	h->next = 0;
	*w->last = begin;
	w->last = &h->next;
}

static void sweep_one(void *arg, u32 id, struct access_history *state)
{
	u32 units = units_of(state->info);
	struct collection *w = arg;

	if (state->info & ACCESS_HISTORY_MARK) {
		state->info &= ~ACCESS_HISTORY_MARK;
		w->s->live += units * RACE_UNIT;
		w->s->n++;
		link_state(w->s, id, hash_of(state));
		return;
	}
	if (id != w->end || id % RACE_ARENA == 0)
		end_hole(w);
	if (w->begin == w->end)
		w->begin = id;
	w->end = id + units;
}

void access_histories_free_unmarked(struct race_mem *m, struct access_histories *s)
{
	struct collection w = { .m = m, .s = s, .last = &s->holes };

	set_free(s, s->hole, s->hole_end - s->hole);
	s->hole = s->hole_end = s->holes = 0;
	s->live = s->fresh = 0;
	s->n = 0;
	memset(s->head, 0, s->heads * sizeof(*s->head));
	each(s, sweep_one, &w);
	end_hole(&w);
}

struct each_arg {
	void (*f)(void *arg, struct access_history *state);
	void *arg;
};

static void call_each(void *arg, u32 id, struct access_history *state)
{
	struct each_arg *e = arg;

	(void)id;
	if (!(state->info & ACCESS_HISTORY_FREE))
		e->f(e->arg, state);
}

void access_histories_each(struct access_histories *s,
			   void (*f)(void *arg, struct access_history *state), void *arg)
{
	struct each_arg e = { f, arg };

	each(s, call_each, &e);
}
