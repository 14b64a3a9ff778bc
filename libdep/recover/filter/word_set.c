// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A hash table of pages with open addressing.  When half of its slots are used, it is copied to a
 * larger table.  Old tables are freed with the set only, since another thread may still be
 * searching them.  All tables point to the same pages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "word_set.h"

#define WORDS		(DEP_WORD_SET_PAGE / 4)

struct page {
	u64 number;
	u64 word[WORDS / 64];
};

struct dep_word_set_table {
	struct dep_word_set_table *old;
	size_t room, n;		/* @room is a power of two */
	struct page *slot[];
};

void dep_word_set_init(struct dep_word_set *p)
{
	memset(p, 0, sizeof(*p));
	pthread_mutex_init(&p->lock, NULL);
}

void dep_word_set_free(struct dep_word_set *p)
{
	struct dep_word_set_table *t = p->table, *old;
	size_t i;

	for (i = 0; t && i < t->room; i++)
		free(t->slot[i]);
	for (; t; t = old) {
		old = t->old;
		free(t);
	}
	pthread_mutex_destroy(&p->lock);
}

/* Return: the slot of page @number, or the free slot in which the page would be. */
static struct page **slot_of(struct dep_word_set_table *t, u64 number)
{
	size_t i = (size_t)(number * 0x9e3779b97f4a7c15ull >> 20) & (t->room - 1);
	struct page *page;

	while ((page = __atomic_load_n(&t->slot[i], __ATOMIC_ACQUIRE)) && page->number != number)
		i = (i + 1) & (t->room - 1);
	return &t->slot[i];
}

static struct page *find(const struct dep_word_set *p, u64 number)
{
	struct dep_word_set_table *t = __atomic_load_n(&p->table, __ATOMIC_ACQUIRE);

	return t ? *slot_of(t, number) : NULL;
}

static int grow(struct dep_word_set *p)
{
	struct dep_word_set_table *old = p->table, *t;
	size_t room = old ? 2 * old->room : 64, i;

	t = calloc(1, sizeof(*t) + room * sizeof(struct page *));
	if (!t)
		return dep_fail(-ENOMEM, "set of memory words");
	t->room = room;
	t->old = old;
	for (i = 0; old && i < old->room; i++)
		if (old->slot[i])
			*slot_of(t, old->slot[i]->number) = old->slot[i];
	t->n = old ? old->n : 0;
	__atomic_store_n(&p->table, t, __ATOMIC_RELEASE);
	return 0;
}

static struct page *make(struct dep_word_set *p, u64 number)
{
	struct page *page = find(p, number);

	if (page)
		return page;
	if ((!p->table || 2 * p->table->n >= p->table->room) && grow(p))
		return NULL;
	page = calloc(1, sizeof(*page));
	if (!page) {
		dep_fail(-ENOMEM, "set of memory words");
		return NULL;
	}
	page->number = number;
	p->table->n++;
	__atomic_store_n(slot_of(p->table, number), page, __ATOMIC_RELEASE);
	return page;
}

static void add_word(struct dep_word_set *p, struct page *page, u64 word)
{
	u64 bit = 1ull << (word & 63), *at = &page->word[word % WORDS / 64];
	u32 h = (u32)((word >> 4) * 0x9e3779b97f4a7c15ull >> 48);

	if (__atomic_load_n(at, __ATOMIC_RELAXED) & bit)
		return;
	__atomic_fetch_or(at, bit, __ATOMIC_RELEASE);
	__atomic_fetch_or(&p->line[h >> 6], 1ull << (h & 63), __ATOMIC_RELEASE);
	p->words++;
}

static u64 last_of(u64 address, u64 size)
{
	return address + (size - 1) < address ? ~0ull : address + (size - 1);
}

int dep_word_set_add(struct dep_word_set *p, u64 address, u64 size)
{
	u64 word = address / 4, end = last_of(address, size) / 4;
	struct page *page = NULL;
	int err = 0;

	if (!size)
		return 0;
	pthread_mutex_lock(&p->lock);
	for (; word <= end && !err; word++) {
		if (!page || page->number != word / WORDS)
			page = make(p, word / WORDS);
		if (page)
			add_word(p, page, word);
		else
			err = -ENOMEM;
	}
	p->lost |= err != 0;
	pthread_mutex_unlock(&p->lock);
	return err;
}

bool dep_word_set_has(const struct dep_word_set *p, u64 address, u64 size)
{
	u64 word = address / 4, end = last_of(address, size) / 4;
	struct page *page = NULL;
	u64 number = ~0ull;

	for (; size && word <= end; word++) {
		if (number != word / WORDS) {
			number = word / WORDS;
			page = find(p, number);
		}
		if (page && __atomic_load_n(&page->word[word % WORDS / 64], __ATOMIC_ACQUIRE) >>
			    (word & 63) & 1)
			return true;
		/* The set has no word of this page: continue with the next page. */
		if (!page)
			word |= WORDS - 1;
	}
	return false;
}

static int each_of(const struct page *page, int (*f)(void *arg, u64 address, u64 size), void *arg)
{
	u32 i, from = WORDS;
	int ret = 0;

	for (i = 0; i <= WORDS && !ret; i++) {
		if (i < WORDS && page->word[i / 64] >> (i & 63) & 1) {
			if (from == WORDS)
				from = i;
		} else if (from < WORDS) {
			ret = f(arg, page->number * DEP_WORD_SET_PAGE + from * 4ul,
				(i - from) * 4ul);
			from = WORDS;
		}
	}
	return ret;
}

int dep_word_set_each(const struct dep_word_set *p, int (*f)(void *arg, u64 address, u64 size),
		      void *arg)
{
	const struct dep_word_set_table *t = p->table;
	int ret = 0;
	size_t i;

	for (i = 0; t && i < t->room && !ret; i++)
		if (t->slot[i])
			ret = each_of(t->slot[i], f, arg);
	return ret;
}
