/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file profile.contexts: the calling contexts of a whole recording, so that the next command
 * needs no pass over its segments (libdep/format/read/kept_file.h).
 *
 * Its tables are struct dep_context, struct dep_context_share and struct dep_context_time.  Rows of
 * time are there if they were asked for; only who asks for them reads them.
 */
#ifndef ADEPT_CONTEXTS_KEPT_H
#define ADEPT_CONTEXTS_KEPT_H

#include "dep/contexts.h"
#include "libdep/format/read/kept_file.h"

/* Increase it when rows or their meaning change, or when other contexts are found. */
#define DEP_CONTEXTS_VERSION	1u

enum dep_kept_contexts_table {
	DEP_KEPT_CONTEXTS, DEP_KEPT_SHARES, DEP_KEPT_CONTEXT_TIMES, DEP_KEPT_CONTEXTS_TABLES
};

enum dep_kept_contexts_word {
	/* as in struct dep_contexts, and its loss.gaps */
	DEP_KEPT_UNKNOWN_RETURNS, DEP_KEPT_RECOVERED, DEP_KEPT_CONTEXTS_GAPS,
	DEP_KEPT_HAS_TIMES,	/* 1: rows of time were made; 0: they were not */
};

extern const struct dep_kept_kind dep_contexts_file;

/**
 * dep_kept_contexts_read() - read the contexts that are kept for @key
 * @times: rows of time are wanted
 * @out: on success, for dep_contexts_free()
 *
 * Return: true, or false if there are none, or none that fit.
 */
bool dep_kept_contexts_read(struct dep_contexts **out, struct dep_store *store,
			    const struct dep_kept_key *key, bool times);

/** dep_kept_contexts_write() - keep @c, see dep_kept_write(); @times: it has rows of time */
void dep_kept_contexts_write(const struct dep_contexts *c, struct dep_store *store,
			     const struct dep_kept_key *key, bool times);

#endif
