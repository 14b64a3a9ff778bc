// SPDX-License-Identifier: LGPL-2.1-or-later
/* Creation, destruction and garbage collection of a race detector. */
#include <errno.h>

#include "internal.h"

/* Minimum of new bytes before a collection. 512 KiB of access histories fit into a CPU cache. */
#define STATES_MIN	(512ull << 10)
#define CLOCKS_MIN	(8ull << 20)

static bool clocks_due(const struct race_detector *d)
{
	return d->mem.used[RACE_MEM_CLOCKS] > 2 * d->clocks_kept + CLOCKS_MIN +
					      d->mem.used[RACE_MEM_SHADOW] / 8;
}

bool race_collect_due(const struct race_detector *d)
{
	u64 enough = d->states.live / 2 + d->mem.used[RACE_MEM_SHADOW] / 16;

	return d->states.fresh > (enough > STATES_MIN ? enough : STATES_MIN) ||
	       clocks_due(d);
}

static int mark_page(void *arg, u64 number, struct race_page *page)
{
	struct access_histories *s = arg;
	u32 i, last = 0;

	(void)number;
	for (i = 0; i < RACE_CELLS; i++) {
		if (page->cell[i] != last && !(page->cell[i] & RACE_LOCAL))
			access_histories_mark(s, page->cell[i]);
		last = page->cell[i];
	}
	return 0;
}

static void mark_under(void *arg, u32 under)
{
	access_histories_mark(arg, under);
}

/*
 * Array of intervals whose clocks can be looked up: those of the writes in access histories, and
 * the current ones of all threads. An element is a time without its sub-epoch.
 */
struct named {
	u64 *when;
	size_t n, room;
};

static void count_writes(void *arg, struct access_history *s)
{
	struct named *w = arg;
	u32 i;

	if (s->info & ACCESS_HISTORY_SPLIT)
		return;
	for (i = access_history_n(s); i-- && access_history_site(s)[i] & RACE_CLASS_WRITE; ) {
		if (w->n < w->room)
			w->when[w->n] = access_history_when(s)[i] >> 16;
		w->n++;
	}
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Collect the intervals whose clocks can be looked up, sorted and without duplicates. */
static int find_named(struct race_detector *d, struct named *w)
{
	size_t i, n = 0;
	u32 t;

	access_histories_each(&d->states, count_writes, w);
	w->room = w->n + d->nthreads;
	w->when = race_alloc(&d->mem, RACE_MEM_OTHER, w->room * sizeof(*w->when));
	if (!w->when)
		return -ENOMEM;
	w->n = 0;
	access_histories_each(&d->states, count_writes, w);
	for (t = 0; t < d->nthreads; t++)
		if (d->thread[t].life == RACE_LIVES)
			w->when[w->n++] = race_when(t, d->thread[t].clock.epoch) >> 16;
	qsort(w->when, w->n, sizeof(*w->when), compare);
	for (i = 0; i < w->n; i++)
		if (!n || w->when[n - 1] != w->when[i])
			w->when[n++] = w->when[i];
	w->n = n;
	return 0;
}

static int prune_histories(struct race_detector *d)
{
	struct named w = { NULL, 0, 0 };
	size_t i = 0, first, *scratch;
	int ret = -ENOMEM;
	u32 t;

	scratch = race_alloc(&d->mem, RACE_MEM_OTHER, d->nthreads * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	if (find_named(d, &w))
		goto out;
	for (t = 0; t < d->nthreads; t++) {
		for (first = i; i < w.n && w.when[i] >> 32 == t; i++)
			;
		if (first < i)
			race_history_prune(&d->mem, &d->thread[t].history, w.when + first,
					   i - first, scratch);
		else
			race_history_free(&d->mem, &d->thread[t].history);
	}
	d->clocks_kept = d->mem.used[RACE_MEM_CLOCKS];
	ret = 0;
out:
	race_free(&d->mem, RACE_MEM_OTHER, w.when, w.room * sizeof(*w.when));
	race_free(&d->mem, RACE_MEM_OTHER, scratch, d->nthreads * sizeof(*scratch));
	return ret;
}

int race_gc(struct race_detector *d, bool all)
{
	d->collections++;
	race_shadow_each(&d->shadow, 0, ~0ull, mark_page, &d->states);
	race_owns_each(&d->shadow.owns, mark_under, &d->states);
	access_histories_mark(&d->states, d->watched);
	access_histories_free_unmarked(&d->mem, &d->states);
	memset(d->memo, 0, sizeof(d->memo));
	if (all || clocks_due(d))
		return prune_histories(d);
	return 0;
}

int race_detector_create(struct race_detector **out, const struct race_ops *ops,
			 const struct race_options *options)
{
	struct race_detector *d = calloc(1, sizeof(*d));
	int ret;

	*out = NULL;
	if (!d)
		return -ENOMEM;
	d->ops = *ops;
	if (options)
		d->options = *options;
	if (!d->options.places)
		d->options.places = 1;
	d->skip = true;
	d->shadow.untimed = d->options.mode & RACE_HB_ONLY;
	d->mem.limit = d->options.limit;
	ret = race_mem_take(&d->mem, RACE_MEM_OTHER, sizeof(*d)) ? 0 : -ENOMEM;
	if (!ret)
		ret = access_histories_init(&d->mem, &d->states);
	if (ret)
		race_detector_free(d);
	else
		*out = d;
	return ret;
}

void race_detector_free(struct race_detector *d)
{
	u32 i;

	if (!d)
		return;
	for (i = 0; i < d->nthreads; i++) {
		struct race_thread *t = &d->thread[i];

		race_clock_free(&d->mem, &t->clock);
		race_history_free(&d->mem, &t->history);
		race_free(&d->mem, RACE_MEM_OTHER, t->stamp, t->stamps * sizeof(*t->stamp));
	}
	race_shadow_free(&d->mem, &d->shadow);
	access_histories_free(&d->mem, &d->states);
	race_sites_free(&d->mem, &d->sites);
	free(d->thread);
	free(d->when);
	free(d->site);
	free(d->edge);
	free(d);
}

void race_get_stats(const struct race_detector *d, struct race_stats *out)
{
	*out = (struct race_stats){
		.bytes = d->mem.sum,
		.shadow_bytes = d->mem.used[RACE_MEM_SHADOW],
		.state_bytes = d->mem.used[RACE_MEM_STATES],
		.clock_bytes = d->mem.used[RACE_MEM_CLOCKS],
		.pages = d->shadow.pages,
		.states = d->states.n,
		.sites = d->sites.n,
		.slow = d->slow,
		.edges = d->edges,
		.collections = d->collections,
		.dropped = d->dropped,
	};
}
