/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open a store and make the profiles that a command needs. */
#ifndef DEPCTL_EXPORT_LOAD_H
#define DEPCTL_EXPORT_LOAD_H

#include "tools/depctl/functions/functions.h"

#define LOAD_PROFILE	1u	/* counts of instructions and branches */
#define LOAD_CONTEXTS	2u
#define LOAD_TIMES	4u	/* with LOAD_CONTEXTS: rows by time */

/** struct loaded - an open store and its profiles; those that were not asked for are NULL */
struct loaded {
	struct dep_store *store;
	struct dep_symbols *symbols;
	struct dep_fragments *code;
	struct dep_profile *profile;
	struct dep_contexts *contexts;
	struct functions *functions;
	const struct function *function;	/* functions_all() */
	size_t nfunctions;
};

/**
 * load_open() - open the store @path
 *
 * Return: 0, or 1 after a message.
 */
int load_open(struct loaded *l, const char *path);

/**
 * load_profiles() - count what the threads of @l->store executed
 * @needs: LOAD_*
 * @process, @thread: only this process or thread, by serial, in @l->profile; 0: all
 *
 * Return: 0, or 1 after a message.
 */
int load_profiles(struct loaded *l, const char *path, unsigned int needs, unsigned int jobs,
		  uint32_t process, uint32_t thread);

/**
 * load_complete() - print what the counts lack
 *
 * Return: false if something was lost; children that were not recorded on request are no loss.
 */
bool load_complete(const struct loaded *l, const char *path);

/** load_messages() - warn of files that could not be used for names */
void load_messages(const struct loaded *l);

void load_close(struct loaded *l);

#endif
