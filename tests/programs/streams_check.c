// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find the streams of a store whose files are emptied between the two passes.
 *
 *	streams_check STORE SEGMENTS
 *
 * The store has a segment that cannot be read.  When the first pass reports it, the file SEGMENTS
 * is emptied.  Prints the error, or the number of references without an instruction.
 */
#include <stdio.h>
#include <unistd.h>

#include "dep/streams.h"

static void failed(void *arg, const struct dep_segment *seg, const char *why)
{
	(void)seg;
	(void)why;
	if (truncate(arg, 0))
		perror(arg);
}

int main(int argc, char **argv)
{
	struct dep_streams_options o = { .fold = { .jobs = 1, .failed = failed } };
	struct dep_streams *s;
	struct dep_store *store;
	size_t i, k, without = 0;

	if (argc != 3 || dep_store_open(&store, argv[1]))
		return 2;
	o.fold.arg = argv[2];
	if (dep_streams_make(store, &o, &s)) {
		puts(dep_error());
	} else {
		for (i = 0; i < s->n; i++)
			for (k = 0; k < s->stream[i].length; k++)
				without += !s->stream[i].ref[k].pc;
		printf("%zu references without an instruction\n", without);
		dep_streams_free(s);
	}
	dep_store_close(store);
	return 0;
}
