// SPDX-License-Identifier: LGPL-2.1-or-later
/* Accesses to memory: split them into shadow words, and replace the words' access histories. */
#include <errno.h>

#include "internal.h"

_Static_assert(RACE_PAGE == DEP_ACCESS_PAGE_SIZE, "merged accesses must be in one shadow page");

/* Double the thread's table of sub-epochs, up to RACE_SUB_EPOCHS entries. */
static int next_sub_epoch(struct race_detector *d, struct race_thread *t)
{
	u32 n = t->stamps ? t->stamps * 2 : 32, i;
	struct race_sub_epoch *s;

	if (n > RACE_SUB_EPOCHS)
		return 0;
	s = race_alloc(&d->mem, RACE_MEM_OTHER, n * sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (i = 0; i < t->stamps; i++)
		s[(t->stamp[i].site >> RACE_CLASS_BITS) & (n - 1)] = t->stamp[i];
	race_free(&d->mem, RACE_MEM_OTHER, t->stamp, t->stamps * sizeof(*s));
	t->stamp = s;
	t->stamps = n;
	return 0;
}

/* Set the site and time of the access @now. Its code location gets a sub-epoch. */
static int find_site(struct race_detector *d, struct race_access_ctx *now)
{
	u32 version = race_when_version(now->t->clock.epoch);
	struct race_sub_epoch *s;

	if (race_sites_find(&d->mem, &d->sites, now->pc, now->flags, &now->site))
		return -ENOMEM;
	if (now->flags & RACE_WRITE)
		now->t->history.written = version;
	now->when = race_when(now->thread, (u64)version << 16);
	if (d->options.mode & RACE_HB_ONLY)
		return 0;
	if ((now->t->clock.epoch & RACE_SUB_EPOCH) >= now->t->stamps / 2 &&
	    next_sub_epoch(d, now->t))
		return -ENOMEM;
	s = &now->t->stamp[(now->site >> RACE_CLASS_BITS) & (now->t->stamps - 1)];
	if (s->site != now->site || s->version != version) {
		if ((now->t->clock.epoch & RACE_SUB_EPOCH) < RACE_SUB_EPOCH)
			now->t->clock.epoch++;
		s->site = now->site;
		s->version = version;
		s->stamp = now->t->clock.epoch & RACE_SUB_EPOCH;
	}
	now->when |= s->stamp;
	return 0;
}

/* Store the time of the access as that of the last write to the word, if @now writes. */
static inline int wrote(struct race_detector *d, const struct race_access_ctx *now,
			struct race_page *page, u32 i)
{
	if (!(now->flags & RACE_WRITE) || d->shadow.untimed)
		return 0;
	return race_page_write(&d->mem, page, i, race_when(now->thread, now->t->clock.epoch));
}

/* Access bytes @mask of word @i when the lookup cache has no entry, and make the entry @memo. */
static int access_slowly(struct race_detector *d, struct race_access_ctx *now,
			 struct race_page *page, u32 i, u32 mask, u64 address,
			 struct race_lookup_cache *memo)
{
	u32 part[8], b, e, first = __builtin_ctz(mask), id, out, own = 0;
	u64 before = d->shadow.untimed ? 0 : race_page_wrote(page, i);
	struct access_history *s;
	bool keep = true, split;
	int ret = 0;

	d->slow++;
	if (!now->when && find_site(d, now))
		return -ENOMEM;
	if (page->cell[i] & RACE_LOCAL && race_local_flush(d, page, i))
		return -ENOMEM;
	id = page->cell[i];
	s = id ? access_histories_get(&d->states, id) : NULL;
	split = s && s->info & ACCESS_HISTORY_SPLIT;
	if (mask == 0xff && !split) {
		ret = race_step(d, now, id, before, address, 8, &out, &keep);
	} else {
		for (b = 0; b < 8; b++)
			part[b] = split ? access_history_part(s)[b] : id;
		for (b = first; !ret && b < 8; b = e) {
			e = b + 1;
			if (!(mask >> b & 1))
				continue;
			while (e < 8 && mask >> e & 1 && part[e] == part[b])
				e++;
			ret = race_step(d, now, part[b], before, address + b, e - b, &out, &keep);
			while (!ret && b < e)
				part[b++] = out;
		}
		if (!ret && keep && d->options.mode & RACE_BYTES &&
		    page->settled < RACE_SETTLED_MAX)
			ret = race_local_create(d, now, part, &own);
		if (!ret && !own)
			ret = access_histories_find_split(&d->mem, &d->states, part, &out);
	}
	if (ret)
		return ret;
	if (own) {
		page->cell[i] = own;
		return 0;
	}
	if (keep)
		*memo = (struct race_lookup_cache){ now->pc, (u64)now->t->context << 32 | id,
					    now->flags << 8 | mask, out };
	page->cell[i] = out;
	return wrote(d, now, page, i);
}

/*
 * Find the lookup cache entry for an access to bytes @mask of a word with history @id; *@found is
 * false if the entry is for another access.
 */
static inline struct race_lookup_cache *
memo_of(struct race_detector *d, const struct race_access_ctx *now, u32 id, u32 mask, bool *found)
{
	u32 how = now->flags << 8 | mask;
	u64 key = (u64)now->t->context << 32 | id;
	u64 h = (now->pc + how * 0x9e3779b1ull) ^ (u64)(id + now->t->context * 0x85ebca6bu) << 8;
	struct race_lookup_cache *memo = &d->memo[(h * 0x9e3779b97f4a7c15u) >> 52];

	*found = memo->pc == now->pc && memo->key == key && memo->how == how;
	return memo;
}

/*
 * Access bytes @mask of a word that has the thread-local entry @cell; false if the entry cannot
 * represent the access.
 */
static inline bool access_own(struct race_detector *d, const struct race_access_ctx *now, u32 cell,
			      u32 mask)
{
	struct race_local *o = race_local_get(&d->shadow.owns, cell);
	u32 at = race_when_version(now->t->clock.epoch) + 2 - o->base;
	bool write = now->flags & RACE_WRITE;

	if (o->thread != now->thread || at > UINT16_MAX ||
	    (now->flags & (RACE_INSIDE | RACE_ATOMIC | RACE_FREE)) !=
		    (o->inside ? RACE_INSIDE : 0) ||
	    (write && !o->covers && mask & ~o->bare))
		return false;
	race_local_note(o, mask, write, (u16)at);
	return true;
}

/* Access bytes @mask of word @i of @page, which is at @address. */
static inline int access_in_word(struct race_detector *d, struct race_access_ctx *now,
				 struct race_page *page, u32 i, u32 mask, u64 address)
{
	u32 id = page->cell[i];
	struct race_lookup_cache *memo;
	bool found;

	if (id & RACE_LOCAL && access_own(d, now, id, mask))
		return 0;
	memo = memo_of(d, now, id, mask, &found);
	if (__builtin_expect(!found, 0))
		return access_slowly(d, now, page, i, mask, address, memo);
	if (memo->id != id)
		page->cell[i] = memo->id;
	return wrote(d, now, page, i);
}

/* Access all bytes of words @i to @end - 1. Adjacent words with equal histories need one lookup. */
static int access_in_words(struct race_detector *d, struct race_access_ctx *now,
			   struct race_page *page, u32 i, u32 end, u64 address)
{
	u32 id, out, from = i;
	bool found;
	int ret;

	while (i < end) {
		id = page->cell[i];
		ret = access_in_word(d, now, page, i, 0xff, address + (i - from) * 8ul);
		if (ret)
			return ret;
		if (++i == end || page->cell[i] != id)
			continue;
		out = memo_of(d, now, id, 0xff, &found)->id;
		if (!found)
			continue;
		for (; i < end && page->cell[i] == id && !ret; i++) {
			page->cell[i] = out;
			ret = wrote(d, now, page, i);
		}
		if (ret)
			return ret;
	}
	return 0;
}

/* Access the bytes from @address to @last, which are in one page. */
static int access_page(struct race_detector *d, struct race_access_ctx *now, struct race_page *page,
		       u64 address, u64 last)
{
	u32 i = address % RACE_PAGE / 8, end = last % RACE_PAGE / 8;
	u32 head = 0xffu << (address & 7) & 0xff, tail = 0xffu >> (7 - (last & 7));
	int ret = 0;

	if (i == end)
		return access_in_word(d, now, page, i, head & tail, address & ~7ull);
	if (head != 0xff) {
		ret = access_in_word(d, now, page, i++, head, address & ~7ull);
		address = (address & ~7ull) + 8;
	}
	if (!ret)
		ret = access_in_words(d, now, page, i, end + (tail == 0xff), address);
	if (!ret && tail != 0xff)
		ret = access_in_word(d, now, page, end, tail, last & ~7ull);
	return ret;
}

/* Find or make the shadow page of @address; *@page is NULL if the page is not watched. */
static inline int find_page(struct race_detector *d, u64 address, struct race_page **page)
{
	if (__builtin_expect(d->options.mode & RACE_ONLY_WATCHED, 0)) {
		*page = race_shadow_find(&d->shadow, address >> RACE_PAGE_SHIFT);
		return 0;
	}
	*page = race_shadow_page(&d->mem, &d->shadow, address);
	return *page ? 0 : -ENOMEM;
}

static int access_range(struct race_detector *d, struct race_access_ctx *now, u64 address, u64 last)
{
	struct race_page *page;
	u64 stop;
	int ret;

	for (;;) {
		stop = address | (RACE_PAGE - 1);
		if (stop > last)
			stop = last;
		ret = find_page(d, address, &page);
		if (!ret && page)
			ret = access_page(d, now, page, address, stop);
		if (ret || stop == last)
			return ret;
		address = stop + 1;
	}
}

/* Order the current thread after all that the writing thread did up to its write at @when (SHB). */
static int follow(struct race_detector *d, const struct race_access_ctx *now, u64 when)
{
	u32 writer = race_when_thread(when), at = race_when_version(now->t->clock.epoch) + 1;
	struct race_thread *t = now->t, *w = &d->thread[writer];
	size_t before = t->history.n;
	int ret;

	ret = race_history_join(&d->mem, &w->history, race_when_version(when), &t->clock,
				&t->history, at);
	if (ret >= 0)
		ret = race_clock_raise(&d->mem, &t->clock, writer, when & RACE_EPOCH, &t->history,
				       at);
	d->edges++;
	return ret < 0 ? ret : race_history_flush(&d->mem, &t->history, at, t->clock.vec, before,
						  false);
}

int race_conclude(struct race_detector *d, const struct race_access_ctx *now)
{
	struct race_thread *w;
	int ret = 0;
	u32 i;

	race_report_pending(d, now);
	for (i = 0; !ret && i < d->nedges; i++)
		ret = follow(d, now, d->edge[i]);
	if (!ret && d->nedges)
		ret = race_begin_interval(d, now->t, false);
	/* Begin a writer's interval: its later accesses must not be ordered before the reader. */
	for (i = 0; !ret && i < d->nedges; i++) {
		w = &d->thread[race_when_thread(d->edge[i])];
		if (w->life == RACE_LIVES &&
		    race_when_version(w->clock.epoch) == race_when_version(d->edge[i]))
			ret = race_begin_interval(d, w, true);
	}
	d->nedges = 0;
	return ret;
}

struct known {
	struct race_detector *d;
	struct race_access_ctx *now;
	u64 first, last;
};

static int access_known(void *arg, u64 number, struct race_page *page)
{
	u64 base = number << RACE_PAGE_SHIFT, end = base | (RACE_PAGE - 1);
	const struct known *k = arg;

	return access_page(k->d, k->now, page, k->first > base ? k->first : base,
			   k->last < end ? k->last : end);
}

static int conclude(struct race_detector *d, struct race_access_ctx *now, int ret)
{
	if (!ret && d->npending + d->nedges)
		ret = race_conclude(d, now);
	if (!ret && race_collect_due(d))
		ret = race_gc(d, false);
	return ret ? race_fail(d, ret) : 0;
}

/*
 * Make the context of an access. With RACE_BYTES all code locations count as one, which makes fewer
 * histories.
 */
static inline struct race_access_ctx now_of(const struct race_detector *d, u32 thread, u64 pc,
					    u32 flags)
{
	return (struct race_access_ctx){
		.t = &d->thread[thread], .thread = thread, .flags = flags,
		.pc = d->options.mode & RACE_BYTES ? 0 : pc,
	};
}

static int access_memory(struct race_detector *d, u32 thread, u64 pc, u64 address, u32 size,
			 u32 flags)
{
	struct race_access_ctx now = now_of(d, thread, pc, flags);
	u32 offset = address & 7, mask;
	struct race_page *page;
	u64 slow = d->slow;
	int ret = 0;

	if (size - 1 < 8 - offset) {
		ret = find_page(d, address, &page);
		mask = (0xffu >> (8 - size)) << offset;
		if (!ret && page)
			ret = access_in_word(d, &now, page, address % RACE_PAGE / 8, mask,
					     address & ~7ull);
	} else if (size) {
		ret = access_range(d, &now, address,
				   address + (size - 1) < address ? ~0ull : address + (size - 1));
	}
	if (__builtin_expect(!ret && d->slow == slow, 1))
		return 0;
	return conclude(d, &now, ret);
}

static inline bool is_good(const struct race_detector *d, u32 thread, u32 flags)
{
	return thread < d->nthreads && d->thread[thread].life == RACE_LIVES && flags < 0x200 &&
	       flags & (RACE_READ | RACE_WRITE);
}

int race_access(struct race_detector *d, u32 thread, u64 pc, u64 address, u32 size, u32 flags)
{
	if (flags & RACE_FREE)
		flags |= RACE_WRITE;
	if (!is_good(d, thread, flags))
		return -EINVAL;
	if (d->skip)
		return d->error;
	return access_memory(d, thread, pc, address, size, flags);
}

int race_access_known(struct race_detector *d, u32 thread, u64 pc, u64 address, u64 size,
		      u32 flags)
{
	struct known k = { .d = d, .first = address, .last = address + (size - 1) };
	struct race_access_ctx now;

	if (!is_good(d, thread, flags))
		return -EINVAL;
	if (d->skip || !size)
		return d->error;
	if (k.last < address)
		k.last = ~0ull;
	now = now_of(d, thread, pc, flags);
	k.now = &now;
	return conclude(d, &now, race_shadow_each(&d->shadow, address >> RACE_PAGE_SHIFT,
						  k.last >> RACE_PAGE_SHIFT, access_known, &k));
}

struct each {
	struct known k;
	int (*f)(void *arg, u64 address, u64 size);
	void *arg;
};

static int tell_known(void *arg, u64 number, struct race_page *page)
{
	u64 base = number << RACE_PAGE_SHIFT, end = base | (RACE_PAGE - 1);
	const struct each *e = arg;

	(void)page;
	base = e->k.first > base ? e->k.first : base;
	end = e->k.last < end ? e->k.last : end;
	return e->f(e->arg, base, end - base + 1);
}

int race_each_known(struct race_detector *d, u64 address, u64 size,
		    int (*f)(void *arg, u64 address, u64 size), void *arg)
{
	struct each e = { { .first = address, .last = address + (size - 1) }, f, arg };

	if (!size)
		return 0;
	if (e.k.last < address)
		e.k.last = ~0ull;
	return race_shadow_each(&d->shadow, address >> RACE_PAGE_SHIFT,
				e.k.last >> RACE_PAGE_SHIFT, tell_known, &e);
}

int race_accesses(struct race_detector *d, u32 thread, const struct race_ref *ref, size_t n)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < n && !ret; i++)
		ret = race_access(d, thread, ref[i].pc, ref[i].address, ref[i].size, ref[i].flags);
	return ret;
}

/* Access bytes @bits of the 64 bytes at @address, whose first word is word @i of @page. */
static inline int access_word(struct race_detector *d, struct race_access_ctx *now,
			      struct race_page *page, u32 i, u64 address, u64 bits)
{
	u32 g;
	int ret = 0;

	while (bits && !ret) {
		g = (u32)__builtin_ctzll(bits) / 8;
		ret = access_in_word(d, now, page, i + g, bits >> 8 * g & 0xff, address + 8ul * g);
		bits &= ~(0xffull << 8 * g);
	}
	return ret;
}

/* Make the reads, or the writes, among the merged accesses @j, depending on now->flags. */
static int check_page_accesses(struct race_detector *d, struct race_access_ctx *now,
			       struct race_page *page, const struct dep_page_accesses *j)
{
	const struct dep_page_word *w = j->word;
	bool writes = now->flags & RACE_WRITE;
	u64 words = j->words, slow = d->slow;
	int ret = 0;
	u32 i;

	for (; words && !ret; words &= words - 1, w++) {
		i = (u32)__builtin_ctzll(words);
		ret = access_word(d, now, page, i * 8, j->addr + 64ul * i,
				  writes ? w->wrote : w->read);
	}
	return !ret && d->slow == slow ? 0 : conclude(d, now, ret);
}

void race_fetch_page(struct race_detector *d, const struct dep_page_accesses *j)
{
	const struct race_page *page = race_shadow_latest(&d->shadow, j->addr);
	u64 words;

	for (words = j->words; page && words; words &= words - 1)
		__builtin_prefetch(&page->cell[__builtin_ctzll(words) * 8]);
}

/* Prefetch the thread-local entries of all words in the merged accesses @j. */
static void fetch_owns(const struct race_detector *d, const struct race_page *page,
		       const struct dep_page_accesses *j)
{
	const struct dep_page_word *w = j->word;
	const u32 *cell;
	u64 words, bits;

	for (words = j->words; words; words &= words - 1, w++) {
		cell = &page->cell[__builtin_ctzll(words) * 8];
		for (bits = w->read | w->wrote; bits; cell++, bits >>= 8)
			if (bits & 0xff && *cell & RACE_LOCAL)
				__builtin_prefetch(race_local_get(&d->shadow.owns, *cell), 1);
	}
}

int race_access_page(struct race_detector *d, u32 thread, const struct dep_page_accesses *j,
		     u32 flags)
{
	struct race_access_ctx reads, writes;
	struct race_page *page;
	int ret;

	if (!is_good(d, thread, flags | RACE_READ) || j->addr % RACE_PAGE)
		return -EINVAL;
	if (d->skip)
		return d->error;
	reads = now_of(d, thread, j->pc, flags | RACE_READ);
	writes = now_of(d, thread, j->pc, flags | RACE_WRITE);
	ret = find_page(d, j->addr, &page);
	if (!ret && page) {
		fetch_owns(d, page, j);
		ret = check_page_accesses(d, &writes, page, j);
	}
	if (!ret && page)
		ret = check_page_accesses(d, &reads, page, j);
	return ret ? race_fail(d, ret) : 0;
}
