/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of depctl dump --fragments and depctl dump --log. */
#ifndef DEPCTL_STORE_FRAGMENTS_H
#define DEPCTL_STORE_FRAGMENTS_H

#include <dep/store.h>

#include "tools/depctl/common/output.h"

/**
 * fragments_dump() - print all fragments of @store, with their translations if it has them
 * @path: name of the store in messages
 *
 * Return: 0, or -1 after a message.
 */
int fragments_dump(struct dep_store *store, const char *path, struct out *out, bool json);

/** engine_log_dump() - print the engine's log ordered by time; 0, or -1 after a message */
int engine_log_dump(struct dep_store *store, struct out *out, bool json);

#endif
