/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sites: numbered code locations, each a pc with the flags of its access.
 *
 * The low bits of a site are the class of its accesses, so two sites can be tested for a conflict
 * without a lookup.
 */
#ifndef ADEPT_ANALYZE_RACES_SITES_H
#define ADEPT_ANALYZE_RACES_SITES_H

#include "memory_budget.h"

#define RACE_CLASS_WRITE	1u	/* a write; otherwise a read */
#define RACE_CLASS_ATOMIC	2u
#define RACE_CLASS_INSIDE	4u
#define RACE_CLASS		7u
#define RACE_CLASS_BITS		3
#define RACE_SITES		(1u << 29)

struct race_site {
	u64 pc;
	u32 flags;
	u32 next;		/* number + 1 of the next site with the same hash */
};

struct race_sites {
	struct race_site *site;
	u32 n, room;
	u32 *head;
	u32 heads;		/* size of @head, a power of two, or 0 */
};

/**
 * race_sites_find() - find the site of @pc and @flags (RACE_READ..), or make it
 *
 * Return: 0 or -ENOMEM.
 */
int race_sites_find(struct race_mem *m, struct race_sites *s, u64 pc, u32 flags, u32 *out);

static inline const struct race_site *race_sites_get(const struct race_sites *s, u32 site)
{
	return &s->site[site >> RACE_CLASS_BITS];
}

void race_sites_free(struct race_mem *m, struct race_sites *s);

#endif
