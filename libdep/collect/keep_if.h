/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is the store of a command to be kept, given how the command ended? */
#ifndef ADEPT_COLLECT_KEEP_IF_H
#define ADEPT_COLLECT_KEEP_IF_H

#include <stdbool.h>
#include <sys/wait.h>

/** enum dep_keep_if - in which case the store of a command is kept */
enum dep_keep_if {
	DEP_KEEP_IF_ALWAYS,
	DEP_KEEP_IF_FAILURE,	/* its exit status is not 0, or a signal killed it */
	DEP_KEEP_IF_CRASH,	/* a signal killed it */
	DEP_KEEP_IFS
};

/** dep_keep_if_met() - is a store kept, if wait(2) gave @status for its command? -1: not known */
static inline bool dep_keep_if_met(enum dep_keep_if when, int status)
{
	if (when == DEP_KEEP_IF_ALWAYS || status < 0 || !WIFEXITED(status))
		return true;
	return when == DEP_KEEP_IF_FAILURE && WEXITSTATUS(status);
}

#endif
