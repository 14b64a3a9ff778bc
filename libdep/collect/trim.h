/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which descriptors of a window (window.h) nothing needs any more.
 *
 * A process says that a fragment was removed at time T (ADEPT_DESC_REMOVED). No thread enters it
 * afterwards, but:
 *
 * - chunks in the window, and the unfinished chunk of a thread, may name it;
 * - a thread that was in it at T writes one more record of it, in the chunk that it had begun by T
 *   or in the next one; this can be much later, if the thread does not run meanwhile;
 * - a child that was forked before T has it, too. ADEPT_DESC_FORKED pins all that the parent has.
 *
 * So a trim takes, for each thread, a time before which removed fragments are named by what was
 * looked at only, or not at all (a cutoff), and marks the fragments that are named. The rest is
 * dropped. A mapping is dropped with what ended it if that was before the cutoff of all threads and
 * before the process's oldest chunk in the window: what chunks say of its addresses stays readable.
 *
 * One thread at a time may use all this; see window_trim.c.
 */
#ifndef ADEPT_COLLECT_TRIM_H
#define ADEPT_COLLECT_TRIM_H

#include "kept_descriptors.h"
#include "libdep/abi/stream.h"

struct dep_forgotten;

/** struct dep_trim_ops - the index of fragments; see dep_writer_frag() and so on */
struct dep_trim_ops {
	bool (*frag)(void *arg, u32 first_exit, u32 *number);
	void (*named)(void *arg, const u8 *body, u32 size, u32 from, u32 n, u8 *bits);
	void (*forget)(void *arg, struct dep_forgotten *f);	/* owns @f */
	void *arg;
};

/** struct dep_fate - what a process has said of its fragments */
struct dep_fate {
	u32 process;		/* serial */
	u32 highest;		/* end of the exit ids of its fragments so far */
	u32 pinned;		/* a child has fragments whose exit ids are below this */
	u32 ndead, room;
	struct dep_dead {
		u32 first_exit;
		u32 number;		/* during a trim */
		u64 ns;			/* time of the removal */
	} *dead;
	bool inherits;		/* it began with the mappings of its parent */
	u64 cutoff;		/* during a trim: of its threads */
	u64 oldest;		/* during a trim: mappings that ended before are useless */
	bool has_thread;	/* during a trim */
};

struct dep_fates {
	struct dep_fate *row;
	size_t n, room;
	u64 bytes;	/* memory of all this */
	u64 loose;	/* estimate: bytes that became useless since the last trim */
};

/** dep_fates_note() - note a checked descriptor; 1: keep it, 0: do not, or -ENOMEM */
int dep_fates_note(struct dep_fates *f, u32 process, const struct adept_desc *h);
/** dep_fates_inherits() - @process was forked; 0 or -ENOMEM */
int dep_fates_inherits(struct dep_fates *f, u32 process);
/** dep_fates_forget() - the descriptors of @process were dropped */
void dep_fates_forget(struct dep_fates *f, u32 process);
void dep_fates_free(struct dep_fates *f);

struct dep_trim {
	struct dep_fates *fates;
	struct dep_trim_ops ops;
	u64 begin_ns;
	u64 last_ns;		/* latest removal that is looked at */
	u32 from, n;		/* range of numbers of removed fragments */
	u8 *bits;		/* those that are named */
};

/**
 * dep_trim_begin() - begin to look for descriptors that were useless before @ns
 *
 * Return: NULL without memory.
 */
struct dep_trim *dep_trim_begin(struct dep_fates *f, u64 ns, const struct dep_trim_ops *ops);
/** dep_trim_mark() - mark what a chunk names; @head, @tail: as in its header */
void dep_trim_mark(struct dep_trim *t, const u8 *body, u32 size, u32 head, u32 tail);
/**
 * dep_trim_thread() - a thread of @process may name what was removed from @cutoff on
 * @oldest: not later than @cutoff; what is in the window of the thread is not older
 */
void dep_trim_thread(struct dep_trim *t, u32 process, u64 cutoff, u64 oldest);
/** dep_trim_end() - drop descriptors, and free @t */
void dep_trim_end(struct dep_trim *t, struct dep_batches *b);
void dep_trim_free(struct dep_trim *t);

/* ---- trim_batches.c ---- */

/**
 * dep_trim_batches() - drop useless descriptors of a process
 * @of: the process
 * @useless: sorted first exits of fragments
 * @dropped: receives the fragments, room for @n
 */
void dep_trim_batches(struct dep_batches *b, const struct dep_fate *of, const u32 *useless,
		      size_t n, struct dep_forgotten *dropped);

#endif
