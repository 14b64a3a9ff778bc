/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovered segments in memory. The merge and the loader use them to keep several segments at once.
 */
#ifndef ADEPT_ANALYZE_MERGE_SEGMENTS_H
#define ADEPT_ANALYZE_MERGE_SEGMENTS_H

#include "dep/analyze.h"
#include "libdep/abi/session_file.h"

struct dep_columns;

struct dep_filter;

/** struct dep_sync_index - an item with a timestamp; the first entry is the begin of the segment */
struct dep_sync_index {
	uint64_t timestamp;
	size_t item;
};

/** struct dep_segment_items - items of a segment; a system call is two items (DEP_EV_ENTER) */
struct dep_segment_items {
	struct dep_item *item;
	size_t nitems, room;
	size_t nwords;		/* in all items of kind DEP_ITEM_PAGE */
	struct dep_sync_index *mark;
	size_t nmarks, marks_room;
	struct dep_payload *payloads;
	struct dep_counts counts;
	uint64_t lost_bytes;	/* bytes at the end of the segment that did not parse */
	bool prefix;		/* only the first part of segment @seq, which is not stored yet */
	uint64_t seq;
	/* of a prefix: the call that the last item begins; before is 0 if there is none */
	struct adept_call call;
	int err;		/* the items before the error are valid */
	char why[256];
};

struct dep_load_buffers;

/** dep_load_buffers_new() - buffers for loading segments one after the other; NULL: no memory */
struct dep_load_buffers *dep_load_buffers_new(void);
void dep_load_buffers_free(struct dep_load_buffers *p);

/**
 * dep_load() - recover @seg
 * @want: DEP_WANT_*; events and timestamps are always loaded
 * @filter: the thread's; its segments must go through it in order. NULL: load all references
 * @more: the next segment of the thread follows without a gap and goes through @filter next, so
 *	deferred accesses may be emitted with that segment
 * @space: used by one thread and for one store; NULL: allocate buffers for this call
 *
 * Any number of threads may call this at once, each with its own filter.
 *
 * Return: the items, with @err set if recovery failed; NULL if there is no memory.
 */
struct dep_segment_items *dep_load(struct dep_store *s, const struct dep_segment *seg,
				   unsigned int want, struct dep_filter *filter, bool more,
				   struct dep_load_buffers *space);
/** dep_load_columns() - dep_load() of columns that are not in the store */
struct dep_segment_items *dep_load_columns(struct dep_store *s, const struct dep_segment *seg,
					   struct dep_columns *c, unsigned int want,
					   struct dep_filter *filter);
void dep_loaded_free(struct dep_segment_items *l);

/** dep_segment_timestamp() - begin of @seg; 0 if it cannot be read */
uint64_t dep_segment_timestamp(struct dep_store *s, const struct dep_segment *seg);

/* ---- loading ahead, by threads ---- */

struct dep_loader;

/** dep_loader_start() - with @jobs threads; 0: dep_loader_take() loads */
struct dep_loader *dep_loader_start(struct dep_store *s, unsigned int want, unsigned int jobs);
void dep_loader_stop(struct dep_loader *l);
/**
 * dep_loader_ask() - begin to load @seg, as dep_load() does
 *
 * Return: a request for dep_loader_take(); NULL: no memory.
 */
void *dep_loader_ask(struct dep_loader *l, const struct dep_segment *seg, struct dep_filter *filter,
		     bool more);
/** dep_loader_forget() - free all requests for @filter; wait for the one being loaded */
void dep_loader_forget(struct dep_loader *l, struct dep_filter *filter);
/** dep_loader_take() - wait for the request @asked and free it; NULL: no memory */
struct dep_segment_items *dep_loader_take(struct dep_loader *l, void *asked);
/** dep_loader_growing() - while set, the store's table of segments may move: load none unasked */
void dep_loader_growing(struct dep_loader *l, bool growing);
/** dep_loader_hold() - keep all threads from using the store until dep_loader_go_on() */
void dep_loader_hold(struct dep_loader *l);
void dep_loader_go_on(struct dep_loader *l);

#endif
