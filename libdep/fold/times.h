/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When fragments were translated, and which mapped file each belongs to. */
#ifndef ADEPT_FOLD_TIMES_H
#define ADEPT_FOLD_TIMES_H

#include "code.h"
#include "images.h"

/**
 * struct dep_fragment_times - state while fragments are placed in the order of the log
 *
 * A fragment has no time of its own.  Its descriptor stands in the log between those of its
 * process's mappings: it was translated after the last one in front of it.
 */
struct dep_fragment_times {
	struct dep_store *store;
	struct dep_images images;
	const struct dep_map_event **event;	/* in the order of the log */
	size_t nevents, next;
	struct dep_table last;		/* struct dep_last_map, sorted by the process's serial */
};

struct dep_last_map {
	u32 process, pad;
	u64 time_ns;		/* of the process's last mapping so far, or of its start */
};

int dep_fragment_times_make(struct dep_fragment_times *t, struct dep_store *store);
void dep_fragment_times_free(struct dep_fragment_times *t);

/** dep_fragment_place() - set time_ns and image of @out; call it in the order of the log */
int dep_fragment_place(struct dep_fragment_times *t, const struct dep_fragment *f,
		       struct dep_code_fragment *out);

#endif
