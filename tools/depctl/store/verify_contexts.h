/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl verify --contexts: encoded contexts against true stacks. */
#ifndef DEPCTL_STORE_VERIFY_CONTEXTS_H
#define DEPCTL_STORE_VERIFY_CONTEXTS_H

#include <dep/contexts.h>

#include "tools/depctl/common/output.h"

/** Of so many calls the context of one is checked, by default. */
#define VERIFY_CONTEXTS_EVERY	1000u

/**
 * verify_contexts() - encode all calls of a store, and check the context of one in @every
 * @mismatch, @arg: as in struct dep_context_check_options
 *
 * Return: 0 or a negative errno with dep_error().
 */
int verify_contexts(struct dep_store *store, uint64_t every, unsigned int jobs,
		    void (*mismatch)(void *arg, const struct dep_context_mismatch *m), void *arg,
		    struct dep_context_check *check);
/** verify_contexts_stacks() - print both stacks of a mismatch, if they are known */
void verify_contexts_stacks(struct out *out, const struct dep_context_mismatch *m);
void verify_contexts_text(struct out *out, const struct dep_context_check *check);
void verify_contexts_json(struct json *j, const struct dep_context_check *check);

#endif
