// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The event loop.
 *
 * A watch is a single-shot poll request (IORING_OP_POLL_ADD), which is armed again after each call
 * of ready().  This makes watches level-triggered; multishot poll is edge-triggered.  Arming costs
 * no system call: the request is part of the submission with which the loop waits.
 *
 * io_uring always reports POLLRDHUP, even if it is not requested.  If POLLRDHUP is the only event,
 * the watch continues with multishot poll, since single-shot poll would complete at once each time.
 *
 * Each watch or operation has a slot.  Its id consists of the slot's number and generation; the
 * kernel returns the id as user_data of each completion.  If the generation differs from that of
 * the slot, the completion belongs to a removed watch or operation and is ignored.
 */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define ENTRIES		256
#define NO_ID		0	/* id of cancel requests; their completions are ignored */

/** struct slot - table entry of a watch or an operation */
struct slot {
	struct loop_watch *watch;
	struct loop_op *op;
	uint32_t generation;	/* part of the id, changes when the slot is reused; never 0 */
	uint32_t next_free;	/* number of the next free slot, plus 1; 0: none */
	int fd;
	short events;
	bool polled;		/* a poll request is in the kernel */
	bool multishot;		/* the next or present poll request is multishot */
	bool listed;		/* the slot is in loop.to_arm */
};

struct loop {
	struct io_uring ring;
	struct slot *slot;
	uint32_t nslots, first_free;
	uint32_t *to_arm;	/* slots to be polled with the next submission; room for nslots */
	uint32_t nto_arm;
	struct loop_timer *timers;	/* sorted by expiry time */
	struct loop_watch wake;
	void (*woken)(void *arg);
	void *woken_arg;
	bool end;
};

uint64_t loop_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* ---- slots of watches and operations ---- */

static uint64_t id_of(const struct loop *l, uint32_t i)
{
	return (uint64_t)l->slot[i].generation << 32 | (i + 1);
}

/* Find the slot with this id; NULL if the id is no longer valid. */
static struct slot *slot_of(struct loop *l, uint64_t id)
{
	uint32_t i = (uint32_t)id - 1;

	return id != NO_ID && i < l->nslots && id_of(l, i) == id ? &l->slot[i] : NULL;
}

static int more_slots(struct loop *l)
{
	uint32_t n = l->nslots ? 2 * l->nslots : 64, i;
	uint32_t *to_arm = realloc(l->to_arm, n * sizeof(*to_arm));
	struct slot *s;

	if (!to_arm)
		return -ENOMEM;
	l->to_arm = to_arm;
	s = realloc(l->slot, n * sizeof(*s));
	if (!s)
		return -ENOMEM;
	l->slot = s;
	for (i = l->nslots; i < n; i++)
		s[i] = (struct slot){ .generation = 1, .next_free = i + 1 < n ? i + 2 : 0 };
	l->first_free = l->nslots + 1;
	l->nslots = n;
	return 0;
}

static struct slot *slot_get(struct loop *l, uint64_t *id)
{
	struct slot *s;

	if (!l->first_free && more_slots(l))
		return NULL;
	s = &l->slot[l->first_free - 1];
	*id = id_of(l, l->first_free - 1);
	l->first_free = s->next_free;
	return s;
}

/* Give the slot a new id: completions with the old id are ignored. */
static void slot_renew(struct slot *s)
{
	if (!++s->generation)
		s->generation = 1;
	s->polled = false;
	s->multishot = false;
}

static void slot_put(struct loop *l, struct slot *s)
{
	slot_renew(s);
	s->watch = NULL;
	s->op = NULL;
	s->next_free = l->first_free;
	l->first_free = s - l->slot + 1;
}

/* ---- requests to the kernel ---- */

static struct io_uring_sqe *get_sqe(struct loop *l)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&l->ring);

	if (!sqe && io_uring_submit(&l->ring) >= 0)
		sqe = io_uring_get_sqe(&l->ring);
	return sqe;
}

static void cancel(struct loop *l, uint64_t id)
{
	struct io_uring_sqe *sqe = get_sqe(l);

	/* No entry is free: the request is not canceled and completes normally. */
	if (!sqe)
		return;
	io_uring_prep_cancel64(sqe, id, 0);
	io_uring_sqe_set_data64(sqe, NO_ID);
}

/* Arm the slot's poll with the next submission. */
static void list_to_arm(struct loop *l, struct slot *s)
{
	if (s->listed)
		return;
	s->listed = true;
	l->to_arm[l->nto_arm++] = s - l->slot;
}

/* Make the poll requests of to_arm; slots that do not fit in the queue wait for the next pass. */
static void arm_all(struct loop *l)
{
	struct io_uring_sqe *sqe;
	struct slot *s;

	while (l->nto_arm) {
		s = &l->slot[l->to_arm[l->nto_arm - 1]];
		if (s->watch && !s->polled) {
			sqe = get_sqe(l);
			if (!sqe)
				return;
			if (s->multishot)
				io_uring_prep_poll_multishot(sqe, s->fd, s->events);
			else
				io_uring_prep_poll_add(sqe, s->fd, s->events);
			io_uring_sqe_set_data64(sqe, id_of(l, s - l->slot));
			s->polled = true;
		}
		s->listed = false;
		l->nto_arm--;
	}
}

/* ---- watches: polled descriptors ---- */

/* Cancel the slot's poll request, if any, and arm a single-shot poll for the slot's events. */
static void poll_anew(struct loop *l, struct slot *s)
{
	if (s->polled) {
		cancel(l, s->watch->id);
		slot_renew(s);
		s->watch->id = id_of(l, s - l->slot);
	}
	s->multishot = false;
	list_to_arm(l, s);
}

int loop_watch_add(struct loop *l, struct loop_watch *w, int fd, short events)
{
	struct slot *s = slot_get(l, &w->id);

	if (!s) {
		w->id = NO_ID;
		return -ENOMEM;
	}
	w->fd = fd;
	s->watch = w;
	s->fd = fd;
	s->events = events;
	list_to_arm(l, s);
	return 0;
}

int loop_watch_change(struct loop *l, struct loop_watch *w, short events)
{
	struct slot *s = slot_of(l, w->id);

	if (!s)
		return -ENOENT;
	if (s->events == events)
		return 0;
	s->events = events;
	poll_anew(l, s);
	return 0;
}

void loop_remove(struct loop *l, struct loop_watch *w)
{
	struct slot *s = slot_of(l, w->id);

	if (s) {
		if (s->polled)
			cancel(l, w->id);
		slot_put(l, s);
	}
	w->id = NO_ID;
}

/* ---- io_uring operations ---- */

int loop_submit(struct loop *l, void (*prep)(struct io_uring_sqe *sqe, void *op),
		struct loop_op *op)
{
	struct io_uring_sqe *sqe;
	struct slot *s;

	op->id = NO_ID;
	s = slot_get(l, &op->id);
	if (!s)
		return -ENOMEM;
	sqe = get_sqe(l);
	if (!sqe) {
		slot_put(l, s);
		op->id = NO_ID;
		return -EAGAIN;
	}
	s->op = op;
	prep(sqe, op);
	io_uring_sqe_set_data64(sqe, op->id);
	return 0;
}

void loop_cancel(struct loop *l, struct loop_op *op)
{
	if (slot_of(l, op->id))
		cancel(l, op->id);
}

/* ---- timers ---- */

static void timer_insert(struct loop *l, struct loop_timer *t)
{
	struct loop_timer **p;

	for (p = &l->timers; *p && (*p)->at_ns <= t->at_ns; p = &(*p)->next)
		;
	t->next = *p;
	*p = t;
	t->armed = true;
}

void loop_timer_cancel(struct loop *l, struct loop_timer *t)
{
	struct loop_timer **p;

	if (!t->armed)
		return;
	for (p = &l->timers; *p != t; p = &(*p)->next)
		;
	*p = t->next;
	t->armed = false;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t in_ns, uint64_t every_ns)
{
	uint64_t now = loop_now();

	loop_timer_cancel(l, t);
	t->at_ns = in_ns < UINT64_MAX - now ? now + in_ns : UINT64_MAX;
	t->every_ns = every_ns;
	timer_insert(l, t);
}

/* Call expired timers; timers that a callback sets can expire in the next pass at the earliest. */
static void run_timers(struct loop *l)
{
	uint64_t now = loop_now();
	struct loop_timer *t;

	while (!l->end && l->timers && l->timers->at_ns < now) {
		t = l->timers;
		loop_timer_cancel(l, t);
		if (t->every_ns) {
			/* If the loop was late by more than a period, skip the missed calls. */
			t->at_ns += t->every_ns;
			if (t->at_ns < now)
				t->at_ns = now + t->every_ns;
			timer_insert(l, t);
		}
		t->due(t);
	}
}

/* ---- the loop ---- */

/* Convert a completion's result to the revents of poll(2). */
static short revents_of(const struct slot *s, int res)
{
	if (res == -EBADF)
		return POLLNVAL;
	if (res == -ECANCELED)
		return 0;
	if (res < 0)
		return POLLERR;
	return res & (s->events | POLLERR | POLLHUP | POLLNVAL);
}

static void ready(struct loop *l, struct slot *s, int res, uint32_t flags)
{
	struct loop_watch *w = s->watch;
	short revents = revents_of(s, res);

	s->polled = flags & IORING_CQE_F_MORE;
	if (revents) {
		poll_anew(l, s);
		w->ready(w, revents);
	} else if (!s->polled) {
		s->multishot = res > 0;
		list_to_arm(l, s);
	}
}

static void complete(struct loop *l, uint64_t id, int res, uint32_t flags)
{
	struct slot *s = slot_of(l, id);
	struct loop_op *op;

	if (!s)
		return;
	if (s->watch) {
		ready(l, s, res, flags);
	} else if (s->op) {
		op = s->op;
		if (!(flags & IORING_CQE_F_MORE)) {
			slot_put(l, s);
			op->id = NO_ID;
		}
		op->done(op, res, flags);
	}
}

/* Handle only completions that are present now, so that timers are not delayed. */
static void run_completions(struct loop *l)
{
	unsigned int n = io_uring_cq_ready(&l->ring);
	struct io_uring_cqe *cqe;
	uint64_t id;
	uint32_t flags;
	int res;

	while (n-- && !l->end && !io_uring_peek_cqe(&l->ring, &cqe)) {
		id = cqe->user_data;
		res = cqe->res;
		flags = cqe->flags;
		io_uring_cqe_seen(&l->ring, cqe);
		complete(l, id, res, flags);
	}
}

static int wait_for_any(struct loop *l)
{
	struct __kernel_timespec ts;
	struct io_uring_cqe *cqe;
	uint64_t now, left;
	int ret;

	arm_all(l);
	if (!l->timers) {
		ret = io_uring_submit_and_wait(&l->ring, 1);
	} else {
		now = loop_now();
		/* Plus 1 ns: run_timers() calls a timer only after its time, not at it. */
		left = l->timers->at_ns < now ? 0 : l->timers->at_ns - now + 1;
		ts.tv_sec = left / 1000000000;
		ts.tv_nsec = left % 1000000000;
		ret = io_uring_submit_and_wait_timeout(&l->ring, &cqe, 1, &ts, NULL);
	}
	/* Retry after EBUSY or EAGAIN: handling completions frees memory and queue entries. */
	if (ret == -ETIME || ret == -EINTR || ret == -EBUSY || ret == -EAGAIN)
		return 0;
	return ret < 0 ? ret : 0;
}

int loop_run(struct loop *l)
{
	int ret = 0;

	l->end = false;
	while (!l->end && !ret) {
		ret = wait_for_any(l);
		run_completions(l);
		run_timers(l);
	}
	return ret;
}

void loop_end(struct loop *l)
{
	l->end = true;
}

/* ---- wakeups by other threads ---- */

static void woken(struct loop_watch *w, short revents)
{
	struct loop *l = (struct loop *)((char *)w - offsetof(struct loop, wake));
	uint64_t n;

	(void)revents;
	if (read(w->fd, &n, sizeof(n)) == sizeof(n) && l->woken)
		l->woken(l->woken_arg);
}

void loop_on_wake(struct loop *l, void (*call)(void *arg), void *arg)
{
	l->woken = call;
	l->woken_arg = arg;
}

void loop_wake(struct loop *l)
{
	uint64_t one = 1;
	int err = errno;

	/* The eventfd is nonblocking.  If its counter is full, a wake is pending in any case. */
	if (write(l->wake.fd, &one, sizeof(one)) < 0)
		errno = err;
}

/* ---- creation ---- */

int loop_create(struct loop **out)
{
	struct loop *l = calloc(1, sizeof(*l));
	int fd, ret;

	if (!l)
		return -ENOMEM;
	ret = io_uring_queue_init(ENTRIES, &l->ring, 0);
	if (ret)
		goto free_loop;
	ret = -ENOSYS;
	if (!(l->ring.features & IORING_FEAT_EXT_ARG) || !(l->ring.features & IORING_FEAT_NODROP))
		goto exit_ring;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = -errno;
	if (fd < 0)
		goto exit_ring;
	l->wake.ready = woken;
	ret = loop_watch_add(l, &l->wake, fd, POLLIN);
	if (ret)
		goto close_fd;
	*out = l;
	return 0;
close_fd:
	close(fd);
exit_ring:
	io_uring_queue_exit(&l->ring);
free_loop:
	free(l->to_arm);
	free(l->slot);
	free(l);
	return ret;
}

const char *loop_error(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return "io_uring is not permitted: check the sysctl kernel.io_uring_disabled and, "
		       "in a container, its seccomp filter";
	case -ENOSYS:
		return "this kernel has no io_uring, or is older than Linux 5.11";
	case -ENOMEM:
		return "not enough memory for io_uring: check the limit on locked memory "
		       "(ulimit -l)";
	case -EMFILE:
	case -ENFILE:
		return "too many open files to create an io_uring";
	default:
		return strerror(-err);
	}
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	io_uring_queue_exit(&l->ring);
	close(l->wake.fd);
	free(l->to_arm);
	free(l->slot);
	free(l);
}
