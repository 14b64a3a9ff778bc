// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "detector.h"
#include "sites.h"

static u32 hash(u64 pc, u32 flags)
{
	return ((pc + flags * 0x632be5abull) * 0x9e3779b97f4a7c15u) >> 40;
}

static u32 class_of(u32 flags)
{
	return (flags & RACE_WRITE ? RACE_CLASS_WRITE : 0) |
	       (flags & RACE_ATOMIC ? RACE_CLASS_ATOMIC : 0) |
	       (flags & RACE_INSIDE ? RACE_CLASS_INSIDE : 0);
}

static int grow(struct race_mem *m, struct race_sites *s)
{
	u32 room = s->room ? s->room * 2 : 256, i, *head, *at;
	struct race_site *site;

	if (room > RACE_SITES)
		return -ENOMEM;
	site = race_grow(m, RACE_MEM_OTHER, s->site, s->room * sizeof(*site),
			 room * sizeof(*site));
	if (!site)
		return -ENOMEM;
	s->site = site;
	s->room = room;
	head = race_alloc(m, RACE_MEM_OTHER, room * sizeof(*head));
	if (!head)
		return -ENOMEM;
	race_free(m, RACE_MEM_OTHER, s->head, s->heads * sizeof(*head));
	s->head = head;
	s->heads = room;
	for (i = 0; i < s->n; i++) {
		at = &head[hash(site[i].pc, site[i].flags) & (room - 1)];
		site[i].next = *at;
		*at = i + 1;
	}
	return 0;
}

int race_sites_find(struct race_mem *m, struct race_sites *s, u64 pc, u32 flags, u32 *out)
{
	u32 h = hash(pc, flags), i;
	struct race_site *site;

	for (i = s->heads ? s->head[h & (s->heads - 1)] : 0; i; i = site->next) {
		site = &s->site[i - 1];
		if (site->pc == pc && site->flags == flags)
			break;
	}
	if (!i) {
		/* After a failed grow(), @room may be large enough but @head missing. */
		if ((s->n == s->room || !s->heads) && grow(m, s))
			return -ENOMEM;
		i = ++s->n;
		site = &s->site[i - 1];
		*site = (struct race_site){ pc, flags, s->head[h & (s->heads - 1)] };
		s->head[h & (s->heads - 1)] = i;
	}
	*out = (i - 1) << RACE_CLASS_BITS | class_of(flags);
	return 0;
}

void race_sites_free(struct race_mem *m, struct race_sites *s)
{
	race_free(m, RACE_MEM_OTHER, s->site, s->room * sizeof(*s->site));
	race_free(m, RACE_MEM_OTHER, s->head, s->heads * sizeof(*s->head));
}
