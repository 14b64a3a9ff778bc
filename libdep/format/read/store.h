/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The open store, as all parts of libdep use it. */
#ifndef ADEPT_FORMAT_READ_STORE_H
#define ADEPT_FORMAT_READ_STORE_H

#include "dep/verdict.h"
#include "manifest.h"
#include "model.h"
#include "segment_file.h"

/* Made by libdep/profile and libdep/contexts: see their kept.h. */
#define DEP_COUNTS_NAME		"profile.counts"
#define DEP_CONTEXTS_NAME	"profile.contexts"

struct dep_store {
	int dirfd;
	struct dep_format fmt;
	void *log;		/* contents of the log file; the model points into it */
	size_t log_size;
	struct dep_model model;
	struct dep_manifest manifest;
	struct dep_loss loss;
	struct dep_seg_list segs;
	int *fds;		/* descriptors of the files segments.NNN; -1: file is missing */
	u32 nfds;
	int log_fd;		/* descriptor of the log, kept open to test the writer's lock */
	struct dep_table defects;	/* rows of struct dep_defect for @verdict */
	struct dep_verdict verdict;
	bool judged;		/* @verdict has been made, by the first dep_store_verdict() */
	struct dep_store_tail *growth;	/* state of reading a store that grows (tail.c) or NULL */
	void (*prog_free)(void *prog);	/* frees dep_fragment.prog */
	void *jit;		/* struct dep_jit for the recovery programs, or NULL */
	void (*jit_free)(void *jit);
	u64 modules_version;	/* incremented when the table of modules is built again */
};

static inline struct dep_fragment *dep_store_fragment(struct dep_store *s, u32 n)
{
	return (struct dep_fragment *)s->model.fragments.row + n;
}

/** dep_store_columns() - read and unpack a segment; may be called by any number of threads */
int dep_store_columns(struct dep_store *s, const struct dep_segment *seg,
		      struct dep_columns *c);

/** dep_store_control() - read header and control column of a segment; by any number of threads */
int dep_store_control(struct dep_store *s, const struct dep_segment *seg, struct dep_columns *c);

/** dep_store_input() - bytes of log and segments outside of holes; stops counting beyond @most */
u64 dep_store_input(const struct dep_store *s, u64 most);

/** dep_store_first() - number of the first chunk of @thread that --last did not drop; else 0 */
u64 dep_store_first(const struct dep_store *s, u32 thread);

/** dep_store_header() - read the header of a segment again; 0 or -EBADMSG */
int dep_store_header(struct dep_store *s, const struct dep_segment *seg,
		     struct dep_seg_header *h);

/** dep_store_new() - an empty store with its directory open; NULL and errno on failure */
struct dep_store *dep_store_new(const char *dir);
/**
 * dep_store_add_file() - open the next segments.NNN
 * @absent: if the file does not exist, add -1 as its descriptor
 *
 * Return: 1 if a descriptor was added, 0 if not, or a negative errno.
 */
int dep_store_add_file(struct dep_store *s, bool absent);
/** dep_store_complete() - sort the segments and sum up losses, when all segments are known */
void dep_store_complete(struct dep_store *s);
/** dep_verdict_free() - free the verdict; the next dep_store_verdict() makes a new one */
void dep_verdict_free(struct dep_store *s);

/**
 * dep_store_grow() - read what was appended to a store of dep_store_open_growing()
 *
 * Rows of all tables can move in memory.  Segments stay in the order in which they were appended.
 * No other thread may use the store meanwhile.
 */
int dep_store_grow(struct dep_store *s);
/** dep_store_finish_tail() - after the writer's end: read the rest, as if @s were opened anew */
int dep_store_finish_tail(struct dep_store *s);
void dep_store_tail_free(struct dep_store *s);

/**
 * dep_catalog_write() - write the tables of @s to catalog.db in its directory
 * @keep_others: keep other tables of an existing catalog
 */
int dep_catalog_write(struct dep_store *s, bool keep_others);
/** dep_store_finish() - write final manifest, catalog and index of a store with an END frame */
int dep_store_finish(const char *dir, bool keep_others);

#endif
