// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The loop's part of a trim of the window (trim.h): list the threads, and copy the unfinished
 * chunks of those that are in a system call.
 *
 * The list is made after the time before which removed fragments are looked at. A thread that it
 * lacks began after that time, so it cannot enter them.
 *
 * A thread in a system call is in no fragment, and its chunk has all its records. So what was
 * removed before is named by its chunks only, or not at all. Of a thread that runs, the chunks that
 * it has published say what it may still name.
 */
#include <stdlib.h>

#include "internal.h"
#include "window.h"

#define COPIES_MAX	(4u << 20)	/* bytes of copies in the queue at a time */

void dep_trim_look(struct dep_collector *c)
{
	struct trimming *t = &c->trimming;

	if (!c->window || c->window_ended || t->step != TRIM_NONE ||
	    !dep_window_wants_trim(c->window))
		return;
	t->step = TRIM_WANTED;
	t->begin_ns = now_ns();
}

static void job_done(struct dep_job *job)
{
	struct dep_collector *c = job->owner;

	__atomic_fetch_sub(&c->trimming.pending, 1, __ATOMIC_ACQ_REL);
}

static void put(struct dep_collector *c, struct dep_job *job)
{
	job->done = job_done;
	job->owner = c;
	__atomic_fetch_add(&c->trimming.pending, 1, __ATOMIC_ACQ_REL);
	dep_queue_put(c->queue, job);
}

/* List all threads. Return: false if one of them is not known to the window yet. */
static bool list_threads(struct dep_collector *c)
{
	struct trimming *t = &c->trimming;
	u32 i, slot;

	free(t->slot);
	free(t->serial);
	t->slot = calloc(c->nused + 1, sizeof(*t->slot));
	t->serial = calloc(c->nused + 1, sizeof(*t->serial));
	t->n = t->at = 0;
	if (!t->slot || !t->serial)
		return false;
	for (i = 0; i < c->nused; i++) {
		slot = c->used[i];
		if (c->threads[slot].open) {
			t->slot[t->n] = slot;
			t->serial[t->n++] = c->threads[slot].serial;
		} else if (c->threads[slot].state == ADEPT_SLOT_LIVE &&
			   !c->threads[slot].complained) {
			return false;
		}
	}
	return true;
}

/* Look at a thread. Return: bytes of the copy that was queued. */
static size_t look_at(struct dep_collector *c, u32 slot, u32 serial)
{
	struct adept_thread *sh = dep_session_thread(c->s, slot);
	struct thread_slot *t = &c->threads[slot];
	u64 ns = now_ns(), before = load(&sh->call.before);
	struct dep_job *job = NULL;
	size_t size;

	/* Only the chunk after the last one that was taken can be copied. */
	if (!t->open || t->serial != serial || t->broken || !before ||
	    load(&sh->head) != t->taken ||
	    dep_threads_copy(c, slot, DEP_JOB_TRIM_THREAD, &job))
		return 0;
	if (!job) {
		job = dep_queue_job(c->queue, DEP_JOB_TRIM_THREAD, 0);
		if (!job)
			return 0;
		job->serial = serial;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (load(&sh->call.before) != before || load(&sh->head) != t->taken) {
		dep_queue_cancel(c->queue, job);
		return 0;
	}
	job->upto = ns;
	size = job->size;
	put(c, job);
	return size;
}

static void begin(struct dep_collector *c)
{
	struct dep_job *job = dep_queue_job(c->queue, DEP_JOB_TRIM_BEGIN, 0);

	/* Try again in another pass, with a new time. */
	c->trimming.step = TRIM_NONE;
	if (!job)
		return;
	if (!list_threads(c)) {
		dep_queue_cancel(c->queue, job);
		return;
	}
	job->upto = c->trimming.begin_ns;
	put(c, job);
	c->trimming.step = TRIM_THREADS;
}

static void look_at_threads(struct dep_collector *c)
{
	struct trimming *t = &c->trimming;
	struct dep_job *job;
	size_t bytes = 0;

	for (; t->at < t->n && bytes < COPIES_MAX; t->at++)
		bytes += look_at(c, t->slot[t->at], t->serial[t->at]);
	if (t->at < t->n)
		return;
	job = dep_queue_job(c->queue, DEP_JOB_TRIM_END, 0);
	if (!job)
		return;
	put(c, job);
	t->step = TRIM_ENDING;
}

void dep_trim_step(struct dep_collector *c)
{
	struct trimming *t = &c->trimming;

	if (t->step == TRIM_NONE || __atomic_load_n(&t->pending, __ATOMIC_ACQUIRE))
		return;
	if (t->step == TRIM_WANTED)
		begin(c);
	else if (t->step == TRIM_THREADS)
		look_at_threads(c);
	else
		t->step = TRIM_NONE;
}
