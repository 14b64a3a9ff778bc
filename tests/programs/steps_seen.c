// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * steps_seen STORE ROWS STEPS ROW ADDRESS...: which steps of steps.c a store has.
 *
 * ADDRESS is that of marks[] in the image whose first thread has number ROW.  For each row
 * below ROWS one line, "ROW: N prefix", "ROW: N hole" or "ROW: N double": the store has N of
 * its STEPS steps; they are the first N; or some are missing before others; or one is there
 * more than once.  The last line counts the images: "images N".
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <dep/recover.h>

#define ROWS		64
#define STEPS		256
#define IMAGES_MAX	8

struct image {
	unsigned int row;
	uint64_t marks;
};

struct seen {
	struct image image[IMAGES_MAX];
	unsigned int nimages;
	bool hole[ROWS], twice[ROWS];
	unsigned int count[ROWS];
	bool step[ROWS][STEPS];
};

/* Both images are of one file: which of them has a row of marks[] follows from the row. */
static void take_write(struct seen *s, uint64_t addr)
{
	unsigned int i, row, n;
	uint64_t at;

	for (i = 0; i < s->nimages; i++) {
		at = addr - s->image[i].marks;
		if (at >= ROWS * STEPS)
			continue;
		row = (unsigned int)(at / STEPS);
		n = (unsigned int)(at % STEPS);
		/* The first image has all rows but those of the others. */
		if (i ? row != s->image[i].row : s->nimages > 1 && row == s->image[1].row)
			continue;
		s->twice[row] |= s->step[row][n];
		s->hole[row] |= n != s->count[row];
		s->count[row] += !s->step[row][n];
		s->step[row][n] = true;
		return;
	}
}

static int batch(void *arg, const struct dep_segment *seg, const struct dep_item *items, size_t n)
{
	size_t i;

	(void)seg;
	for (i = 0; i < n; i++)
		if (items[i].kind == DEP_ITEM_REF && items[i].ref.size == 1 &&
		    items[i].ref.type == DEP_WRITE)
			take_write(arg, items[i].ref.addr);
	return 0;
}

static void failed(void *arg, const struct dep_segment *seg, const char *why)
{
	(void)arg;
	printf("thread %u, segment %" PRIu64 " does not decode: %s\n", seg->thread, seg->seq, why);
}

int main(int argc, char **argv)
{
	static struct seen s;
	const struct dep_sink sink = { .want = DEP_WANT_REFS, .batch = batch, .arg = &s };
	const struct dep_segment *seg;
	const struct dep_process *p;
	struct dep_counts counts = { 0 };
	const struct dep_recover_options options = {
		.jobs = 1, .counts = &counts, .failed = failed,
	};
	unsigned int rows, steps, row;
	struct dep_store *store;
	int i, ret;
	size_t n;

	if (argc < 6 || argc > 4 + 2 * IMAGES_MAX) {
		fprintf(stderr, "usage: steps_seen STORE ROWS STEPS ROW ADDRESS...\n");
		return 2;
	}
	rows = (unsigned int)atoi(argv[2]);
	steps = (unsigned int)atoi(argv[3]);
	for (i = 4; i + 1 < argc; i += 2)
		s.image[s.nimages++] = (struct image){ (unsigned int)atoi(argv[i]),
						       strtoull(argv[i + 1], NULL, 16) };
	ret = dep_store_open(&store, argv[1]);
	if (ret) {
		fprintf(stderr, "steps_seen: %s: %s\n", argv[1], dep_error());
		return 1;
	}
	n = dep_store_segments(store, &seg);
	ret = dep_recover(store, seg, n, &sink, &options);
	for (row = 0; row < rows && row < ROWS; row++)
		printf("%u: %u %s\n", row, s.count[row], s.twice[row] ? "double" :
		       s.hole[row] || s.count[row] > steps ? "hole" : "prefix");
	printf("images %zu\n", dep_store_processes(store, &p));
	dep_store_close(store);
	return ret ? 1 : 0;
}
