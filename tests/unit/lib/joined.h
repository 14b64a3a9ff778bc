/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emits deferred accesses as references: for each page the bytes written first, then the bytes
 * read.
 */
#ifndef TESTS_UNIT_LIB_JOINED_H
#define TESTS_UNIT_LIB_JOINED_H

#include "libdep/recover/filter/filter.h"

/** union joined_room - room for all that there can be of a page */
union joined_room {
	struct dep_page_accesses j;
	u64 room[8 + 2 * DEP_JOINED_WORDS];
};

static inline bool is_joined(const struct dep_page_accesses *j, u32 byte, bool write)
{
	const struct dep_page_word *w = j->word;
	u32 i;

	if (!(j->words >> byte / 64 & 1))
		return false;
	for (i = 0; i < byte / 64; i++)
		w += j->words >> i & 1;
	return (write ? w->wrote : w->read) >> byte % 64 & 1;
}

/* The next run of bytes after *@at, which begins as 0; false: no more. */
static inline bool next_run(const struct dep_page_accesses *j, u32 *at, struct dep_ref *r)
{
	bool write;
	u32 from;

	for (; *at < 2 * DEP_ACCESS_PAGE_SIZE; ++*at) {
		write = *at < DEP_ACCESS_PAGE_SIZE;
		from = *at % DEP_ACCESS_PAGE_SIZE;
		if (!is_joined(j, from, write))
			continue;
		*r = (struct dep_ref){ .pc = j->pc, .addr = j->addr + from, .origin = j->origin,
				       .type = write ? DEP_WRITE : DEP_READ };
		for (; from < DEP_ACCESS_PAGE_SIZE && is_joined(j, from, write); from++, ++*at)
			r->size++;
		return true;
	}
	return false;
}

/** struct taken - what is left of the page that was taken last */
struct taken {
	union joined_room room;
	u32 at;
	bool any;
};

/* Next deferred reference of @s; with @last also the last reads, for which *@joined is false. */
static inline bool take_run(struct taken *t, struct dep_filter *s, struct dep_ref *r, bool last,
			    bool *joined)
{
	*joined = true;
	for (;;) {
		if (t->any && next_run(&t->room.j, &t->at, r))
			return true;
		t->any = dep_filter_flush(s, &t->room.j);
		t->at = 0;
		if (!t->any)
			break;
	}
	*joined = false;
	return last && dep_filter_last(s, r);
}

#endif
