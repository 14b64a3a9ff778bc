/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory for users outside the engine: malloc() and free(). */
#ifndef ADEPT_PATHS_MALLOC_H
#define ADEPT_PATHS_MALLOC_H

#include <stdlib.h>

#include "memory.h"

static inline void *dep_path_malloc(void *self, size_t bytes)
{
	(void)self;
	return malloc(bytes);
}

static inline void dep_path_free(void *self, void *memory, size_t bytes)
{
	(void)self;
	(void)bytes;
	free(memory);
}

static const struct dep_path_memory dep_path_heap = {
	.get = dep_path_malloc, .put = dep_path_free,
};

#endif
