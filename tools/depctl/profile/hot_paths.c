// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hottest paths of a recording, and the hot path of each loop.
 *
 * dep_path_profile has rows of each process.  Processes that map the same file execute the same
 * paths, so rows with the same blocks are added up here.  Blocks are compared by their distances
 * from the function, since a file can be mapped anywhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "profile.h"

#define NO_SITE		((struct site){ .unit = NO_FUNCTION })

/* ---- rows with the same blocks ---- */

/**
 * struct entry - a row while rows are added up
 * @hash: of its blocks
 * @process: of the last row that was added; a process can have mapped a file twice
 */
struct entry {
	struct hot_path path;
	uint64_t hash;
	uint32_t process;
};

/** struct joined - what compares two rows */
struct joined {
	const struct dep_path_profile *p;
	struct dep_path_code *a, *b;	/* room for the blocks of the longest row */
	size_t room;
	uint64_t seed;			/* of hashes: anyone can have written the store */
	bool failed;			/* there was too little memory */
};

static int by_blocks(const void *pa, const void *pb, void *arg)
{
	const struct entry *a = pa, *b = pb;
	const struct dep_path_profile *p = ((const struct joined *)arg)->p;
	const struct dep_path_row *x = &p->row[a->path.row], *y = &p->row[b->path.row];
	int order = site_compare(a->path.function, b->path.function);

	if (order)
		return order;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks < y->blocks ? -1 : 1;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->path.row < b->path.row ? -1 : a->path.row > b->path.row;
}

static uint64_t mix(uint64_t hash, uint64_t x)
{
	hash = (hash + x + 1) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* The blocks of row @row into @out. */
static bool get_blocks(struct joined *j, size_t row, struct dep_path_code *out)
{
	j->failed |= !dep_path_profile_blocks(j->p, row, out, j->room);
	return !j->failed;
}

static uint64_t hash_of(struct joined *j, size_t row)
{
	const struct dep_path_row *r = &j->p->row[row];
	uint64_t hash = mix(j->seed, r->next ? r->next - r->pc : 0);
	size_t k;

	if (!get_blocks(j, row, j->a))
		return 0;
	for (k = 0; k < r->blocks; k++)
		hash = mix(hash, j->a[k].pc - r->pc + ((uint64_t)j->a[k].version << 48));
	return hash;
}

static bool same_path(struct joined *j, const struct entry *a, const struct entry *b)
{
	const struct dep_path_row *x = &j->p->row[a->path.row], *y = &j->p->row[b->path.row];
	size_t k;

	if (a->hash != b->hash || site_compare(a->path.function, b->path.function) ||
	    x->kind != y->kind || x->blocks != y->blocks || x->insns != y->insns ||
	    !x->next != !y->next || (x->next && x->next - x->pc != y->next - y->pc))
		return false;
	if (!get_blocks(j, a->path.row, j->a) || !get_blocks(j, b->path.row, j->b))
		return false;
	for (k = 0; k < x->blocks; k++)
		if (j->a[k].pc - x->pc != j->b[k].pc - y->pc ||
		    j->a[k].insns != j->b[k].insns || j->a[k].version != j->b[k].version)
			return false;
	return true;
}

/* Index below @n of an entry with the path of @x; @n: none.  Different ones can have one hash. */
static size_t find_same(struct joined *j, const struct entry *e, size_t n, const struct entry *x)
{
	size_t k = n;

	while (k && e[k - 1].hash == x->hash &&
	       !site_compare(e[k - 1].path.function, x->path.function))
		if (same_path(j, &e[--k], x))
			return k;
	return n;
}

static size_t add_up(struct joined *j, struct entry *e, size_t n)
{
	size_t i, k, out = 0;

	for (i = 0; i < n; i++)
		e[i].hash = hash_of(j, e[i].path.row);
	qsort_r(e, n, sizeof(*e), by_blocks, j);
	for (i = 0; i < n; i++) {
		k = find_same(j, e, out, &e[i]);
		if (k < out) {
			e[k].path.count += e[i].path.count;
			e[k].path.insns += e[i].path.insns;
			e[k].path.processes += e[k].process != e[i].process;
			e[k].process = e[i].process;
		} else {
			e[out++] = e[i];
		}
	}
	return out;
}

static bool has_one_process(const struct dep_path_profile *p)
{
	return !p->nrows || p->row[0].process == p->row[p->nrows - 1].process;
}

/* Add up the rows of all processes; return how many are left, or -ENOMEM. */
static ssize_t join(const struct dep_path_profile *p, struct entry *e, size_t n)
{
	struct joined j = { .p = p };
	ssize_t left = -ENOMEM;
	size_t i;

	if (has_one_process(p))
		return (ssize_t)n;
	if (getrandom(&j.seed, sizeof(j.seed), 0) != sizeof(j.seed))
		j.seed = 0;	/* forged rows can make it slow, and no more */
	for (i = 0; i < n; i++)
		if (p->row[e[i].path.row].blocks > j.room)
			j.room = p->row[e[i].path.row].blocks;
	j.a = calloc(j.room + 1, sizeof(*j.a));
	j.b = calloc(j.room + 1, sizeof(*j.b));
	if (j.a && j.b)
		left = (ssize_t)add_up(&j, e, n);
	if (j.failed)
		left = -ENOMEM;
	free(j.a);
	free(j.b);
	return left;
}

/* ---- order ---- */

static int by_insns(const void *pa, const void *pb)
{
	const struct hot_path *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int by_loop(const void *pa, const void *pb, void *arg)
{
	const struct hot_path *path = arg;
	const struct hot_path *a = &path[*(const size_t *)pa], *b = &path[*(const size_t *)pb];
	int order = site_compare(a->loop, b->loop);

	if (order)
		return order;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* The head of the loop whose iteration @row is; NO_SITE: it is none. */
static struct site loop_of(const struct functions *f, const struct dep_path_profile *p, size_t row)
{
	const struct dep_path_row *r = &p->row[row];
	struct dep_path_code first;

	if (r->kind == DEP_PATH_ROW_WHOLE && !r->next)
		return NO_SITE;
	if (!dep_path_profile_blocks(p, row, &first, 1) ||
	    (r->kind == DEP_PATH_ROW_WHOLE && first.pc != r->next))
		return NO_SITE;
	return functions_site(f, r->process, r->image, first.pc);
}

static size_t take_rows(struct hot_paths *h, const struct functions *f, struct entry *e)
{
	const struct dep_path_profile *p = h->p;
	const struct dep_path_row *r;
	size_t i, n = 0;

	for (i = 0; i < p->nrows; i++) {
		r = &p->row[i];
		if (r->kind == DEP_PATH_ROW_PARTIAL) {
			h->partial++;
			h->partial_insns += r->count * r->insns;
			continue;
		}
		e[n].process = r->process;
		e[n++].path = (struct hot_path){
			.row = i, .count = r->count, .insns = r->count * r->insns,
			.function = functions_site(f, r->process, r->image, r->pc),
			.loop = loop_of(f, p, i), .processes = 1 };
	}
	return n;
}

int hot_paths_find(struct hot_paths *h, const struct dep_path_profile *p,
		   const struct functions *f)
{
	struct entry *e = calloc(p->nrows + 1, sizeof(*e));
	ssize_t n;
	size_t i;

	*h = (struct hot_paths){ .p = p };
	n = e ? join(p, e, take_rows(h, f, e)) : -ENOMEM;
	if (n >= 0) {
		h->path = calloc((size_t)n + 1, sizeof(*h->path));
		h->round = calloc((size_t)n + 1, sizeof(*h->round));
	}
	if (!h->path || !h->round) {
		free(e);
		hot_paths_free(h);
		return -ENOMEM;
	}
	h->n = (size_t)n;
	for (i = 0; i < h->n; i++)
		h->path[i] = e[i].path;
	free(e);
	qsort(h->path, h->n, sizeof(*h->path), by_insns);
	for (i = 0; i < h->n; i++)
		if (h->path[i].loop.unit != NO_FUNCTION)
			h->round[h->nround++] = i;
	qsort_r(h->round, h->nround, sizeof(*h->round), by_loop, h->path);
	for (i = 0; i < p->nfunctions; i++)
		h->truncated += p->function[i].truncated;
	return 0;
}

size_t hot_paths_of_loop(const struct hot_paths *h, struct site head)
{
	size_t lo = 0, hi = h->nround, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (site_compare(h->path[h->round[mid]].loop, head) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < h->nround && !site_compare(h->path[h->round[lo]].loop, head))
		return h->round[lo];
	return h->n;
}

void hot_paths_free(struct hot_paths *h)
{
	free(h->path);
	free(h->round);
	*h = (struct hot_paths){ 0 };
}
