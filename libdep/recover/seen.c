// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../format/error.h"
#include "seen.h"

#define BUCKETS		4096u
#define BLOCK		32u	/* pages that are allocated at a time */
#define BLOCKS		256u
#define KEPT		64u	/* pages of old turns that stay, since they come again mostly */

struct dep_seen_block {
	struct dep_seen_page page[BLOCK];
};

int dep_seen_init(struct dep_seen *s)
{
	memset(s, 0, sizeof(*s));
	s->bucket = calloc(BUCKETS, sizeof(*s->bucket));
	s->block = calloc(BLOCKS, sizeof(struct dep_seen_block *));
	s->stamp = DEP_SEEN_STAMPS - 1;
	dep_seen_turn(s);
	return s->bucket && s->block ? 0 : dep_fail(-ENOMEM, "references");
}

void dep_seen_free(struct dep_seen *s)
{
	u32 i;

	for (i = 0; s->block && i < BLOCKS; i++)
		free(s->block[i]);
	free(s->block);
	free(s->bucket);
	s->block = NULL;
	s->bucket = NULL;
}

static void clear_ways(struct dep_seen *s)
{
	u32 i;

	for (i = 0; i < DEP_SEEN_WAYS; i++)
		s->way[i].key = ~0ull;
}

void dep_seen_turn(struct dep_seen *s)
{
	s->turn++;
	if (++s->stamp < DEP_SEEN_STAMPS)
		return;
	/* Keys of this number are of long ago. */
	s->stamp = 1;
	clear_ways(s);
}

static struct dep_seen_page **bucket_of(struct dep_seen *s, u64 place)
{
	return &s->bucket[place * 0x9e3779b97f4a7c15ull >> 52];
}

static struct dep_seen_page *number(struct dep_seen *s, u32 i)
{
	return &s->block[i / BLOCK]->page[i % BLOCK];
}

/* One of an old turn, taken from where it was, or NULL. */
static struct dep_seen_page *used_again(struct dep_seen *s)
{
	struct dep_seen_page *p, **pp;

	if (s->pages < KEPT)
		return NULL;
	s->oldest = (s->oldest + 1) % s->pages;
	p = number(s, s->oldest);
	if (p->turn == s->turn)
		return NULL;
	for (pp = bucket_of(s, p->place); *pp != p; pp = &(*pp)->next)
		;
	*pp = p->next;
	return p;
}

static struct dep_seen_page *unused(struct dep_seen *s)
{
	struct dep_seen_block **b;

	if (s->pages == BLOCK * BLOCKS) {
		/* It is all forgotten, and will be shown again. */
		memset(s->bucket, 0, BUCKETS * sizeof(*s->bucket));
		clear_ways(s);
		s->pages = 0;
	}
	b = &s->block[s->pages / BLOCK];
	if (!*b)
		*b = calloc(1, sizeof(**b));
	return *b ? number(s, s->pages++) : NULL;
}

/* The page of this turn, or NULL. */
static struct dep_seen_page *page_of(struct dep_seen *s, u64 place)
{
	struct dep_seen_page **bucket = bucket_of(s, place), *p = *bucket;

	while (p && p->place != place)
		p = p->next;
	if (p && p->turn == s->turn)
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
	p->turn = s->turn;
	memset(p->read, 0, sizeof(p->read));
	memset(p->wrote, 0, sizeof(p->wrote));
	return p;
}

/* Set @n bits from @from on; was one of them not set? */
static bool set_bits(u64 *word, u32 from, u32 n)
{
	u32 end = from + n, stop;
	bool new = false;
	u64 bits;

	for (; from < end; from = stop) {
		stop = (from | 63) + 1;
		bits = ~0ull << (from & 63);
		if (stop > end) {
			stop = end;
			bits &= ~0ull >> (-end & 63);
		}
		new |= bits & ~word[(stop - 1) / 64];
		word[(stop - 1) / 64] |= bits;
	}
	return new;
}

bool dep_seen_note(struct dep_seen *s, u8 who, u64 addr, u64 size, bool write)
{
	struct dep_seen_page *p;
	struct dep_seen_way *w;
	bool new = false;
	u64 part, page;

	if (!size || addr + (size - 1) < addr)
		return true;
	for (; size; addr += part, size -= part) {
		page = addr / DEP_SEEN_PAGE;
		part = DEP_SEEN_PAGE - addr % DEP_SEEN_PAGE;
		part = part < size ? part : size;
		p = page_of(s, page | (u64)who << DEP_SEEN_WHO);
		if (!p)
			return true;
		w = &s->way[page % DEP_SEEN_WAYS];
		w->key = page | dep_seen_tag(s, who);
		w->page = p;
		/* Not ||: both are set. */
		if (write)
			new |= set_bits(p->wrote, addr % DEP_SEEN_PAGE, (u32)part);
		new |= set_bits(p->read, addr % DEP_SEEN_PAGE, (u32)part) && !write;
	}
	return new;
}
