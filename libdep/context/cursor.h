/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Walks a context outwards, one function at a time.
 *
 * This is Algorithm 1 of the paper.  An id above maxID says that the encoded path begins at the
 * target of the top entry of the ccStack.  A path has each function once, so it begins where that
 * function comes with id 0.  The entry has its own caller and site: its edge may be newer than the
 * dictionary, where the paper's getEdge() finds nothing.
 *
 *	id <= maxID, no entries:	root ---encoded edges---> function
 *	id > maxID:	top entry's caller --(entry)--> target ---encoded edges---> function
 */
#ifndef ADEPT_CONTEXT_CURSOR_H
#define ADEPT_CONTEXT_CURSOR_H

#include "chain.h"

/**
 * struct dep_cc_entry - an entry of the ccStack: a call by an unencoded edge
 * @id: before the call
 * @site: of the call; of a handler, the interrupted instruction
 * @rsp: slot of the called activation, see state.h; 0: a handler
 * @target: the called function, where the id began anew
 * @count: how many equal entries this one stands for, in records
 * @runs: entries up to here, if equal neighbours were counted; in states
 * @saved: height of the saved ids; in states, of handlers
 */
struct dep_cc_entry {
	u64 id, site, rsp;
	u32 caller, target;
	u32 count, runs;
	u32 saved;
	u8 kind;
};

/**
 * struct dep_cc_cursor - a place in a context
 * @id: without the flag, which is @flagged
 * @n: entries that remain
 * @left: uses that are left of the top entry's count; 0: not used yet
 * @steps: encoded edges since the last entry: a forged dictionary may have a cycle
 */
struct dep_cc_cursor {
	const struct dep_cc_dictionary *dictionary;
	const struct dep_cc_entry *entry;
	size_t n;
	u64 id;
	u32 function, left, steps;
	bool flagged;
};

/** dep_cc_cursor_at() - begin in @function with @id */
void dep_cc_cursor_at(struct dep_cc_cursor *c, const struct dep_cc_dictionary *d, u32 function,
		      u64 id, const struct dep_cc_entry *entry, size_t n);

/** dep_cc_cursor_head() - does the encoded path begin at this function? */
static inline bool dep_cc_cursor_head(const struct dep_cc_cursor *c)
{
	return c->flagged && !c->id && c->n && c->entry[c->n - 1].target == c->function;
}

/** dep_cc_cursor_id() - the id with its flag */
static inline u64 dep_cc_cursor_id(const struct dep_cc_cursor *c)
{
	return c->id + (c->flagged ? c->dictionary->max_id + 1 : 0);
}

/**
 * dep_cc_cursor_up() - go to the caller
 * @f: set to the function that the cursor leaves, and how it was called
 *
 * Return: 1; 0 at the root; -EBADMSG if the context does not fit the dictionary.
 */
int dep_cc_cursor_up(struct dep_cc_cursor *c, struct dep_cc_frame *f);

/**
 * dep_cc_cursor_chain() - walk to the root, without the loops of tail chains
 * @to: the frames are added here; none of its own is changed
 *
 * Return: 0, -EBADMSG, -E2BIG for more than @to->max frames, or -ENOMEM.
 */
int dep_cc_cursor_chain(struct dep_cc_cursor *c, struct dep_cc_chain *to);

#endif
