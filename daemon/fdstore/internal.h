/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of fdstore.c: the two ways of keeping. */
#ifndef DEPD_FDSTORE_INTERNAL_H
#define DEPD_FDSTORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "fdstore.h"

/** struct keep_way - who keeps; 0 or a negative errno */
struct keep_way {
	int (*put)(struct keep *k, const char *name, int fd);
	int (*remove)(struct keep *k, const char *name);
};

struct keep_list {
	struct kept *v;
	size_t n, room;
};

struct keep {
	const struct keep_way *way;
	bool has_keeper;	/* or had one; not systemd.. */
	int sock;		/* ..to it, -1 = none */
	struct keep_list listen;	/* what systemd passed for that */
	struct keep_list names;	/* of what is kept; no descriptors */
};

/** keep_name_good() - letters, digits, '.', '_', '-': what systemd allows, and less */
bool keep_name_good(const char *name);
/** keep_list_add() - 0, -ENOMEM, -EEXIST, -ENOSPC; @fd belongs to the list then */
int keep_list_add(struct keep_list *l, const char *name, int fd);
int keep_list_find(const struct keep_list *l, const char *name);
void keep_list_remove(struct keep_list *l, size_t i);
/** keep_list_free() - with its descriptors */
void keep_list_free(struct keep_list *l);

/** keep_passed() - what systemd passed to this process: kept ones, and k->listen */
int keep_passed(struct keep *k, struct keep_list *kept);
/** keep_systemd() - does systemd keep? k->way is set then */
bool keep_systemd(struct keep *k);
/** keep_keeper() - find or make a keeper, take what it has; k->way is set then */
int keep_keeper(struct keep *k, const char *rundir, struct keep_list *kept, char *why,
		size_t why_size);

#endif
