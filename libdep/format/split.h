/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A chunk's body -> control and value column. */
#ifndef DEP_FORMAT_SPLIT_H
#define DEP_FORMAT_SPLIT_H

#include "index.h"

struct dep_split {
	u32 control, value;	/* bytes of the columns */
	u32 parsed;		/* bytes of the body that they hold */
};

/**
 * dep_split() - parse records from @body[0..size)
 * @control, @value: room for @size bytes each and 8 more, or both NULL to parse only
 *
 * Stops in front of the first thing that is no whole record or event.
 */
struct dep_split dep_split(const struct dep_index *x, const u8 *body, u32 size, u8 *control,
			   u8 *value);

#endif
