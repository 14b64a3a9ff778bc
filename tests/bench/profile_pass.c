// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Make the profile of a store: profile_pass STORE [TIMES [JOBS]].
 *
 * Prints the processor time in ms of each step, the most memory in KiB until the third time, from
 * which on the allocator knows the sizes, and until the last one, and a hash of the rows, which is
 * the same for any number of times and jobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "dep/profile.h"

static double ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Most memory so far, in KiB.  getrusage() would also count that of the program before execve. */
static long peak(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld kB", &kib);
	if (f)
		fclose(f);
	if (!kib) {
		fprintf(stderr, "profile_pass: /proc/self/status has no VmHWM\n");
		exit(1);
	}
	return kib;
}

static unsigned long long hash_of(const struct dep_profile *p)
{
	unsigned long long h;

	h = XXH3_64bits_withSeed(p->insn, p->ninsns * sizeof(*p->insn), 1);
	h = XXH3_64bits_withSeed(p->edge, p->nedges * sizeof(*p->edge), h);
	h = XXH3_64bits_withSeed(p->thread, p->nthreads * sizeof(*p->thread), h);
	return XXH3_64bits_withSeed(p->time, p->ntimes * sizeof(*p->time), h);
}

static void fail(const char *what)
{
	fprintf(stderr, "profile_pass: %s: %s\n", what, dep_error());
	exit(1);
}

int main(int argc, char **argv)
{
	struct dep_fold_options options = { .jobs = 1 };
	struct dep_profile *p;
	struct dep_store *store;
	struct dep_fragments *code;
	double began = ms(), opened, decoded;
	int i, times = argc > 2 ? atoi(argv[2]) : 1;
	long third = 0;

	if (argc < 2)
		return 2;
	if (argc > 3)
		options.jobs = atoi(argv[3]);
	if (dep_store_open(&store, argv[1]))
		fail(argv[1]);
	opened = ms();
	if (dep_code_make(store, &code))
		fail("code");
	decoded = ms();
	for (i = 0; i < times; i++) {
		if (dep_profile_make(store, code, &options, &p))
			fail("profile");
		if (i < 3)
			third = peak();
		if (i + 1 < times)
			dep_profile_free(p);
	}
	printf("open_ms=%.1f decode_ms=%.1f profile_ms=%.1f third_kib=%ld last_kib=%ld insns=%llu "
	       "ninsns=%zu nedges=%zu lost=%llu gaps=%llu hash=%016llx\n", opened - began,
	       decoded - opened, (ms() - decoded) / times, third, peak(),
	       (unsigned long long)p->insns, p->ninsns, p->nedges,
	       (unsigned long long)p->loss.segments, (unsigned long long)p->loss.gaps, hash_of(p));
	dep_profile_free(p);
	dep_code_free(code);
	dep_store_close(store);
	return 0;
}
