// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a store in one blob (blob.h), opened, judged, listed, recovered and searched
 * for races and hot data streams, its catalog made anew.
 *
 * With FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION defined libdep compares no checksums.
 * "fuzz_store -pack DIR" writes DIR's store as such a blob to standard output, for
 * the corpus.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dep/races.h"
#include "dep/streams.h"
#include "dep/verdict.h"
#include "blob.h"

#define MAX_ITEMS 20000

static size_t items;

static int take(void *arg, const struct dep_segment *seg, const struct dep_item *item, size_t n)
{
	volatile uint8_t last;
	size_t i;

	(void)arg;
	(void)seg;
	for (i = 0; i < n; i++)
		if (item[i].kind == DEP_ITEM_EVENT && item[i].event.size)
			last = ((const uint8_t *)item[i].event.payload)[item[i].event.size - 1];
	(void)last;
	items += n;
	return items > MAX_ITEMS;
}

static void recover_each(struct dep_store *s, const struct dep_sink *sink)
{
	const struct dep_segment *seg;
	struct dep_counts counts;
	size_t i, n = dep_store_segments(s, &seg);

	for (i = 0; i < n; i++) {
		memset(&counts, 0, sizeof(counts));
		dep_segment_check(s, &seg[i]);
		if (!dep_recover_segment(s, &seg[i], sink, &counts) &&
		    counts.values != counts.values_used)
			abort();
	}
}

/* Operations with threads or much memory take most of the time: only for some stores. */
static void search(struct dep_store *s, const struct dep_sink *sink)
{
	const struct dep_races_options options = { .jobs = 1 };
	const struct dep_streams_options small = {
		.fold = { .jobs = 1 }, .memory = DEP_STREAMS_MEMORY_MIN, .threshold = 0.001,
		.pc = true,
	};
	const struct dep_segment *seg;
	struct dep_formats f;
	struct dep_streams *streams;
	struct dep_races races;
	size_t n = dep_store_segments(s, &seg);
	int err;

	dep_formats(s, &f);
	dep_formats_write(s, seg, n, &(struct dep_format_sink){ .want = ~0u });
	items = 0;
	if (n > 1)
		dep_recover(s, seg, n, sink, &(struct dep_recover_options){ .jobs = 2 });
	if (!dep_races_find(s, &options, &races))
		dep_races_free(&races);
	err = dep_streams_make(s, &small, &streams);
	/* The second pass reads what the first one read, damaged segments included. */
	if (err == -EBADMSG || err == -ESTALE || (!err && streams->covered > streams->refs))
		abort();
	dep_streams_free(streams);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dep_sink sink = {
		.want = DEP_WANT_BLOCKS | DEP_WANT_REFS | DEP_WANT_EVENTS | DEP_WANT_FUNCTIONS,
		.batch = take,
	};
	const struct dep_open_file *files;
	const struct dep_module *mod;
	size_t n;
	struct dep_store *s;

	blob_put(data, size);
	if (dep_store_open(&s, blob_dir()))
		return 0;
	if (dep_store_verdict(s)->ndefects > DEP_DEFECTS_MAX)
		abort();
	dep_store_modules(s, &mod);
	for (n = dep_store_open_files(s, &files); n--; files++)
		if (strlen(files->path) + strlen(files->peer) > size)
			abort();
	items = 0;
	recover_each(s, &sink);
	if (blob_hash(data, size) % 16 == 0)
		search(s, &sink);
	dep_store_close(s);
	if (blob_hash(data, size) % 8 == 0)
		dep_store_rebuild(blob_dir());
	return 0;
}
