// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a store in one blob, opened, listed, recovered and searched for races.
 *
 *	[length : 32] manifest.json [length : 32] fragments [rest] segments.000
 *
 * With FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION defined libdep compares no checksums.
 * "fuzz_store -pack DIR" writes DIR's store as such a blob to standard output, for
 * the corpus.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../include/dep/races.h"
#include "../../include/dep/verdict.h"
#include "../unit/scratch.h"

static const char *const names[] = { "manifest.json", "fragments", "segments.000" };

#define MAX_ITEMS 20000

static char dir[128];
static int dirfd_of_store = -1;
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

static void put(const char *name, const uint8_t *p, size_t size)
{
	int fd = openat(dirfd_of_store, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, p, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void cleanup(void)
{
	scratch_remove(dir);
}

static void begin(void)
{
	char text[] = "/dev/shm/adept-fuzz-XXXXXX";

	if (!mkdtemp(text))
		abort();
	strcpy(dir, text);
	dirfd_of_store = open(dir, O_RDONLY | O_DIRECTORY);
	atexit(cleanup);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dep_sink sink = {
		.want = DEP_WANT_BLOCKS | DEP_WANT_REFS | DEP_WANT_EVENTS | DEP_WANT_FUNCTIONS,
		.batch = take,
	};
	const struct dep_segment *seg;
	const struct dep_module *mod;
	const struct dep_races_options options = { .jobs = 1 };
	struct dep_counts counts;
	struct dep_races races;
	struct dep_formats f;
	struct dep_store *s;
	uint32_t len;
	size_t i, n;

	if (dirfd_of_store < 0)
		begin();
	for (i = 0; i < 2; i++) {
		if (size < 4)
			return 0;
		memcpy(&len, data, 4);
		data += 4;
		size -= 4;
		if (len > size)
			len = size;
		put(names[i], data, len);
		data += len;
		size -= len;
	}
	put(names[2], data, size);
	if (dep_store_open(&s, dir))
		return 0;
	if (dep_store_verdict(s)->ndefects > DEP_DEFECTS_MAX)
		abort();
	dep_store_modules(s, &mod);
	n = dep_store_segments(s, &seg);
	items = 0;
	for (i = 0; i < n; i++) {
		memset(&counts, 0, sizeof(counts));
		if (!dep_recover_segment(s, &seg[i], &sink, &counts) &&
		    counts.values != counts.values_used)
			abort();
	}
	dep_formats(s, &f);
	items = 0;
	if (n > 1)
		dep_recover(s, seg, n, 2, &sink, NULL, NULL, NULL);
	if (!dep_races_find(s, &options, &races))
		dep_races_free(&races);
	dep_store_close(s);
	return 0;
}

static void pack(const char *from)
{
	static uint8_t buf[1 << 24];
	char path[512];
	uint32_t size;
	size_t i;
	FILE *f;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", from, names[i]);
		f = fopen(path, "rb");
		size = f ? fread(buf, 1, sizeof(buf), f) : 0;
		if (f)
			fclose(f);
		if (i < 2)
			fwrite(&size, 4, 1, stdout);
		fwrite(buf, 1, size, stdout);
	}
	fflush(stdout);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "-pack")) {
		pack((*argv)[2]);
		_exit(0);
	}
	return 0;
}
