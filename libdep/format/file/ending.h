/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_FORMAT_FILE_ENDING_H
#define ADEPT_FORMAT_FILE_ENDING_H

#include "dep/store.h"

/** struct dep_ending - end of a recording, for the last frame of its log */
struct dep_ending {
	enum dep_close_cause cause;
	int exit_status;	/* wait status of the command, -1 if unknown */
	int error;		/* errno of the failed write if DEP_CLOSE_FAILED, else 0 */
	uint32_t live;		/* number of processes that were still running */
	struct dep_loss loss;
};

#endif
