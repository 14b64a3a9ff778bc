/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small recording of several threads and files of segments, and the required contents of its
 * store.
 */
#ifndef TESTS_UNIT_FORMAT_DURABLE_H
#define TESTS_UNIT_FORMAT_DURABLE_H

#include "dep/verdict.h"
#include "libdep/format/write/resume.h"
#include "libdep/format/read/store.h"
#include "libdep/format/write/writer.h"
#include "fake_disk.h"
#include "tests/unit/lib/stream.h"

#define DURABLE_THREADS	3
#define DURABLE_CHUNKS	12	/* dealt out to the threads in turn */
#define DURABLE_ROLL	2048	/* gives several files of several segments each */
#define DURABLE_FLUSH	700	/* and some calls of sync_file_range() */

/** struct durable - the recording, and a store of it that was made without faults */
struct durable {
	struct stream stream;
	char reference[128];
	u64 content[DURABLE_CHUNKS];
	u64 raw_bytes[DURABLE_CHUNKS];
	size_t nfragments, nprocesses, nthreads, nmodules, nnotes;
};

/** struct outcome - what the writer's functions returned */
struct outcome {
	int created, closed;
	int error;		/* the first error before closing, negative */
	u64 lost;		/* steps in the log at the first MARK, at the end */
	unsigned int marks;	/* that returned 0 */
	size_t ops_named, ops_closed;	/* steps in the disk's log at the first MARK, at the end */
};

extern const struct dep_meta durable_meta;

void durable_init(struct durable *d);
void durable_free(struct durable *d);

static inline u32 durable_thread(size_t i)
{
	return i % DURABLE_THREADS + 1;
}

/**
 * durable_record() - make store @dir
 * @stops: as the collector does, store no more chunks after the first error and count them as lost
 */
void durable_record(const struct durable *d, const char *dir, bool stops, struct outcome *out);

/** durable_go_on() - pass @w everything that @r says its store does not have, and close it */
int durable_go_on(const struct durable *d, struct dep_writer *w, const struct dep_resume *r);

/** struct held - contents of a store */
struct held {
	enum dep_verdict_state state;
	enum dep_close_cause cause;
	int error;
	bool ended;		/* there is an END */
	unsigned int marks;	/* MARK frames.. */
	u64 marked[DURABLE_THREADS + 1];	/* ..and the segments of each thread they name */
	u64 absent;		/* raw bytes that are missing */
	u64 lost;		/* bytes that the store reports as missing */
	size_t bad;		/* segments whose columns are damaged */
	bool named;		/* a defect names missing segments or chunks, or damage */
	bool whole;		/* everything that was recorded is there */
};

/**
 * durable_check() - open store @dir and look at all of it
 * @before: if not NULL, what was found before the store was resumed: what MARKs named then must
 *	still be there, those after also name what was found damaged
 *
 * Everything that a MARK names must be there, be readable and be what was recorded, and all
 * that is there must be what was recorded; COMPLETE only if nothing is missing.
 * Return: 0, or what dep_store_open() returned, with a message.
 */
int durable_check(const struct durable *d, const char *dir, const struct held *before,
		  struct held *h);

/* test_durable_cut.c, test_durable_names.c; the state is a struct durable */
void power_cuts(void **state);
void power_cuts_after_failed_syncs(void **state);
void access_rights(void **state);
void group_rights(void **state);
void names_at_creation(void **state);
void name_at_removal(void **state);
void names_while_recording(void **state);
void names_at_close(void **state);
void names_at_resume(void **state);
void names_at_reading(void **state);

#endif
