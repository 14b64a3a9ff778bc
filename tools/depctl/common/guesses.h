/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much is below callers at an attach that are guesses. */
#ifndef DEPCTL_COMMON_GUESSES_H
#define DEPCTL_COMMON_GUESSES_H

#include <stdbool.h>

#include "dep/contexts.h"

/**
 * struct guesses - what was executed in and below callers at an attach that are guesses
 * @threads: that executed it; they can have been created after the attach
 */
struct guesses {
	uint32_t threads;
	uint64_t insns;
};

/**
 * guesses_count() - count it in the rows of threads
 * @chosen: return true for rows that count, with @arg; NULL: all do
 *
 * Return: 0 or -ENOMEM.
 */
int guesses_count(struct guesses *g, const struct dep_contexts *c,
		  bool (*chosen)(const void *arg, const struct dep_context_share *s),
		  const void *arg);

#endif
