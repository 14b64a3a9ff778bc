/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_LIB_CLOSE_WRITER_H
#define TESTS_UNIT_LIB_CLOSE_WRITER_H

#include "libdep/format/write/store_writer.h"

/* Close a store as if all programs had ended; @loss may be NULL. */
static inline int close_writer(struct dep_writer *w, const struct dep_loss *loss, int exit_status)
{
	struct dep_ending e = { .cause = DEP_CLOSE_ENDED, .exit_status = exit_status };

	if (loss)
		e.loss = *loss;
	return dep_writer_close(w, &e);
}

#endif
