/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the fd store: interface of its two implementations, lists of descriptors. */
#ifndef DEPD_FDSTORE_INTERNAL_H
#define DEPD_FDSTORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "fdstore.h"

/** struct fdstore_ops - an implementation of the fd store; returns 0 or a negative errno */
struct fdstore_ops {
	int (*put)(struct fdstore *k, const char *name, int fd);
	int (*remove)(struct fdstore *k, const char *name);
};

struct fdstore_list {
	struct fdstore_entry *v;
	size_t n, room;
};

struct fdstore {
	const struct fdstore_ops *ops;
	bool has_holder;	/* the holder process keeps the descriptors, not systemd */
	int sock;		/* connection to the holder; -1: none */
	struct fdstore_list listen;	/* listening sockets that systemd passed */
	struct fdstore_list names;	/* names of the stored descriptors; fd is -1 */
};

/** fdstore_name_good() - true if @name is short and has only letters, digits, '.', '_', '-' */
bool fdstore_name_good(const char *name);
/** fdstore_list_add() - add an entry, which owns @fd.  Return: 0 or a negative errno */
int fdstore_list_add(struct fdstore_list *l, const char *name, int fd);
int fdstore_list_find(const struct fdstore_list *l, const char *name);
void fdstore_list_remove(struct fdstore_list *l, size_t i);
/** fdstore_list_free() - free the list and close its descriptors */
void fdstore_list_free(struct fdstore_list *l);

/** fdstore_passed() - add descriptors that systemd passed to @kept; listening ones to k->listen */
int fdstore_passed(struct fdstore *k, struct fdstore_list *kept);
/** fdstore_systemd() - use systemd's fd store if there is one: sets k->ops and returns true */
bool fdstore_systemd(struct fdstore *k);
/** fdstore_by_holder() - find or start a holder and fetch its entries into @kept; sets k->ops */
int fdstore_by_holder(struct fdstore *k, const char *rundir, struct fdstore_list *kept, char *why,
		      size_t why_size);

#endif
