/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depd's event loop: one io_uring for descriptors, timers and other operations.
 *
 * All functions except loop_wake() must be called from the thread that runs the loop.  Callbacks
 * must not wait: they would delay all other events.  Functions of type int return 0 or a negative
 * errno.
 */
#ifndef DEPD_BASE_LOOP_H
#define DEPD_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct io_uring_sqe;

/**
 * struct loop_watch - a polled descriptor
 *
 * Embedded in its owner's structure, which can be freed after loop_remove().
 */
struct loop_watch {
	/**
	 * @ready: called with @revents as returned by poll(2)
	 *
	 * Level-triggered: called again as long as an event is present.  POLLERR, POLLHUP and
	 * POLLNVAL are always reported.  The callback may remove and free any watch, also @w.
	 */
	void (*ready)(struct loop_watch *w, short revents);
	int fd;
	uint64_t id;		/* set by the loop; 0: not polled */
};

/** struct loop_timer - a timer, one-shot or periodic */
struct loop_timer {
	/** @due: called when @t expires; may set or cancel timers, and free @t if canceled */
	void (*due)(struct loop_timer *t);
	uint64_t at_ns, every_ns;	/* expiry (CLOCK_MONOTONIC) and period; set by the loop */
	struct loop_timer *next;
	bool armed;
};

/** struct loop_op - an io_uring operation; must stay valid until its last completion */
struct loop_op {
	/** @done: called for each completion; the last one has no IORING_CQE_F_MORE in @flags */
	void (*done)(struct loop_op *op, int res, uint32_t flags);
	uint64_t id;		/* set by the loop; 0: not in progress */
};

/** loop_create() - create a loop; loop_error() describes its errors */
int loop_create(struct loop **l);
/** loop_error() - explain an error of loop_create() and how to fix it */
const char *loop_error(int err);
/** loop_free() - free the loop; no callback is called for its watches and operations */
void loop_free(struct loop *l);
/** loop_watch_add() - call @w->ready whenever one of @events (POLLIN..) is present on @fd */
int loop_watch_add(struct loop *l, struct loop_watch *w, int fd, short events);
/** loop_watch_change() - change the polled events.  Return: 0; -ENOENT: @w is not polled */
int loop_watch_change(struct loop *l, struct loop_watch *w, short events);
/**
 * loop_remove() - stop polling; does nothing if @w is not polled
 *
 * Call it before closing the descriptor.  The kernel still has a reference to the file until the
 * loop waits again, so the peer does not see the close before that.
 */
void loop_remove(struct loop *l, struct loop_watch *w);
/** loop_timer_set() - call @t->due after @in_ns nanoseconds, then every @every_ns; 0: once */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t in_ns, uint64_t every_ns);
void loop_timer_cancel(struct loop *l, struct loop_timer *t);
/**
 * loop_submit() - start an io_uring operation
 * @prep: callback that fills in the submission queue entry with an io_uring_prep_..() function
 *
 * Operations reach the kernel when the loop waits next, in the order of the calls.
 */
int loop_submit(struct loop *l, void (*prep)(struct io_uring_sqe *sqe, void *op),
		struct loop_op *op);
/** loop_cancel() - cancel @op; op->done() gets -ECANCELED, or the result if @op finished first */
void loop_cancel(struct loop *l, struct loop_op *op);
/** loop_on_wake() - set the callback that runs in the loop's thread after loop_wake() */
void loop_on_wake(struct loop *l, void (*woken)(void *arg), void *arg);
/**
 * loop_wake() - wake the loop, from any thread or a signal handler
 *
 * Several calls can result in one call of the callback.
 */
void loop_wake(struct loop *l);
/** loop_now() - CLOCK_MONOTONIC in nanoseconds */
uint64_t loop_now(void);
/** loop_run() - wait and call callbacks until loop_end() is called or waiting fails */
int loop_run(struct loop *l);
void loop_end(struct loop *l);

#endif
