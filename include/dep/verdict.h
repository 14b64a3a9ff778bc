/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Verdict: whether a store is complete, and if not, its defects.
 *
 * A store is complete if three conditions hold: the store was closed; the end of each recorded
 * thread was recorded, or the recording was ended on purpose; and all files and segments listed in
 * the last frame (record) of the store's log are present.  Only dep_store_verdict() decides this.
 */
#ifndef DEP_VERDICT_H
#define DEP_VERDICT_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum dep_verdict_state {
	DEP_VERDICT_COMPLETE,
	DEP_VERDICT_INCOMPLETE,
	DEP_VERDICT_RECORDING,	/* a collector is writing the store */
	DEP_VERDICT_NO_PROOF,	/* format 3: no loss is known, but the format cannot exclude it */
	DEP_VERDICT_STATES
};

enum dep_defect_kind {
	DEP_DEFECT_UNCLOSED,	/* the store was not closed */
	DEP_DEFECT_LOG,		/* the log is damaged or has a gap */
	DEP_DEFECT_FILE,	/* a segment file is missing or has the wrong size */
	DEP_DEFECT_SEGMENTS,	/* segments of a thread are missing */
	DEP_DEFECT_ORDER,	/* segments are duplicated, swapped, or from another store */
	DEP_DEFECT_THREAD,	/* a thread's stream has no end, or its end could not be recorded */
	DEP_DEFECT_LOSS,	/* the recorder counted a loss */
	DEP_DEFECT_KINDS
};

/** struct dep_defect - one defect of a store */
struct dep_defect {
	enum dep_defect_kind kind;
	uint32_t thread;	/* serial of the affected thread; 0: several or none */
	uint64_t first, count;	/* DEP_DEFECT_SEGMENTS: range of struct dep_segment.index */
	uint64_t since_ns;	/* data before this CLOCK_MONOTONIC time is intact; 0: not known */
	char text[256];		/* description: a sentence without a full stop */
};

#define DEP_DEFECTS_MAX 1000u

/** struct dep_verdict - see dep_store_verdict() */
struct dep_verdict {
	enum dep_verdict_state state;
	bool proof;		/* the store's format can prove that nothing is missing */
	enum dep_close_cause cause;
	uint32_t live;		/* number of processes still running at the end of the recording */
	int error;		/* with DEP_CLOSE_FAILED: errno of the failed write */
	/* Unclosed store: data up to this CLOCK_MONOTONIC time is on the disk; 0: not known. */
	uint64_t sure_ns;
	const struct dep_defect *defect;
	size_t ndefects;	/* at most DEP_DEFECTS_MAX */
	uint64_t more;		/* number of further defects, which are not in @defect */
};

/**
 * dep_store_verdict() - decide whether a store is complete
 *
 * Checks the log, the manifest and the headers of all segments.  It does not read the contents of
 * segments; dep_segment_check() compares these with their checksums.  Data that was dropped or
 * left out on request is not a defect, nor are programs that run natively by design.
 *
 * Return: the verdict, owned by @s.
 */
const struct dep_verdict *dep_store_verdict(struct dep_store *s);

/** dep_verdict_name() - "complete", "incomplete", "recording" or "no proof" */
const char *dep_verdict_name(enum dep_verdict_state state);

/** dep_defect_name() - name of @kind in JSON output */
const char *dep_defect_name(enum dep_defect_kind kind);

/**
 * dep_segment_check() - read segment @seg and verify all its checksums
 *
 * From format 4 on, segments also have a checksum of the uncompressed contents.  Several threads
 * may call this function at the same time.
 *
 * Return: 0, -EBADMSG, or another negative errno.
 */
int dep_segment_check(struct dep_store *s, const struct dep_segment *seg);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
