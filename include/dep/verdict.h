/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Verdict: whether a store is complete, and if not, its defects.
 *
 * A store is complete if three conditions hold: the recording was closed; the end of each recorded
 * thread was recorded, or the recording was ended on purpose; and everything that the last frame
 * of the log names is present.  dep_store_verdict() is the only code that decides this.
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
	DEP_VERDICT_RECORDING,	/* a collector is writing it */
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
	uint32_t thread;	/* serial; 0: concerns no single thread */
	uint64_t first, count;	/* DEP_DEFECT_SEGMENTS: range of struct dep_segment.index */
	uint64_t since_ns;	/* CLOCK_MONOTONIC: nothing earlier is affected; 0: not known */
	char text[256];		/* sentence without full stop */
};

#define DEP_DEFECTS_MAX 1000u

/** struct dep_verdict - see dep_store_verdict() */
struct dep_verdict {
	enum dep_verdict_state state;
	bool proof;		/* the store's format can prove that nothing is missing */
	enum dep_close_cause cause;
	uint32_t live;		/* processes that still ran when the recording ended */
	int error;		/* errno of DEP_CLOSE_FAILED */
	uint64_t sure_ns;	/* not closed: data up to this time was on the disk; 0: not known */
	const struct dep_defect *defect;
	size_t ndefects;	/* at most DEP_DEFECTS_MAX */
	uint64_t more;		/* number of further defects, which are not listed */
};

/**
 * dep_store_verdict() - decide whether a store is complete
 *
 * Checks the log, the manifest and the headers of all segments.  It does not read the contents of
 * segments; dep_segment_check() compares these with their checksums.  Data that was dropped or
 * left out on request, and programs that run natively by design, are no defects.
 *
 * Return: the verdict, owned by @s.
 */
const struct dep_verdict *dep_store_verdict(struct dep_store *s);

/** dep_verdict_name() - "complete", "incomplete", "recording" or "no proof" */
const char *dep_verdict_name(enum dep_verdict_state state);

/** dep_defect_name() - the name that JSON output has for @kind */
const char *dep_defect_name(enum dep_defect_kind kind);

/**
 * dep_segment_check() - read segment @seg and verify all its checksums
 *
 * From format 4 on this includes the checksum of the uncompressed contents.  Several threads may
 * call it at once.
 *
 * Return: 0, -EBADMSG, or another negative errno.
 */
int dep_segment_check(struct dep_store *s, const struct dep_segment *seg);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
