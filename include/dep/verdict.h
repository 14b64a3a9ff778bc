/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is a store complete?
 *
 * A store is complete only if its recording was closed, every recorded thread was seen to end or
 * the recording was ended on purpose, and everything that its last frame names is there.  This is
 * decided here and nowhere else.
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
	DEP_VERDICT_NO_PROOF,	/* format 3: nothing is known to be missing, but it could be */
	DEP_VERDICT_STATES
};

enum dep_defect_kind {
	DEP_DEFECT_UNCLOSED,	/* the recording did not end in order */
	DEP_DEFECT_LOG,		/* the log is damaged or has a gap */
	DEP_DEFECT_FILE,	/* a file of segments is missing or has another size */
	DEP_DEFECT_SEGMENTS,	/* segments of a thread are missing */
	DEP_DEFECT_ORDER,	/* segments are doubled, exchanged, or not of this store */
	DEP_DEFECT_THREAD,	/* the end of a thread was not seen, or not recorded */
	DEP_DEFECT_LOSS,	/* what the recorder counted as lost */
	DEP_DEFECT_KINDS
};

/** struct dep_defect - one thing that is wrong with a store */
struct dep_defect {
	enum dep_defect_kind kind;
	uint32_t thread;	/* serial, 0: of no thread in particular */
	uint64_t first, count;	/* of DEP_DEFECT_SEGMENTS: by struct dep_segment.index */
	uint64_t since_ns;	/* CLOCK_MONOTONIC: all before is there; 0 if that is not known */
	char text[256];		/* a sentence without full stop */
};

#define DEP_DEFECTS_MAX 1000u

/** struct dep_verdict - see dep_store_verdict() */
struct dep_verdict {
	enum dep_verdict_state state;
	bool proof;		/* false: the store's format cannot prove that nothing is absent */
	enum dep_close_cause cause;
	uint32_t live;		/* processes that went on when the recording ended */
	int error;		/* errno of DEP_CLOSE_FAILED */
	uint64_t sure_ns;	/* not closed: all up to here was on the disk; 0 if unknown */
	const struct dep_defect *defect;
	size_t ndefects;	/* DEP_DEFECTS_MAX at most.. */
	uint64_t more;		/* ..and so many others */
};

/**
 * dep_store_verdict() - is everything there?
 *
 * Looks at the log, the manifest, and the headers of all segments; whether the contents of
 * segments match their checksums is found out by reading them (dep_segment_check()).  What was
 * dropped or left out on request, and programs that run natively by design, is no defect.
 *
 * Return: the verdict, owned by @s.
 */
const struct dep_verdict *dep_store_verdict(struct dep_store *s);

/** dep_verdict_name() - "complete", "incomplete", "recording" or "no proof" */
const char *dep_verdict_name(enum dep_verdict_state state);

/** dep_defect_name() - a word for a kind, as in JSON */
const char *dep_defect_name(enum dep_defect_kind kind);

/**
 * dep_segment_check() - read segment @seg and compare all of its checksums
 *
 * From format 4 on also that of its contents before compression.  For any number of threads.
 * Return: 0, -EBADMSG, or another negative errno.
 */
int dep_segment_check(struct dep_store *s, const struct dep_segment *seg);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
