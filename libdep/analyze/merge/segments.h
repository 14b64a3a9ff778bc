/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segments recovered into memory, and threads that load them ahead of the merge. */
#ifndef ADEPT_ANALYZE_MERGE_SEGMENTS_H
#define ADEPT_ANALYZE_MERGE_SEGMENTS_H

#include "dep/analyze.h"
#include "libdep/abi/session_file.h"

struct dep_columns;

struct dep_filter;

/** struct dep_sync_index - an item with a timestamp; entry 0 is the begin of the segment */
struct dep_sync_index {
	uint64_t timestamp;
	size_t item;
};

/** struct dep_segment_items - items of a segment; a system call has two (see DEP_EV_ENTER) */
struct dep_segment_items {
	struct dep_item *item;
	size_t nitems, room;
	size_t nwords;		/* number of words in all items of kind DEP_ITEM_PAGE */
	struct dep_sync_index *mark;
	size_t nmarks, marks_room;
	struct dep_payload *payloads;
	struct dep_counts counts;
	uint64_t lost_bytes;	/* bytes at the end of the segment that did not parse */
	/* only the first items of segment @seq, which is not stored yet */
	bool prefix;
	uint64_t seq;
	/* the system call that begins with the last item of a prefix; call.before is 0: none */
	struct adept_call call;
	/* 0, or the negative errno that ended recovery; the items before are valid */
	int err;
	char why[256];
};

struct dep_load_buffers;

/** dep_load_buffers_new() - make buffers to load one segment after the other; NULL: no memory */
struct dep_load_buffers *dep_load_buffers_new(void);
void dep_load_buffers_free(struct dep_load_buffers *p);

/**
 * dep_load() - recover the items of @seg
 * @want: DEP_WANT_*; events and timestamps are always loaded
 * @filter: the filter of the thread, whose segments must go through it in order; NULL: load all
 *	references
 * @more: the next segment of the thread follows without a gap and goes through @filter next, so
 *	deferred accesses may be emitted with that segment
 * @space: buffers, used by one thread and for one store; NULL: allocate buffers for this call
 *
 * Any number of threads may call this at once, each with its own filter.
 *
 * Return: the items, with @err set if recovery failed; NULL if there is no memory.
 */
struct dep_segment_items *dep_load(struct dep_store *s, const struct dep_segment *seg,
				   unsigned int want, struct dep_filter *filter, bool more,
				   struct dep_load_buffers *space);
/** dep_load_columns() - like dep_load(), for a segment whose columns @c are not in the store */
struct dep_segment_items *dep_load_columns(struct dep_store *s, const struct dep_segment *seg,
					   struct dep_columns *c, unsigned int want,
					   struct dep_filter *filter);
void dep_loaded_free(struct dep_segment_items *l);

/** dep_segment_timestamp() - timestamp at which @seg begins; 0 if it cannot be read */
uint64_t dep_segment_timestamp(struct dep_store *s, const struct dep_segment *seg);

/* ---- loader threads, which load segments ahead ---- */

struct dep_loader;

/** dep_loader_start() - start @jobs loader threads; without any, dep_loader_take() itself loads */
struct dep_loader *dep_loader_start(struct dep_store *s, unsigned int want, unsigned int jobs);
void dep_loader_stop(struct dep_loader *l);
/**
 * dep_loader_ask() - request that @seg be loaded as by dep_load()
 *
 * Return: the request, for dep_loader_take(); NULL: no memory.
 */
void *dep_loader_ask(struct dep_loader *l, const struct dep_segment *seg, struct dep_filter *filter,
		     bool more);
/** dep_loader_forget() - free all requests for @filter, after waiting for one being loaded */
void dep_loader_forget(struct dep_loader *l, struct dep_filter *filter);
/** dep_loader_take() - return the items of the request @asked, and free it; NULL: no memory */
struct dep_segment_items *dep_loader_take(struct dep_loader *l, void *asked);
/** dep_loader_growing() - while @growing, load nothing ahead: the store's segment table may move */
void dep_loader_growing(struct dep_loader *l, bool growing);
/** dep_loader_hold() - keep the loader threads out of the store until dep_loader_go_on() */
void dep_loader_hold(struct dep_loader *l);
void dep_loader_go_on(struct dep_loader *l);

#endif
