/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as one HTML file, which a browser opens without a server or network. */
#ifndef DEPCTL_PAGE_PAGE_H
#define DEPCTL_PAGE_PAGE_H

#include "tools/depctl/functions/functions.h"

/**
 * struct page_input - what a page shows; all pointers must stay valid during page_write()
 * @contexts: made with dep_contexts_options.times, or there is one time interval only
 * @missing: one sentence for each thing that the recording lacks; @nmissing 0: it is complete
 * @source: read the source files of the hottest functions and put their lines into the page
 */
struct page_input {
	struct dep_store *store;
	struct dep_symbols *symbols;
	const struct dep_fragments *code;
	const struct dep_profile *profile;
	const struct dep_contexts *contexts;
	const struct functions *functions;
	const char *const *missing;
	size_t nmissing;
	bool source;
};

/**
 * page_write() - write the page to @path
 *
 * The file appears under its name when it is complete; an older file is replaced.  Uses a struct
 * out: the caller must not have unwritten output in one.
 *
 * Return: 0, or 1 after a message.
 */
int page_write(const struct page_input *in, const char *path);

#endif
