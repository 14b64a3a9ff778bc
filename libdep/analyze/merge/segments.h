/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovered segments in memory, for those who need more than one pass over them or more
 * than one of them at a time.
 */
#ifndef ADEPT_ANALYZE_MERGE_SEGMENTS_H
#define ADEPT_ANALYZE_MERGE_SEGMENTS_H

#include "dep/analyze.h"
#include "libdep/abi/session_file.h"

struct dep_columns;

struct dep_filter;

/** struct dep_sync_index - an item with a timestamp; the first one is the segment's beginning */
struct dep_sync_index {
	uint64_t timestamp;
	size_t item;
};

/** struct dep_segment_items - a segment's items; those of system calls stand there twice */
struct dep_segment_items {
	struct dep_item *item;
	size_t nitems, room;
	size_t nwords;		/* of joined items */
	struct dep_sync_index *mark;
	size_t nmarks, marks_room;
	struct dep_payload *payloads;
	struct dep_counts counts;
	uint64_t lost_bytes;	/* of its end, which did not parse */
	bool prefix;		/* there is more of segment @seq, which is not stored yet.. */
	uint64_t seq;
	struct adept_call call;	/* ..before: 0, or its last item is the beginning of this call */
	int err;		/* what is there is good even so */
	char why[256];
};

struct dep_load_buffers;

/** dep_load_buffers_new() - room to load many segments in, one after the other; NULL: no memory */
struct dep_load_buffers *dep_load_buffers_new(void);
void dep_load_buffers_free(struct dep_load_buffers *p);

/**
 * dep_load() - recover @seg
 * @want: DEP_WANT_*; events and timestamps come always
 * @filter: of the thread, through which its segments go one after the other; NULL: all of its
 *	references are loaded
 * @more: the next segment is what goes through @filter next, and nothing is missing between them:
 *	what is put off may be told by that one
 * @space: for one thread and one store; NULL: it takes some of its own
 *
 * Always returns something, or NULL if there is no memory.  Any number of threads at once.
 */
struct dep_segment_items *dep_load(struct dep_store *s, const struct dep_segment *seg,
				   unsigned int want, struct dep_filter *filter, bool more,
				   struct dep_load_buffers *space);
/** dep_load_columns() - the same with columns that are in no store */
struct dep_segment_items *dep_load_columns(struct dep_store *s, const struct dep_segment *seg,
					   struct dep_columns *c, unsigned int want,
					   struct dep_filter *filter);
void dep_loaded_free(struct dep_segment_items *l);

/** dep_segment_timestamp() - when @seg began; 0 if that cannot be read */
uint64_t dep_segment_timestamp(struct dep_store *s, const struct dep_segment *seg);

/* ---- ahead of time, by threads ---- */

struct dep_loader;

/** dep_loader_start() - with @jobs threads; 0: everything is loaded when it is taken */
struct dep_loader *dep_loader_start(struct dep_store *s, unsigned int want, unsigned int jobs);
void dep_loader_stop(struct dep_loader *l);
/**
 * dep_loader_ask() - begin to load @seg, as dep_load() does
 *
 * Return: what dep_loader_take() is to be given; NULL: no memory.
 */
void *dep_loader_ask(struct dep_loader *l, const struct dep_segment *seg, struct dep_filter *filter,
		     bool more);
/** dep_loader_forget() - no more will be asked for of what goes through @filter */
void dep_loader_forget(struct dep_loader *l, struct dep_filter *filter);
/** dep_loader_take() - wait for what @asked comes to and free it; NULL: no memory */
struct dep_segment_items *dep_loader_take(struct dep_loader *l, void *asked);
/** dep_loader_growing() - what is asked for may go elsewhere, and what is after it is not known */
void dep_loader_growing(struct dep_loader *l, bool growing);
/** dep_loader_hold() - nobody looks at the store until dep_loader_go_on() */
void dep_loader_hold(struct dep_loader *l);
void dep_loader_go_on(struct dep_loader *l);

#endif
