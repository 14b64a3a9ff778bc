/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of a race detector: counted by use, with a limit. */
#ifndef ADEPT_ANALYZE_RACES_MEMORY_BUDGET_H
#define ADEPT_ANALYZE_RACES_MEMORY_BUDGET_H

#include <stdlib.h>
#include <string.h>

#include "libdep/abi/types.h"

enum race_mem_use {
	RACE_MEM_SHADOW,
	RACE_MEM_STATES,
	RACE_MEM_CLOCKS,
	RACE_MEM_OTHER,
	RACE_MEM_USES
};

/** struct race_mem - bytes in use; @limit: maximum of @sum, 0: none */
struct race_mem {
	u64 used[RACE_MEM_USES];
	u64 sum, limit;
};

/* Add @size bytes to the count. Return: 1, or 0 if that would exceed the limit. */
static inline int race_mem_take(struct race_mem *m, enum race_mem_use use, size_t size)
{
	if (m->limit && (size > m->limit || m->sum > m->limit - size))
		return 0;
	m->used[use] += size;
	m->sum += size;
	return 1;
}

static inline void race_mem_give(struct race_mem *m, enum race_mem_use use, size_t size)
{
	m->used[use] -= size;
	m->sum -= size;
}

/* Allocate zeroed memory; NULL: no memory, or the limit is reached. */
static inline void *race_alloc(struct race_mem *m, enum race_mem_use use, size_t size)
{
	void *p;

	if (!race_mem_take(m, use, size))
		return NULL;
	p = calloc(1, size);
	if (!p)
		race_mem_give(m, use, size);
	return p;
}

static inline void race_free(struct race_mem *m, enum race_mem_use use, void *p, size_t size)
{
	if (!p)
		return;
	race_mem_give(m, use, size);
	free(p);
}

/* Grow @p from @old to @size bytes; the new bytes are not zeroed. On NULL, @p is unchanged. */
static inline void *race_grow(struct race_mem *m, enum race_mem_use use, void *p, size_t old,
			      size_t size)
{
	void *q;

	if (!race_mem_take(m, use, size - old))
		return NULL;
	q = realloc(p, size);
	if (!q)
		race_mem_give(m, use, size - old);
	return q;
}

#endif
