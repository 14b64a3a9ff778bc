/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl diff --overlap: how much of two stores' profiles is the same. */
#ifndef DEPCTL_DIFF_OVERLAP_H
#define DEPCTL_DIFF_OVERLAP_H

#include <dep/streams.h>

#include "diff.h"

enum overlap_kind {
	OVERLAP_FUNCTIONS, OVERLAP_PAIRS, OVERLAP_EDGES, OVERLAP_CONTEXTS, OVERLAP_STREAMS,
	OVERLAP_KINDS,
};

#define OVERLAP_ALL	((1u << OVERLAP_KINDS) - 1)

extern const char *const overlap_names[OVERLAP_KINDS];

/** struct overlap_member - a member of a profile; what it counts for in each store */
struct overlap_member {
	uint64_t weight[SIDES];
};

/** struct overlap_members - the members of a profile of both stores, by number */
struct overlap_members {
	struct numbering keys;
	struct overlap_member *member;
	size_t n, room;
};

/* ---- overlap_sums.c ---- */

/** overlap_add() - add a member that counts for so much in the stores; 0, or 1 after a message */
int overlap_add(struct overlap_members *m, uint64_t first, uint64_t second);
/** overlap_count() - add @weight to the member with that key; 0, or 1 after a message */
int overlap_count(struct overlap_members *m, unsigned int side, const void *key, size_t size,
		  uint64_t weight);
void overlap_members_free(struct overlap_members *m);

/**
 * struct overlap - how much of two profiles is the same, from 0 to 1
 * @members: of each profile, those that count for nothing left out
 * @hot: number of hot members: the largest ones that make 90 % of their profile together, and
 *	those as large as the smallest of these
 * @empty: neither profile has a member, so nothing can be said
 * @all: sum over all members of the smaller one of both shares
 * @of_hot: the same for the hot members of each profile, with shares of their sum
 * @accuracy: sum over the first profile's hot members of the smaller one of both shares, divided
 *	by what these members have of the first profile
 */
struct overlap {
	uint64_t members[SIDES], hot[SIDES];
	bool empty;
	double all, of_hot, accuracy;
};

/** overlap_compute() - 0, or 1 after a message */
int overlap_compute(const struct overlap_members *m, struct overlap *out);

/* ---- overlap.c ---- */

/**
 * overlap_counts() - the members of a profile other than streams
 *
 * After diff_functions() and, for contexts, diff_contexts().  Return: 0, or 1 after a message;
 * overlap_members_free() is needed in both cases.
 */
int overlap_counts(const struct diff *d, enum overlap_kind kind, struct overlap_members *m);

/** struct overlap_site - an address of code, equal in both stores */
struct overlap_site {
	uint64_t offset;	/* in the function */
	uint32_t row;		/* struct diff_row, or NO_FUNCTION */
	uint32_t pad;
};

/** overlap_site() - the address @pc of @process and @image */
struct overlap_site overlap_site(const struct diff *d, unsigned int side, uint32_t process,
				 uint32_t image, uint64_t pc);

/* ---- overlap_streams.c ---- */

/** overlap_streams() - the same for hot streams, which are searched with @jobs threads */
int overlap_streams(struct diff *d, unsigned int jobs, struct overlap_members *m);

/* ---- overlap_print.c ---- */

/** overlap_print() - compute and print the overlap of the profiles asked for; exit status */
int overlap_print(struct diff *d, const struct diff_options *o, unsigned int jobs);

#endif
