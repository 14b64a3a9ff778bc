// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "access_set.h"

#define BUCKETS		4096u
#define BLOCK		32u	/* pages per allocation */
#define BLOCKS		(DEP_ACCESS_SET_PAGES / BLOCK)
/* a set with fewer pages reuses no old page, since most old pages are needed again soon */
#define KEPT		256u

struct dep_access_block {
	struct dep_access_page page[BLOCK];
};

int dep_access_set_init(struct dep_access_set *s)
{
	memset(s, 0, sizeof(*s));
	s->bucket = calloc(BUCKETS, sizeof(*s->bucket));
	s->block = calloc(BLOCKS, sizeof(struct dep_access_block *));
	s->stamp = DEP_ACCESS_SET_INTERVALS - 1;
	dep_access_set_new_interval(s);
	return s->bucket && s->block ? 0 : dep_fail(-ENOMEM, "set of accessed bytes");
}

void dep_access_set_free(struct dep_access_set *s)
{
	u32 i;

	for (i = 0; s->block && i < BLOCKS; i++)
		free(s->block[i]);
	free(s->block);
	free(s->bucket);
	s->block = NULL;
	s->bucket = NULL;
}

static void clear_entries(struct dep_access_set *s)
{
	memset(s->key, 0xff, sizeof(s->key));
	memset(s->page, 0, sizeof(s->page));
}

void dep_access_set_new_interval(struct dep_access_set *s)
{
	for (; s->later; s->later = s->later->next_deferred)
		s->later->later = 0;
	s->turn++;
	if (++s->stamp < DEP_ACCESS_SET_INTERVALS)
		return;
	/* The interval numbers of keys wrap around: remove all old keys. */
	s->stamp = 1;
	clear_entries(s);
}

static u32 bucket_of(u64 place)
{
	return place * 0x9e3779b97f4a7c15ull >> 52;
}

static struct dep_access_page *number(struct dep_access_set *s, u32 i)
{
	return &s->block[i / BLOCK]->page[i % BLOCK];
}

/*
 * Return: the interval number that a page with valid bits has: the current one, but 0 for
 * DEP_ORIGIN_IGNORED, whose pages are always valid.
 */
static u64 interval_of(const struct dep_access_set *s, u64 place)
{
	return place >> DEP_ACCESS_SET_ORIGIN == DEP_ORIGIN_IGNORED ? 0 : s->turn;
}

static u64 number_of(u64 place)
{
	return place & ((1ull << DEP_ACCESS_SET_ORIGIN) - 1);
}

/* Unlink a page of an older interval for reuse.  Return: NULL if the next candidate is in use. */
static struct dep_access_page *used_again(struct dep_access_set *s)
{
	struct dep_access_page *p, **pp;
	u32 way;

	if (s->pages < KEPT)
		return NULL;
	s->oldest = (s->oldest + 1) % s->pages;
	p = number(s, s->oldest);
	if (p->turn == s->turn)
		return NULL;
	for (pp = &s->bucket[bucket_of(p->place)]; *pp != p; pp = &(*pp)->next)
		;
	*pp = p->next;
	/* The cache may still find this page: entries of DEP_ORIGIN_IGNORED do not expire. */
	way = number_of(p->place) % DEP_ACCESS_SET_CACHE;
	if (s->page[way] == p)
		s->key[way] = ~0ull;
	return p;
}

static struct dep_access_page *unused(struct dep_access_set *s)
{
	struct dep_access_block **b;

	if (s->pages == DEP_ACCESS_SET_PAGES) {
		if (s->later)
			return NULL;
		/* The set is full: empty it.  Repeated accesses are then emitted once more. */
		memset(s->bucket, 0, BUCKETS * sizeof(*s->bucket));
		clear_entries(s);
		s->pages = 0;
	}
	b = &s->block[s->pages / BLOCK];
	if (!*b)
		*b = calloc(1, sizeof(**b));
	return *b ? number(s, s->pages++) : NULL;
}

static void clear(struct dep_access_page *p)
{
	u32 i;

	for (; p->used; p->used &= p->used - 1) {
		i = (u32)__builtin_ctzll(p->used);
		p->read[i] = p->wrote[i] = p->emitted[i].read = p->emitted[i].wrote = 0;
	}
}

/*
 * Find or make the page @place, valid for this interval.  @p: a page to try first, or NULL.
 * Return: NULL: no memory.
 */
static struct dep_access_page *page_of(struct dep_access_set *s, u64 place,
				       struct dep_access_page *p)
{
	struct dep_access_page **bucket = &s->bucket[bucket_of(place)];

	for (p = p && p->place == place ? p : *bucket; p && p->place != place;)
		p = p->next;
	if (p && p->turn == interval_of(s, place))
		return p;
	if (!p) {
		p = used_again(s);
		p = p ? p : unused(s);
		if (!p)
			return NULL;
		p->place = place;
		p->next = *bucket;
		*bucket = p;
	}
	p->turn = interval_of(s, place);
	clear(p);
	return p;
}

/* Return: the bits of word @i for those bytes of the page that are in @from to @to - 1. */
static u64 part_of(u32 i, u32 from, u32 to)
{
	u64 bits = ~0ull;

	if (i == from / 64)
		bits <<= from % 64;
	if (i == (to - 1) / 64)
		bits &= ~0ull >> (-to & 63);
	return bits;
}

/* Set the bits of bytes @from to @to - 1.  Return: bit i: word i has bits that were not set. */
static u64 set_bits(struct dep_access_page *p, u32 from, u32 to, bool write, bool later)
{
	u64 bits, words = 0;
	u32 i;

	for (i = from / 64; i <= (to - 1) / 64; i++) {
		bits = part_of(i, from, to);
		if (bits & ~(write ? p->wrote[i] : p->read[i]))
			words |= 1ull << i;
		/* An access that is not deferred is emitted now: mark its new bytes as emitted. */
		if (!later) {
			p->emitted[i].read |= bits & ~p->read[i];
			p->emitted[i].wrote |= write ? bits & ~p->wrote[i] : 0;
		}
		p->read[i] |= bits;
		p->wrote[i] |= write ? bits : 0;
		p->used |= 1ull << i;
	}
	return words;
}

static void clear_bits(struct dep_access_page *p, u32 from, u32 to)
{
	u64 bits;
	u32 i;

	for (i = from / 64; i <= (to - 1) / 64; i++) {
		bits = ~part_of(i, from, to);
		p->read[i] &= bits;
		p->wrote[i] &= bits;
		p->emitted[i].read &= bits;
		p->emitted[i].wrote &= bits;
	}
}

/* Return: the deferred bits of word @i: bytes only read if @reads, otherwise bytes written. */
static u64 bits_of(const struct dep_access_page *p, u32 i, bool reads)
{
	if (!(p->later >> i & 1))
		return 0;
	return reads ? p->read[i] & ~p->wrote[i] & ~p->emitted[i].read :
		       p->wrote[i] & ~p->emitted[i].wrote;
}

/* Find the page @place.  Return: NULL if it has no valid bits for this interval. */
static struct dep_access_page *find(const struct dep_access_set *s, u64 place)
{
	struct dep_access_page *p = s->bucket[bucket_of(place)];

	while (p && p->place != place)
		p = p->next;
	return p && p->turn == interval_of(s, place) ? p : NULL;
}

static bool is_too_much(const struct dep_access_set *s, u64 addr, u64 size)
{
	return addr + size < addr || size / DEP_ACCESS_SET_PAGE > s->pages;
}

static bool are_put_off(const struct dep_access_page *p, u32 from, u32 to)
{
	u64 bits;
	u32 i;

	for (i = from / 64; i <= (to - 1) / 64; i++) {
		bits = bits_of(p, i, false) | bits_of(p, i, true);
		if (bits & part_of(i, from, to))
			return true;
	}
	return false;
}

/* Return: the number of bytes of the range at @addr that are in its first page. */
static u32 in_page(u64 addr, u64 size)
{
	u64 most = DEP_ACCESS_SET_PAGE - addr % DEP_ACCESS_SET_PAGE;

	return size < most ? size : most;
}

bool dep_access_set_is_deferred(const struct dep_access_set *s, u64 addr, u64 size)
{
	const struct dep_access_page *p;
	u32 n, from;
	u64 who;

	if (is_too_much(s, addr, size))
		return true;
	if (!s->later)
		return false;
	for (; size; addr += n, size -= n) {
		n = in_page(addr, size);
		from = addr % DEP_ACCESS_SET_PAGE;
		for (who = 0; who < DEP_ORIGIN_IGNORED; who++) {
			p = find(s, addr / DEP_ACCESS_SET_PAGE | who << DEP_ACCESS_SET_ORIGIN);
			if (p && p->later && are_put_off(p, from, from + n))
				return true;
		}
	}
	return false;
}

bool dep_access_set_forget(struct dep_access_set *s, u64 addr, u64 size)
{
	struct dep_access_page *p;
	u32 from, to;
	u64 who;

	if (is_too_much(s, addr, size))
		return false;
	for (; size; addr += to - from, size -= to - from) {
		from = addr % DEP_ACCESS_SET_PAGE;
		to = from + in_page(addr, size);
		for (who = 0; who < DEP_ORIGIN_IGNORED; who++) {
			p = find(s, addr / DEP_ACCESS_SET_PAGE | who << DEP_ACCESS_SET_ORIGIN);
			if (p)
				clear_bits(p, from, to);
		}
	}
	return true;
}

static void emit_deferred(struct dep_access_set *s, struct dep_access_page *p, u64 words, u64 pc)
{
	if (!words)
		return;
	if (!p->later) {
		p->pc = pc;
		p->next_deferred = s->later;
		s->later = p;
	}
	p->later |= words;
}

/* Fast path of note() if all bytes are in one word of @p.  Return: 1 if a byte was new, else 0. */
static int note_word(struct dep_access_set *s, struct dep_access_page *p,
		     const struct dep_filter_access *a, bool later)
{
	u32 at = a->addr % DEP_ACCESS_SET_PAGE, i = at / 64;
	u64 bits = ~0ull >> (64 - a->size) << at % 64, read = p->read[i], wrote = p->wrote[i];
	bool new = bits & ~(a->write ? wrote : read);

	if (!later) {
		p->emitted[i].read |= bits & ~read;
		p->emitted[i].wrote |= a->write ? bits & ~wrote : 0;
	}
	p->read[i] = read | bits;
	p->wrote[i] = wrote | (a->write ? bits : 0);
	p->used |= 1ull << i;
	if (later && new)
		emit_deferred(s, p, 1ull << i, a->pc);
	return new;
}

/* Get the page at @addr for this interval and put it into the cache.  Return: NULL: no memory. */
static struct dep_access_page *entry_of(struct dep_access_set *s, u64 addr, u8 who)
{
	u64 page = addr / DEP_ACCESS_SET_PAGE, key = page | dep_access_set_tag(s, who);
	u32 way = page % DEP_ACCESS_SET_CACHE;
	struct dep_access_page *p;

	if (s->key[way] == key)
		return s->page[way];
	p = page_of(s, page | (u64)who << DEP_ACCESS_SET_ORIGIN, s->page[way]);
	if (p) {
		s->key[way] = key;
		s->page[way] = p;
	}
	return p;
}

/* Add an access to the set.  Return: 1 if any byte was new, else 0; or -ENOMEM. */
static int note(struct dep_access_set *s, const struct dep_filter_access *a, bool later)
{
	u64 addr = a->addr, size = a->size, words;
	struct dep_access_page *p;
	u32 from, to;
	int new = 0;

	if (!size || addr + (size - 1) < addr)
		return -ENOMEM;
	if (size <= 64 - addr % 64) {
		p = entry_of(s, addr, a->who);
		return p ? note_word(s, p, a, later) : -ENOMEM;
	}
	for (; size; addr += to - from, size -= to - from) {
		from = addr % DEP_ACCESS_SET_PAGE;
		to = from + in_page(addr, size);
		p = entry_of(s, addr, a->who);
		if (!p)
			return -ENOMEM;
		words = set_bits(p, from, to, a->write, later);
		new |= words != 0;
		if (later)
			emit_deferred(s, p, words, a->pc);
	}
	return new;
}

bool dep_access_set_add(struct dep_access_set *s, const struct dep_filter_access *a)
{
	return note(s, a, false) != 0;
}

bool dep_access_set_defer(struct dep_access_set *s, const struct dep_filter_access *a)
{
	return note(s, a, true) >= 0;
}

bool dep_access_set_near(struct dep_access_set *s, u64 tag, u64 pc, u64 addr, u64 read, u64 wrote,
			 bool later)
{
	u32 way = addr / DEP_ACCESS_SET_PAGE % DEP_ACCESS_SET_CACHE;
	u32 at = addr % DEP_ACCESS_SET_PAGE, i = at / 64, shift = at % 64;
	u64 after = shift ? (read | wrote) >> (64 - shift) : 0;
	u64 words = (after ? 3ull : 1ull) << i;
	struct dep_access_page *p = s->page[way];

	if (!tag || (after && i + 1 == DEP_ACCESS_SET_PAGE / 64))
		return false;
	if (s->key[way] != (addr / DEP_ACCESS_SET_PAGE | tag))
		p = entry_of(s, addr, tag >> DEP_ACCESS_SET_ORIGIN & (DEP_ACCESS_SET_ORIGINS - 1));
	if (!p)
		return false;
	p->read[i] |= (read | wrote) << shift;
	p->wrote[i] |= wrote << shift;
	if (after) {
		p->read[i + 1] |= after;
		p->wrote[i + 1] |= wrote >> (64 - shift);
	}
	p->used |= words;
	if (later)
		emit_deferred(s, p, words, pc);
	return true;
}

bool dep_access_set_flush(struct dep_access_set *s, struct dep_access_set_flushed *out)
{
	struct dep_access_page *p = s->later;
	struct dep_page_word *w = out->word;
	u32 i;

	if (!p)
		return false;
	out->pc = p->pc;
	out->addr = number_of(p->place) * DEP_ACCESS_SET_PAGE;
	out->who = (u8)(p->place >> DEP_ACCESS_SET_ORIGIN);
	out->words = 0;
	for (; p->later; p->later &= p->later - 1) {
		i = (u32)__builtin_ctzll(p->later);
		w->wrote = p->wrote[i] & ~p->emitted[i].wrote;
		w->read = p->read[i] & ~p->wrote[i] & ~p->emitted[i].read;
		p->emitted[i].read = p->read[i];
		p->emitted[i].wrote = p->wrote[i];
		if (!(w->wrote | w->read))
			continue;
		out->words |= 1ull << i;
		w++;
	}
	out->nwords = (u16)(w - out->word);
	s->later = p->next_deferred;
	return true;
}
