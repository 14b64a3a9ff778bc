/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depd's event loop: one io_uring that waits for everything.
 *
 * One thread calls all of this, but for loop_wake().  Nothing that is called from the
 * loop may wait.  Functions return 0 or a negative errno.
 */
#ifndef DEPD_BASE_LOOP_H
#define DEPD_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct io_uring_sqe;

/**
 * struct loop_watch - a descriptor that is waited for
 *
 * Embedded in its owner's structure, which may be freed after loop_remove().
 */
struct loop_watch {
	/**
	 * @ready: @revents as of poll(2); may unprotect itself or others, and free them
	 *
	 * As with poll(2) it is called again as long as there is something, and POLLERR,
	 * POLLHUP and POLLNVAL come unasked.
	 */
	void (*ready)(struct loop_watch *w, short revents);
	int fd;
	uint64_t id;		/* of the loop; 0: not watched */
};

/** struct loop_timer - a moment that is waited for, once or again and again */
struct loop_timer {
	/** @due: may set and cancel timers, and free this one once it is cancelled */
	void (*due)(struct loop_timer *t);
	uint64_t at_ns, every_ns;	/* of the loop; CLOCK_MONOTONIC */
	struct loop_timer *next;
	bool armed;
};

/** struct loop_op - any other operation of io_uring; must stay until it is done */
struct loop_op {
	/** @done: @res and @flags of a completion, the last one unless IORING_CQE_F_MORE */
	void (*done)(struct loop_op *op, int res, uint32_t flags);
	uint64_t id;		/* of the loop; 0: not under way */
};

/** loop_create() - -EPERM, -ENOSYS..: loop_error() says what it means */
int loop_create(struct loop **l);
/** loop_error() - what an error of loop_create() means, and what to do */
const char *loop_error(int err);
/** loop_free() - watches and operations are forgotten, without a call */
void loop_free(struct loop *l);
/** loop_watch_add() - call @w->ready whenever one of @events (POLLIN..) is there */
int loop_watch_add(struct loop *l, struct loop_watch *w, int fd, short events);
/** loop_watch_change() - wait for other events; -ENOENT: it is not watched */
int loop_watch_change(struct loop *l, struct loop_watch *w, short events);
/**
 * loop_remove() - harmless if it is not watched; to be called before the fd is closed
 *
 * The kernel holds the file until the loop waits next: a peer sees the end only then.
 */
void loop_remove(struct loop *l, struct loop_watch *w);
/** loop_timer_set() - due in @in_ns, and every @every_ns then if that is not 0 */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t in_ns, uint64_t every_ns);
void loop_timer_cancel(struct loop *l, struct loop_timer *t);
/**
 * loop_submit() - start an operation, which @prep (io_uring_prep_..) fills in
 *
 * It is passed to the kernel when the loop waits next, in the order of the calls.
 */
int loop_submit(struct loop *l, void (*prep)(struct io_uring_sqe *sqe, void *op),
		struct loop_op *op);
/** loop_cancel() - have it done soon, with -ECANCELED unless it was quicker */
void loop_cancel(struct loop *l, struct loop_op *op);
/** loop_on_wake() - what loop_wake() calls, in the loop's thread */
void loop_on_wake(struct loop *l, void (*woken)(void *arg), void *arg);
/** loop_wake() - from any thread, or a signal handler; several may become one */
void loop_wake(struct loop *l);
/** loop_now() - CLOCK_MONOTONIC in nanoseconds */
uint64_t loop_now(void);
/** loop_run() - until loop_end() is called */
int loop_run(struct loop *l);
void loop_end(struct loop *l);

#endif
