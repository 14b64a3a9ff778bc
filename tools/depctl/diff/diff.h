/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl diff: functions and contexts of two stores, side by side. */
#ifndef DEPCTL_DIFF_H
#define DEPCTL_DIFF_H

#include "tools/depctl/common/numbering.h"
#include "tools/depctl/common/output.h"
#include "tools/depctl/export/load.h"

#define SIDES	2u	/* before, after */

/** struct diff_counts - what one side executed in a row */
struct diff_counts {
	bool present;
	uint64_t insns, refs, calls;
};

/* What is known of the code of a function in both files. */
enum diff_code { DIFF_CODE_UNKNOWN, DIFF_CODE_SAME, DIFF_CODE_CHANGED };

/** struct diff_row - a function of both sides, or of one */
struct diff_row {
	const struct function *function[SIDES];	/* the first one that counts for it; or NULL */
	uint32_t index[SIDES];			/* its index */
	bool many;				/* several functions of a side count for it */
	enum diff_code code;
	struct diff_counts side[SIDES];
};

/** struct diff_context - a chain of calls, the same in both sides */
struct diff_context {
	uint32_t parent;	/* index; context 0 is that of no function */
	uint32_t row;		/* of its function, or NO_FUNCTION */
	struct diff_counts side[SIDES];
};

struct diff {
	const char *path[SIDES];
	struct loaded l[SIDES];
	struct numbering keys, context_keys;
	struct diff_row *row;
	/* By index of function: its row, and one of its instructions. */
	uint32_t *row_of[SIDES];
	const struct dep_insn_count **insn[SIDES];
	struct diff_context *context;	/* NULL without --contexts */
	uint32_t nrows, ncontexts;
};

/** diff_sum() - add counts of a store; 0, or 1 after a message if they do not fit */
int diff_sum(uint64_t *to, uint64_t more, unsigned int side);

/** diff_functions() - match the functions of both stores; return 0, or 1 after a message */
int diff_functions(struct diff *d);
/** diff_contexts() - match the contexts, after diff_functions() */
int diff_contexts(struct diff *d);
void diff_free(struct diff *d);

/**
 * code_hash() - hash of the code of a function, which does not depend on where it is
 * @insn: an executed instruction of it; NULL: none
 * @hash: 128 bits
 *
 * Return: false if the code cannot be read.
 */
bool code_hash(const struct loaded *l, const struct function *f,
	       const struct dep_insn_count *insn, uint64_t hash[2]);

/** struct diff_options - owned by the command */
struct diff_options {
	bool json, csv, contexts;
	unsigned int overlap;		/* bits 1 << enum overlap_kind; 0: print changes */
	uint64_t top;			/* rows of text; 0: all */
	uint64_t threshold;		/* instructions; smaller changes are left out */
	double threshold_share;		/* the same, as a share of those of the first store */
};

/** diff_print() - print what differs; return the exit status */
int diff_print(struct diff *d, const struct diff_options *o);

/** diff_json_side() - write what a store has in total as member @key */
void diff_json_side(struct json *j, const struct diff *d, const char *key, unsigned int side);

#endif
