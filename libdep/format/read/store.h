/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An open store, for the parts of libdep. */
#ifndef ADEPT_FORMAT_READ_STORE_H
#define ADEPT_FORMAT_READ_STORE_H

#include "dep/verdict.h"
#include "manifest.h"
#include "model.h"
#include "segment_file.h"

struct dep_store {
	int dirfd;
	struct dep_format fmt;
	void *log;		/* what the model points into */
	size_t log_size;
	struct dep_model model;
	struct dep_manifest manifest;
	struct dep_loss loss;
	struct dep_seg_list segs;
	int *fds;		/* of segments.NNN, -1 = missing */
	u32 nfds;
	int log_fd;		/* to ask for the writer's lock */
	struct dep_table defects;	/* of verdict.. */
	struct dep_verdict verdict;
	bool judged;		/* ..which is made when it is asked for */
	struct dep_store_tail *growth;	/* it is being followed; tail.c */
	void (*prog_free)(void *prog);	/* of dep_fragment.prog, if there is any */
	void *jit;		/* struct dep_jit of its recovery programs, or NULL */
	void (*jit_free)(void *jit);
	u64 modules_version;	/* +1 whenever the modules, and rows of them, are others */
};

static inline struct dep_fragment *dep_store_fragment(struct dep_store *s, u32 n)
{
	return (struct dep_fragment *)s->model.fragments.row + n;
}

/** dep_store_columns() - read one segment; any number of threads at once */
int dep_store_columns(struct dep_store *s, const struct dep_segment *seg,
		      struct dep_columns *c);

/** dep_store_input() - bytes of log and segments that are not in holes, up to about @most */
u64 dep_store_input(const struct dep_store *s, u64 most);

/** dep_store_header() - read the header of a segment again; 0 or -EBADMSG */
int dep_store_header(struct dep_store *s, const struct dep_segment *seg,
		     struct dep_seg_header *h);

/** dep_store_new() - an empty one with its directory open, or NULL and errno */
struct dep_store *dep_store_new(const char *dir);
/**
 * dep_store_add_file() - open the next segments.NNN
 * @absent: if there is none, have a descriptor of -1 in its place
 *
 * Return: 1, 0 if there is none, or a negative errno.
 */
int dep_store_add_file(struct dep_store *s, bool absent);
/** dep_store_complete() - all segments are known: put them in order, sum up the losses */
void dep_store_complete(struct dep_store *s);
/** dep_verdict_free() - the next dep_store_verdict() makes another */
void dep_verdict_free(struct dep_store *s);

/**
 * dep_store_grow() - read what has been added to a store of dep_store_open_growing()
 *
 * Rows of all tables may move, but none of segments goes elsewhere in the order in which
 * they are appended.  Nobody else may be using the store.
 */
int dep_store_grow(struct dep_store *s);
/** dep_store_finish_tail() - its writer is gone: from here on it is as if it had been opened now */
int dep_store_finish_tail(struct dep_store *s);
void dep_store_tail_free(struct dep_store *s);

/**
 * dep_catalog_write() - write the tables of @s into catalog.db of its directory
 * @keep_others: other tables in a catalog that is there stay
 */
int dep_catalog_write(struct dep_store *s, bool keep_others);
/** dep_store_finish() - make final manifest and catalog of a store that has an END */
int dep_store_finish(const char *dir, bool keep_others);

#endif
