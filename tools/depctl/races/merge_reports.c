// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "races.h"

struct key {
	XXH128_hash_t side[2];
	uint32_t process, rank;
	size_t race;
};

static uint64_t hash(const char *s)
{
	return s ? XXH3_64bits(s, strlen(s)) : 0;
}

/*
 * Hash the source line of an access and the lines of the calls into which it is inlined; without
 * lines, hash the instruction's offset.
 */
static XXH128_hash_t side_of(const struct race_view *v, int side)
{
	const struct race_stack *s = &v->stack[side];
	XXH128_hash_t sum = { .low64 = v->race->access[side].flags };
	size_t i = s->main;

	do {
		const struct dep_place *p = &s->place[i];
		struct {
			XXH128_hash_t before;
			uint64_t module, function, file, where;
		} place = {
			sum, hash(p->module), hash(p->function), hash(p->file),
			p->file && p->line ? p->line : p->offset,
		};

		sum = XXH3_128bits(&place, sizeof(place));
	} while (s->place[i].inlined && ++i < s->n);
	return sum;
}

static void make_key(struct key *k, const struct race_view *v, size_t race)
{
	XXH128_hash_t a = side_of(v, 0), b = side_of(v, 1);
	bool swap = XXH128_cmp(&a, &b) > 0;

	*k = (struct key){
		.side = { swap ? b : a, swap ? a : b }, .process = v->race->process,
		.rank = v->rank, .race = race,
	};
}

static int compare_places(const struct key *a, const struct key *b)
{
	int ret = XXH128_cmp(&a->side[0], &b->side[0]);

	if (!ret)
		ret = XXH128_cmp(&a->side[1], &b->side[1]);
	if (!ret)
		ret = (a->process > b->process) - (a->process < b->process);
	return ret ? ret : (int)a->rank - (int)b->rank;
}

static int compare(const void *x, const void *y)
{
	const struct key *a = x, *b = y;
	int ret = compare_places(a, b);

	return ret ? ret : (a->race > b->race) - (a->race < b->race);
}

int races_merge(struct dep_store *store, struct dep_symbols *symbols, struct dep_races *races)
{
	struct key *key = calloc(races->n + 1, sizeof(*key));
	struct dep_race *first = NULL, *r;
	struct race_view v = { 0 };
	int err = key ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < races->n && !err; i++) {
		err = race_view_make(&v, store, symbols, &races->race[i]);
		if (!err)
			make_key(&key[i], &v, i);
	}
	if (err)
		goto out;
	qsort(key, races->n, sizeof(*key), compare);
	for (i = 0; i < races->n; i++) {
		r = &races->race[key[i].race];
		if (!i || compare_places(&key[i - 1], &key[i])) {
			first = r;
			continue;
		}
		first->count += r->count;
		r->count = 0;
	}
out:
	race_view_free(&v);
	free(key);
	return err;
}
