/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file profile.contexts: the calling contexts of a whole recording, so that the next command
 * needs no pass over its segments (libdep/format/read/kept_file.h).
 *
 * Its tables are struct dep_context, struct dep_context_share and struct dep_context_time.  Rows of
 * time are there if they were asked for and are few: they can be larger than the recording.  A
 * reader that does not need them leaves them out.
 */
#ifndef ADEPT_CONTEXTS_KEPT_H
#define ADEPT_CONTEXTS_KEPT_H

#include "dep/contexts.h"
#include "libdep/format/read/kept_file.h"

/* Increase it when rows or their meaning change, or when other contexts are found. */
#define DEP_CONTEXTS_VERSION	2u

enum dep_kept_contexts_table {
	DEP_KEPT_CONTEXTS, DEP_KEPT_SHARES, DEP_KEPT_CONTEXT_TIMES, DEP_KEPT_CONTEXTS_TABLES
};

enum dep_kept_contexts_word {
	/* as in struct dep_contexts, and its loss.gaps */
	DEP_KEPT_UNKNOWN_RETURNS, DEP_KEPT_RECOVERED, DEP_KEPT_CONTEXTS_GAPS,
	DEP_KEPT_HAS_TIMES,	/* 1: there are rows of time; 0: there are not */
};

extern const struct dep_kept_kind dep_contexts_file;

/* Any store may keep so many bytes of rows of time, and a quarter of its size.  Tests change it. */
extern u64 dep_kept_times_min;

/**
 * dep_kept_contexts_read() - read the contexts that are kept for @key
 * @times: rows of time are wanted
 * @out: on success, for dep_contexts_free()
 *
 * Return: true, or false if there are none, or none that fit.
 */
bool dep_kept_contexts_read(struct dep_contexts **out, struct dep_store *store,
			    const struct dep_kept_key *key, bool times);

/** dep_kept_contexts_write() - keep @c, see dep_kept_write(); @times: rows of time were made */
void dep_kept_contexts_write(const struct dep_contexts *c, struct dep_store *store,
			     const struct dep_kept_key *key, bool times);

#endif
