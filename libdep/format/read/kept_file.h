/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of a store that keep the result of a pass over all its segments, so that the next command
 * needs no pass: profile.counts and profile.contexts.
 *
 *	0	struct dep_wire_kept
 *	152	the tables, one behind the other: as many rows as the header says
 *
 * Like the catalog they are made from the other files, and can be removed.  Only a recording that
 * has ended, without damaged segments, has them.  A file is used if it was made for this ending of
 * the recording, for segment files of these sizes and times of change, for the same meaning of the
 * code, and by the same version of this library; if nobody could write it but the reader, the owner
 * of the store and root; and if its checksums match.  A checksum is no proof: the owner of the
 * store can forge it.  So callers check each row before they use it.
 */
#ifndef ADEPT_FORMAT_READ_KEPT_FILE_H
#define ADEPT_FORMAT_READ_KEPT_FILE_H

#include "dep/fold.h"
#include "store.h"

#define DEP_KEPT_TABLES	6u	/* a file has at most that many */
#define DEP_KEPT_WORDS	4u

struct dep_wire_kept {
	char magic[8];
	u32 version;		/* of the kind of file */
	u32 tables;		/* number of tables */
	u64 end_check;		/* checksum of the END frame */
	u64 files;		/* XXH3-64 of the sizes and times of change of log and segments */
	u64 code;		/* XXH3-64 of the library's version, what each exit means, and files
				 * of fragments */
	u64 word[DEP_KEPT_WORDS];	/* by the kind of file */
	u32 n[DEP_KEPT_TABLES];	/* numbers of rows */
	u64 rows[DEP_KEPT_TABLES];	/* XXH3-64 of each table */
	u64 check;		/* of the fields above; all are seeded with the store's id */
};

/* Version of the library that makes the files.  Tests change it. */
extern const char *dep_kept_library;

/**
 * struct dep_kept_kind - a kind of file
 * @version: increased when rows or their meaning change while the library's version stays the same
 * @row_bytes: of each table
 */
struct dep_kept_kind {
	const char *name;
	char magic[9];
	u32 version;
	u32 tables;
	u32 row_bytes[DEP_KEPT_TABLES];
};

/** struct dep_kept_key - what a file must have been made for */
struct dep_kept_key {
	u64 end_check, files, code;
};

/** struct dep_kept_file - an open file, whose header fits */
struct dep_kept_file {
	const struct dep_store *store;
	const struct dep_kept_kind *kind;
	int fd;
	struct dep_wire_kept h;
};

/** struct dep_kept_tables - what is written: the tables, and words for the header */
struct dep_kept_tables {
	const void *row[DEP_KEPT_TABLES];
	size_t n[DEP_KEPT_TABLES];
	u64 word[DEP_KEPT_WORDS];
};

/** dep_kept_key() - false: results for this store and these options are not kept */
bool dep_kept_key(struct dep_kept_key *key, const struct dep_store *store,
		  const struct dep_fragments *code, const struct dep_fold_options *options);

/** dep_kept_open() - open the file of @kind; false if there is none that was made for @key */
bool dep_kept_open(struct dep_kept_file *f, const struct dep_kept_kind *kind,
		   const struct dep_store *store, const struct dep_kept_key *key);
/** dep_kept_rows() - read a table, which the caller frees; NULL if it is damaged */
void *dep_kept_rows(const struct dep_kept_file *f, u32 table);
void dep_kept_close(struct dep_kept_file *f);

/**
 * dep_kept_write() - write the file of @kind if @store belongs to the caller and is still that of
 * @key
 *
 * Without space or on a file system that cannot be written, nothing is kept.
 */
void dep_kept_write(const struct dep_kept_kind *kind, const struct dep_store *store,
		    const struct dep_kept_key *key, const struct dep_kept_tables *t);

#endif
