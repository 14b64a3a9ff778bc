/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording lacks, and the sentences that say so. */
#ifndef DEPCTL_COMMON_MISSING_H
#define DEPCTL_COMMON_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dep/contexts.h>
#include <dep/profile.h>
#include <dep/store.h>

#include "output.h"

#define REASONS_MAX	24u

/** struct missing - what a recording lacks */
struct missing {
	struct dep_loss loss;
	uint64_t gaps;		/* gaps that an analysis found; missing_find() sets 0 */
	uint64_t empty;		/* number of threads without segments */
	uint64_t defects;	/* number of defects of the store not counted in @loss */
	char defect[256];	/* text of the first of @defects */
	bool recording;		/* the store was still being recorded */
};

/** struct reasons - why a result is incomplete, one text for each reason */
struct reasons {
	char text[REASONS_MAX][320];
	size_t n;
};

void missing_find(struct missing *m, struct dep_store *store);

/** reasons_add() - add "@n @one", or "@n @more", unless @n is 0 */
void reasons_add(struct reasons *r, uint64_t n, const char *one, const char *more);
/** reasons_add_missing() - add the reasons in @m */
void reasons_add_missing(struct reasons *r, const struct missing *m);
/**
 * reasons_of_profile() - set @r to the reasons why counts of @store are incomplete
 * @p, @c: what was counted; either may be NULL
 */
void reasons_of_profile(struct reasons *r, struct dep_store *store, const struct dep_profile *p,
			const struct dep_contexts *c);

/**
 * reasons_add_all() - add all reasons of @of
 * @path: of the store that they are about, which is put in front of each; NULL: nothing is
 *
 * If there is no room for all, the last one says so.
 */
void reasons_add_all(struct reasons *r, const char *path, const struct reasons *of);

/** reasons_of_running() - the same for rows of a recording that is still running */
void reasons_of_running(struct reasons *r, const struct dep_profile *p);

/** reasons_text() - print "complete: yes", or "complete: no", the separator and the reasons */
void reasons_text(struct out *o, const struct reasons *r, const char *separator);
/** reasons_json() - write the members "complete" and "missing" */
void reasons_json(struct json *j, const struct reasons *r);

#endif
