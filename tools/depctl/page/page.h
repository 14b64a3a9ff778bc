/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as one HTML file, which a browser opens without a server or network. */
#ifndef DEPCTL_PAGE_PAGE_H
#define DEPCTL_PAGE_PAGE_H

#include <dep/path_profile.h>

#include "tools/depctl/functions/functions.h"

/* Bounds of the paths of a page. */
#define PAGE_PATHS	2000u	/* besides those round its loops */
#define PAGE_LOOPS	200u
#define PAGE_BLOCKS	60000u	/* of all its paths */

/**
 * struct page_path - a path of dep_path_profile, in all processes that executed it
 * @insns: instructions of each execution
 * @block: its blocks, in @process and @image; @nblocks is 0 if the page has no room for them
 * @blocks: how many it has
 * @function: index in functions_all(), or NO_FUNCTION
 * @offset: of the first block in the function
 * @round: it goes back to its first block
 */
struct page_path {
	uint64_t count, insns;
	int64_t offset;
	const struct dep_path_code *block;
	size_t nblocks;
	uint32_t process, image, function, blocks;
	bool round;
};

/**
 * struct page_loop - a loop
 * @path: index in page_paths.path of the most executed path round it; NO_FUNCTION: none
 * @offset: of its first block in the function; @line: of that block, or 0
 */
struct page_loop {
	uint64_t entered, iterations, insns;
	int64_t offset;
	uint32_t function, path, line;
};

/**
 * struct page_paths - the paths and loops of a page, those with most instructions first
 * @left_out, @left_insns: paths that @path does not have, and what they executed
 * @partial, @partial_insns: the same for paths that were not executed to their end
 * @truncated: functions with too many paths, as in struct dep_path_function
 */
struct page_paths {
	const struct page_path *path;
	const struct page_loop *loop;
	size_t n, nloops, loops_left_out;
	uint64_t left_out, left_insns, partial, partial_insns, truncated;
};

/**
 * struct page_input - what a page shows; all pointers must stay valid during page_write()
 * @contexts: made with dep_contexts_options.times, or there is one time interval only
 * @missing: one sentence for each thing that the recording lacks; @nmissing 0: it is complete
 * @paths: NULL: the page has none
 * @source: read the source files of the hottest functions and put their lines into the page
 */
struct page_input {
	struct dep_store *store;
	struct dep_symbols *symbols;
	const struct dep_fragments *code;
	const struct dep_profile *profile;
	const struct dep_contexts *contexts;
	const struct functions *functions;
	const struct page_paths *paths;
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
