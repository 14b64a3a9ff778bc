// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Check pairs of accesses to candidate words.
 *
 * The accesses to a word are grouped by thread, code location, lockset and bytes. For two groups,
 * the closure of a pair contains the closures of all earlier pairs. So an access that is in one
 * closure is in all later ones and need not be checked again, and two groups take at most as many
 * checks as they have accesses. If no pair of two groups races, up to four pairs are tried by
 * sync-reversal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct group {
	u32 first, n;		/* the group's events: @n entries of finder.event from @first on */
};

struct pair {
	u64 pc[2];
	u32 flags[2];
};

struct finder {
	struct predict *p;
	struct sp_closure closure;
	bool cut_off;
	/* indexes of the word's events in predict_cell.event, sorted by group */
	u32 *event;
	struct group *group;
	u32 events_room, ngroups;
	/* hash table of pairs of code locations already reported; flags[0] == 0: empty */
	struct pair *known;
	u32 nknown, known_room, reports;
	int (*report)(void *arg, const struct predict_race *r);
	void *arg;
};

static int cmp(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int compare_groups(const struct predict_event *a, const struct predict_event *b)
{
	int ret = cmp(a->thread, b->thread);

	ret = ret ? ret : cmp(a->pc, b->pc);
	ret = ret ? ret : cmp(a->flags, b->flags);
	ret = ret ? ret : cmp(a->set, b->set);
	ret = ret ? ret : cmp(a->mask, b->mask);
	return ret ? ret : cmp(a->age, b->age);
}

static int compare_events(const void *x, const void *y, void *arg)
{
	const struct predict_cell *c = arg;
	u32 a = *(const u32 *)x, b = *(const u32 *)y;
	int ret = compare_groups(&c->event[a], &c->event[b]);

	return ret ? ret : cmp(a, b);
}

static int make_groups(struct finder *f, const struct predict_cell *c)
{
	void *events, *groups;
	u32 i;

	if (f->events_room < c->nevents) {
		events = realloc(f->event, c->nevents * sizeof(*f->event));
		if (events)
			f->event = events;
		groups = realloc(f->group, c->nevents * sizeof(*f->group));
		if (groups)
			f->group = groups;
		if (!events || !groups)
			return -ENOMEM;
		f->events_room = c->nevents;
	}
	for (i = 0; i < c->nevents; i++)
		f->event[i] = i;
	qsort_r(f->event, c->nevents, sizeof(*f->event), compare_events, (void *)c);
	f->ngroups = 0;
	for (i = 0; i < c->nevents; i++) {
		if (!i || compare_groups(&c->event[f->event[i - 1]], &c->event[f->event[i]]))
			f->group[f->ngroups++] = (struct group){ .first = i };
		f->group[f->ngroups - 1].n++;
	}
	f->closure.work += c->nevents;
	return 0;
}

static struct pair pair_of(const struct predict_event *a, const struct predict_event *b)
{
	bool swap = a->pc > b->pc || (a->pc == b->pc && a->flags > b->flags);

	if (swap)
		return pair_of(b, a);
	return (struct pair){ { a->pc, b->pc }, { a->flags, b->flags } };
}

static struct pair *slot_of(struct finder *f, const struct pair *x)
{
	u64 h = (x->pc[0] * 31 + x->pc[1]) * 31 + ((u64)x->flags[0] << 32 | x->flags[1]);
	u32 i = (u32)(h * 0x9e3779b97f4a7c15ull >> 32) & (f->known_room - 1);

	while (f->known[i].flags[0] && memcmp(&f->known[i], x, sizeof(*x))) {
		i = (i + 1) & (f->known_room - 1);
		f->closure.work++;
	}
	return &f->known[i];
}

static bool is_known(struct finder *f, const struct pair *x)
{
	f->closure.work++;
	return f->known_room && slot_of(f, x)->flags[0];
}

static int grow(struct finder *f)
{
	struct pair *old = f->known;
	u32 i, n = f->known_room;

	f->known_room = n ? 2 * n : 64;
	f->known = calloc(f->known_room, sizeof(*f->known));
	if (!f->known) {
		f->known = old;
		f->known_room = n;
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		if (old[i].flags[0])
			*slot_of(f, &old[i]) = old[i];
	free(old);
	return 0;
}

static int learn(struct finder *f, const struct pair *x)
{
	if (f->nknown >= f->known_room / 2 && grow(f))
		return -ENOMEM;
	*slot_of(f, x) = *x;
	f->nknown++;
	return 0;
}

static bool is_too_much(struct finder *f)
{
	if ((f->closure.limit && f->closure.work > f->closure.limit) ||
	    f->reports == PREDICT_REPORTS)
		f->cut_off = true;
	return f->cut_off;
}

static u64 epoch_of(const struct predict_thread *t, u64 at)
{
	u32 low = 0, high = t->nintervals, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->interval[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? t->interval[low - 1].epoch : 0;
}

static struct race_access side_of(const struct finder *f, const struct predict_event *e)
{
	return (struct race_access){
		.thread = e->thread, .flags = e->flags, .pc = e->pc,
		.epoch = epoch_of(&f->p->thread[e->thread], e->at),
	};
}

static int tell(struct finder *f, u64 word, const struct predict_event *a,
		const struct predict_event *b)
{
	struct predict_step step[PREDICT_STEPS];
	struct predict_race r = { 0 };
	u8 both = a->mask & b->mask;
	u32 first = (u32)__builtin_ctz(both);
	int ret;

	r.found.prior = side_of(f, a);
	r.found.current = side_of(f, b);
	r.found.address = word * PREDICT_WORD + first;
	for (both >>= first; both & 1; both >>= 1)
		r.found.size++;
	r.number[0] = a->at;
	r.number[1] = b->at;
	ret = predict_witness(&f->closure, &r, step);
	if (ret)
		return ret;
	f->reports++;
	return f->report(f->arg, &r);
}

static bool has(const struct sp_closure *i, const struct predict_event *e)
{
	return i->cut[e->thread] > e->at;
}

static int add(struct finder *f, const struct predict_event *e)
{
	return sp_closure_add(&f->closure, e->thread, e->at);
}

/* Make the closure leave all critical sections open that contain @e; false: impossible. */
static bool keep(struct finder *f, const struct predict_event *e)
{
	const struct predict_thread *t = &f->p->thread[e->thread];
	u32 k = t->ntaken, low = 0, mid, left = f->p->set[e->set].n;

	while (low < k) {
		mid = low + (k - low) / 2;
		if (t->taken[mid].at < e->at)
			low = mid + 1;
		else
			k = mid;
	}
	for (; k-- && left; f->closure.work++) {
		const struct predict_taken *s = &t->taken[k];

		if (f->p->lock[s->lock].section[s->section].to < e->at)
			continue;
		if (!sp_closure_keep(&f->closure, s->lock, s->section))
			return false;
		left--;
	}
	return true;
}

/* Try sync-reversal (predict.h) for @a and @b. Return: 1: they race, 0: not, or an error. */
static int reversed(struct finder *f, u64 word, const struct predict_event *a,
		    const struct predict_event *b)
{
	int err;

	sp_closure_clear(&f->closure);
	f->closure.reversal = true;
	if (!keep(f, a) || !keep(f, b))
		return 0;
	err = add(f, a);
	if (!err)
		err = add(f, b);
	if (err || f->closure.impossible || has(&f->closure, a) || has(&f->closure, b))
		return err;
	err = a < b ? tell(f, word, a, b) : tell(f, word, b, a);
	return err < 0 ? err : !err;
}

static int reversed_groups(struct finder *f, const struct predict_cell *c, u64 word,
			   const struct group *x, const struct group *y, const struct pair *places)
{
	const struct predict_event *a, *b;
	int ret = 0;
	u32 i;

	a = &c->event[f->event[x->first]];
	b = &c->event[f->event[y->first]];
	if (!f->p->set[a->set].n && !f->p->set[b->set].n)
		return 0;
	for (i = 0; i < 4 && !ret; i++) {
		a = &c->event[f->event[x->first + (i & 1 ? x->n - 1 : 0)]];
		b = &c->event[f->event[y->first + (i & 2 ? y->n - 1 : 0)]];
		if ((i & 1 && x->n == 1) || (i & 2 && y->n == 1))
			continue;
		ret = reversed(f, word, a, b);
	}
	return ret <= 0 ? ret : learn(f, places);
}

/* Check pairs of two groups of accesses until one races, and report it. Return: 0 or an error. */
static int two_groups(struct finder *f, const struct predict_cell *c, u64 word,
		      const struct group *x, const struct group *y)
{
	const struct predict_event *a, *b;
	struct pair places = pair_of(&c->event[f->event[x->first]],
				     &c->event[f->event[y->first]]);
	u32 i = 0, j = 0;
	int err;

	if (is_known(f, &places))
		return 0;
	sp_closure_clear(&f->closure);
	while (i < x->n && j < y->n) {
		a = &c->event[f->event[x->first + i]];
		b = &c->event[f->event[y->first + j]];
		err = add(f, a);
		if (!err)
			err = add(f, b);
		if (err)
			return err;
		if (f->closure.impossible)
			break;
		i += has(&f->closure, a);
		j += has(&f->closure, b);
		if (!has(&f->closure, a) && !has(&f->closure, b)) {
			err = a < b ? tell(f, word, a, b) : tell(f, word, b, a);
			if (err)
				return err < 0 ? err : 0;
			return learn(f, &places);
		}
		if (is_too_much(f))
			return 0;
	}
	return reversed_groups(f, c, word, x, y, &places);
}

static bool worth(const struct finder *f, const struct predict_event *a,
		  const struct predict_event *b)
{
	return a->thread != b->thread && a->age == b->age && a->mask & b->mask &&
	       predict_conflict(a->flags, b->flags) && predict_may_race(a->flags, b->flags) &&
	       !predict_exclude(f->p, a->set, b->set);
}

static int one_cell(struct finder *f, const struct predict_cell *c, u64 word)
{
	int err = make_groups(f, c);
	u32 i, j;

	for (i = 0; i < f->ngroups && !err; i++) {
		for (j = i + 1; j < f->ngroups && !err && !is_too_much(f); j++) {
			f->closure.work++;
			if (worth(f, &c->event[f->event[f->group[i].first]],
				  &c->event[f->event[f->group[j].first]]))
				err = two_groups(f, c, word, &f->group[i], &f->group[j]);
		}
	}
	return err;
}

static int one_page(struct finder *f, const struct predict_page *page)
{
	int err = 0;
	u32 i;

	for (i = 0; page->cell && i < PREDICT_CELLS && !err && !is_too_much(f); i++)
		if (page->cell[i] && page->cell[i]->nevents > 1)
			err = one_cell(f, page->cell[i], page->number * PREDICT_CELLS + i);
	return err;
}

static int compare_pages(const void *x, const void *y)
{
	const struct predict_page *const *a = x, *const *b = y;

	return cmp((*a)->number, (*b)->number);
}

int predict_find(struct predict *p, u64 work,
		 int (*report)(void *arg, const struct predict_race *r), void *arg)
{
	struct finder f = { .p = p, .report = report, .arg = arg };
	const struct predict_page **page = calloc(p->npages + 1, sizeof(p->page[0]));
	u32 i, n = 0;
	int err;

	err = sp_closure_init(&f.closure, p);
	f.closure.limit = work;
	if (!page)
		err = -ENOMEM;
	for (i = 0; i < p->pages_room && !err; i++)
		if (p->page[i])
			page[n++] = p->page[i];
	/* Sort the pages, so that the order of reports does not depend on the hash table. */
	qsort(page, n, sizeof(page[0]), compare_pages);
	for (i = 0; i < n && !err; i++)
		err = one_page(&f, page[i]);
	sp_closure_free(&f.closure);
	free(page);
	free(f.event);
	free(f.group);
	free(f.known);
	return err ? err : f.cut_off;
}
