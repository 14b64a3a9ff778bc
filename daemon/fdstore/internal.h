/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of fdstore.c: the two ways of keeping. */
#ifndef DEPD_FDSTORE_INTERNAL_H
#define DEPD_FDSTORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "fdstore.h"

/** struct fdstore_ops - who keeps; 0 or a negative errno */
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
	bool has_holder;	/* or had one; not systemd.. */
	int sock;		/* ..to it, -1 = none */
	struct fdstore_list listen;	/* what systemd passed for that */
	struct fdstore_list names;	/* of what is kept; no descriptors */
};

/** fdstore_name_good() - letters, digits, '.', '_', '-': what systemd allows, and less */
bool fdstore_name_good(const char *name);
/** fdstore_list_add() - 0, -ENOMEM, -EEXIST, -ENOSPC; @fd belongs to the list then */
int fdstore_list_add(struct fdstore_list *l, const char *name, int fd);
int fdstore_list_find(const struct fdstore_list *l, const char *name);
void fdstore_list_remove(struct fdstore_list *l, size_t i);
/** fdstore_list_free() - with its descriptors */
void fdstore_list_free(struct fdstore_list *l);

/** fdstore_passed() - what systemd passed to this process: kept ones, and k->listen */
int fdstore_passed(struct fdstore *k, struct fdstore_list *kept);
/** fdstore_systemd() - does systemd keep? k->ops is set then */
bool fdstore_systemd(struct fdstore *k);
/** fdstore_by_holder() - find or make a holder, take what it has; k->ops is set then */
int fdstore_by_holder(struct fdstore *k, const char *rundir, struct fdstore_list *kept, char *why,
		      size_t why_size);

#endif
