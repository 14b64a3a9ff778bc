/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples in time: the instructions that a context executed in a segment.
 *
 * When a thread executed an instruction is known up to the segment only.  So the instructions of a
 * segment count as spread evenly over its time, in the order of contexts.  The last segment of a
 * thread ends when the thread did, each other one when the next one begins.
 */
#ifndef DEPCTL_EXPORT_SAMPLES_H
#define DEPCTL_EXPORT_SAMPLES_H

#include "export.h"

/** struct samples - the samples that are exported */
struct samples {
	const struct export *x;
	const struct dep_contexts *contexts;
	uint32_t *row;		/* indices in contexts->time, sorted by thread, time and context */
	size_t n;
};

/** struct segment_samples - samples of a thread with one start; all zero: before the first ones */
struct segment_samples {
	const struct dep_thread *thread;	/* NULL: the store does not have it */
	const struct dep_process *process;	/* NULL: likewise */
	uint32_t serial;	/* of the thread */
	bool new_thread;	/* the first ones of it */
	size_t first, n;	/* in samples.row */
	uint64_t insns;		/* of all */
	unsigned __int128 start_ps, length_ps;
};

/** struct moment - a time of CLOCK_MONOTONIC, in nanoseconds and the picoseconds in addition */
struct moment {
	uint64_t ns;
	uint32_t ps;		/* 0 to 999 */
};

/** samples_begin() - return 0, or 1 after a message */
int samples_begin(struct samples *s, const struct export *x);
void samples_end(struct samples *s);

/** samples_next() - go to the next segment, thread by thread; return false after the last one */
bool samples_next(const struct samples *s, struct segment_samples *b);

/** samples_row() - sample @i, from b->first on */
static inline const struct dep_context_time *samples_row(const struct samples *s, size_t i)
{
	return &s->contexts->time[s->row[i]];
}

/**
 * samples_time() - when the segment's first @done instructions had been executed
 *
 * Equal for no two values of @done from 0 to b->insns, and not smaller than in the thread's
 * segments before.
 */
struct moment samples_time(const struct segment_samples *b, uint64_t done);

/** samples_tid() - thread id of @b, 0: not known */
static inline uint32_t samples_tid(const struct segment_samples *b)
{
	return b->thread ? b->thread->tid : 0;
}

/** samples_pid() - process id of @b, 0: not known */
static inline uint32_t samples_pid(const struct segment_samples *b)
{
	return b->process ? b->process->pid : 0;
}

/** samples_name() - name of the thread, or of its program */
const char *samples_name(const struct samples *s, const struct segment_samples *b);

#endif
