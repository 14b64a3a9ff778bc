// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The collector's loop.
 *
 * Steps of a pass: find ended processes; read how many chunks all threads have published; take all
 * descriptors; take these chunks; end threads and processes. This order ensures that a chunk's
 * descriptors are stored before the chunk, and that nothing of a dead process is missed.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "libdep/format/write/store_dir.h"
#include "chunk_end.h"
#include "internal.h"
#include "snapshot_store.h"
#include "window.h"

#define LEAVE_NS	10000000000ull
#define WAIT_EXEC_NS	1000000l	/* time between passes while an execve is in progress */

static int window_to_disk(struct dep_window *w, const struct dep_writer *writer)
{
	struct dep_store_dir at;
	int err = dep_writer_dir(writer, &at);

	return err ? err : dep_window_to_disk(w, &at);
}

/* Let the queue keep the newest chunks only. The store says so from the beginning. */
static int begin_window(struct dep_collector *c, const struct dep_collect_setup *setup,
			struct dep_queue_setup *queue)
{
	int err = 0;

	if (!setup->last_bytes || !setup->w)
		return 0;
	c->window = queue->window = dep_window_new(setup->last_bytes, setup->last_ns,
						    c->s->layout.chunk_size);
	if (!c->window)
		return -ENOMEM;
	if (setup->last_on_disk)
		err = window_to_disk(c->window, setup->w);
	dep_window_max_memory(c->window, setup->last_memory);
	return err ? err : dep_writer_last(setup->w, &(struct dep_last){
		.max_bytes = setup->last_bytes, .max_ns = setup->last_ns,
	});
}

int dep_collector_create(struct dep_collector **out, struct dep_session *s,
			 const struct dep_collect_setup *setup)
{
	struct dep_collector *c = calloc(1, sizeof(*c));
	struct dep_pool *pool = setup->pool;
	struct dep_queue_setup queue = {
		.w = setup->w, .s = s->map, .chunk_size = s->layout.chunk_size,
		.max_size = setup->max_size,
	};
	int err = -ENOMEM;

	if (!c)
		return -ENOMEM;
	c->s = s;
	c->w = setup->w;
	c->base = setup->base;
	if (setup->ops)
		c->ops = *setup->ops;
	c->procs = calloc(s->layout.nprocs, sizeof(*c->procs));
	c->threads = calloc(s->layout.nthreads, sizeof(*c->threads));
	c->used = calloc(s->layout.nthreads, sizeof(*c->used));
	if (s->module)
		c->cuts = dep_cuts_new();
	if (!pool)
		pool = c->pool = dep_pool_create(0);
	if (!c->procs || !c->threads || !c->used || (s->module && !c->cuts) || !pool)
		goto fail;
	err = begin_window(c, setup, &queue);
	if (err)
		goto fail;
	err = -ENOMEM;
	c->queue = dep_queue_create(pool, &queue);
	if (!c->queue)
		goto fail;
	*out = c;
	return 0;

fail:
	dep_window_free(c->window);
	dep_pool_free(c->pool);
	dep_cuts_free(c->cuts);
	free(c->used);
	free(c->threads);
	free(c->procs);
	free(c);
	return err;
}

bool dep_collector_step(struct dep_collector *c)
{
	bool did = false;

	store(&c->s->map->heartbeat_ns, now_ns());
	dep_slots_count(c);
	dep_domains_tell(c);
	dep_queue_mark(c->queue);
	dep_procs_poll(c);
	dep_trim_look(c);
	dep_threads_snapshot(c);
	if (!dep_procs_drain(c, &did))
		return did;
	if (dep_threads_consume(c))
		did = true;
	dep_trim_step(c);
	if (dep_procs_end_slot(c))
		did = true;
	return did;
}

bool dep_collector_following(const struct dep_collector *c)
{
	return c->nfollowing;
}

bool dep_collector_idle(const struct dep_collector *c)
{
	return !c->nopen && !c->nclaimed && !c->nclosing;
}

/* Sleep until the wakeup counter differs from @seen, a signal comes, or the next pass begins. */
static void wait_for_work(struct dep_collector *c, u32 seen)
{
	struct adept_session *s = c->s->map;
	struct timespec t = { .tv_nsec = c->nfollowing ? WAIT_EXEC_NS : DEP_STEP_NS };

	if (c->s->module)
		dep_module_wake_on(c->s->module, &s->wakeup);
	__atomic_store_n(&s->collector_waits, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->wakeup, __ATOMIC_SEQ_CST) == seen)
		syscall(SYS_futex, &s->wakeup, FUTEX_WAIT, seen, &t, NULL, 0);
	__atomic_store_n(&s->collector_waits, 0, __ATOMIC_SEQ_CST);
}

/* Reap the child. Call waitpid() only after the pidfd reports its end: not for a ptrace stop. */
static void look_after_child(struct dep_collector *c, int pidfd, int *status)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	int st;

	if (c->child_gone || !c->child || (pidfd >= 0 && poll(&pfd, 1, 0) != 1))
		return;
	if (pidfd < 0 && dep_collector_busy(c, c->child))
		return;
	if (waitpid(c->child, &st, WNOHANG) != c->child || !(WIFEXITED(st) || WIFSIGNALED(st)))
		return;
	c->child_gone = true;
	*status = st;
}

int dep_collector_run(struct dep_collector *c, pid_t child, int *status, int (*tick)(void *arg),
		      void *arg)
{
	int pidfd = -1, ret = 0;
	bool over;
	u32 seen;

	*status = -1;
	c->child = child == DEP_CHILD_OF_OTHER ? 0 : child;
	/* Keep child_gone set if dep_collector_child_gone() was called before this function. */
	c->child_gone |= !child;
	if (c->child)
		pidfd = syscall(SYS_pidfd_open, child, 0);

	for (;;) {
		seen = load(&c->s->map->wakeup);
		over = c->child_gone;
		if (tick) {
			ret = tick(arg);
			if (ret)
				break;
		}
		if (dep_collector_step(c))
			continue;
		look_after_child(c, pidfd, status);
		if (over && dep_collector_idle(c))
			break;
		if (over == c->child_gone)
			wait_for_work(c, seen);
	}
	if (pidfd >= 0)
		close(pidfd);
	return ret;
}

bool dep_collector_busy(const struct dep_collector *c, pid_t pid)
{
	u32 i;

	for (i = 0; c->nfollowing && i < c->s->layout.nprocs; i++)
		if (c->procs[i].following &&
		    (c->procs[i].pid == (u32)pid || c->procs[i].exec_tid == (u32)pid))
			return true;
	return false;
}

bool dep_collector_records(const struct dep_collector *c, pid_t pid)
{
	const struct proc_slot *p;
	u32 i;

	for (i = 0; i < c->nslots; i++) {
		p = &c->procs[i];
		if (p->open && !p->dying && !p->gone && p->pid == (u32)pid)
			return true;
	}
	return false;
}

void dep_collector_child_gone(struct dep_collector *c)
{
	c->child_gone = true;
}

bool dep_collector_child_ended(const struct dep_collector *c)
{
	return c->child && c->child_gone;
}

void dep_collector_stop(struct dep_collector *c)
{
	dep_queue_stop(c->queue);
}

const char *dep_collector_error(const struct dep_collector *c)
{
	return dep_queue_error(c->queue);
}

void dep_collector_status(struct dep_collector *c, struct dep_collect_status *st)
{
	*st = (struct dep_collect_status){
		.processes = c->nprocs_seen,
		.threads = c->nthreads_seen,
		.live_processes = c->nopen,
		.broken = c->broken,
		.stored_bytes = dep_queue_stored(c->queue),
		.chunks = c->nchunks,
		.raw_bytes = c->raw_bytes + dep_queue_scanned(c->queue),
		.null_bytes = c->null_bytes,
		.stopped = dep_queue_stopped(c->queue),
		.failed = dep_queue_failed(c->queue),
		.last_bytes = c->window ? dep_window_bytes(c->window) : 0,
		.last_descriptors = c->window ? dep_window_descriptor_bytes(c->window) : 0,
		.last_limit = c->window ? dep_window_limit(c->window) : 0,
	};
	if (c->window_ended) {
		st->last_dropped = c->dropped.bytes;
		st->last_from_ns = c->dropped.from_ns;
	}
	snprintf(st->error, sizeof(st->error), "%s", dep_queue_error(c->queue));
}

void dep_collector_unfollow(struct dep_collector *c)
{
	c->unfollow = true;
}

bool dep_collector_leave(struct dep_collector *c)
{
	bool did;

	if (!c->nopen)
		return true;
	c->last_of = UINT32_MAX;
	dep_procs_poll(c);
	dep_threads_snapshot(c);
	return dep_procs_drain(c, &did) && dep_threads_leave(c);
}

void dep_collector_give_up(struct dep_collector *c)
{
	dep_collector_message(c, "the last records of programs that still run could not be read");
	dep_threads_give_up(c);
}

/*
 * Last pass over programs that continue after the recording. Take all records that they have
 * written so far, including the chunk being written; if memory is short, try for 10 seconds. The
 * programs get the request to stop only afterwards, since they would then overwrite that chunk.
 */
static void take_leave(struct dep_collector *c)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	u64 until = now_ns() + LEAVE_NS;

	dep_collector_message(c, "%u processes outlived the recording", c->nopen);
	do {
		if (dep_collector_leave(c))
			return;
		nanosleep(&pause, NULL);
	} while (now_ns() < until);
	dep_collector_give_up(c);
}

void dep_collector_abandon(struct dep_collector *c)
{
	u32 i;

	store(&c->s->map->abandoned, 1);
	store(&c->s->map->stop, 1);
	dep_domains_tell(c);
	if (c->s->module)
		dep_module_discard(c->s->module);
	dep_threads_snapshot(c);
	dep_threads_release(c);
	dep_procs_release(c);
	for (i = 0; i < c->s->layout.nprocs; i++)
		if (c->procs[i].following && c->ops.end)
			c->ops.end(c->ops.arg, c->s, i);
}

bool dep_collector_drained(struct dep_collector *c)
{
	return dep_queue_drained(c->queue);
}

void dep_collector_own_loss(struct dep_collector *c, struct dep_loss *loss)
{
	*loss = c->loss;
	dep_queue_loss(c->queue, loss);
}

void dep_collector_loss(struct dep_collector *c, struct dep_loss *loss)
{
	dep_collector_own_loss(c, loss);
	dep_session_loss(c->s, loss);
}

int dep_collector_close(struct dep_collector *c, const struct dep_ending *ending)
{
	struct dep_job *job = dep_queue_job(c->queue, DEP_JOB_CLOSE, 0);

	if (!job)
		return -ENOMEM;
	job->close = *ending;
	dep_queue_put(c->queue, job);
	return 0;
}

bool dep_collector_closed(struct dep_collector *c, int *ret)
{
	return dep_queue_closed(c->queue, ret);
}

void dep_collector_free(struct dep_collector *c)
{
	dep_procs_close(c);
	dep_queue_drain(c->queue);
	dep_snapshot_free(c->snapshot);
	/* Others can store what is not stored, when what went wrong is set right. */
	if (c->window && !c->unwanted &&
	    (dep_queue_store_failed(c->queue) || !dep_window_is_empty(c->window)))
		dep_window_keep_files(c->window);
	dep_queue_free(c->queue);
	dep_window_free(c->window);
	dep_pool_free(c->pool);
	dep_cuts_free(c->cuts);
	free(c->trimming.slot);
	free(c->trimming.serial);
	free(c->serials);
	free(c->used);
	free(c->threads);
	free(c->procs);
	free(c);
}

/* Cause of the end of the recording, as far as the collector knows it. */
static enum dep_close_cause cause_of(const struct dep_collector *c, u32 live)
{
	if (live)
		return DEP_CLOSE_STOPPED;
	return dep_queue_stopped(c->queue) ? DEP_CLOSE_MAX_SIZE : DEP_CLOSE_ENDED;
}

/* ---- snapshots ---- */

/* Queue what the threads have written so far, and then the snapshot. */
static int queue_snapshot(struct dep_collector *c, const struct dep_save *save)
{
	struct dep_ending ending = {
		.cause = DEP_CLOSE_STOPPED, .exit_status = -1, .live = c->nopen,
	};
	struct dep_job *job = dep_queue_job(c->queue, DEP_JOB_SAVE, 0);
	int err = -ENOMEM;

	if (!job)
		return -ENOMEM;
	dep_collector_loss(c, &ending.loss);
	err = dep_threads_save(c, &ending.loss);
	if (!err)
		c->snapshot = dep_snapshot_new(save, &ending);
	if (!err && !c->snapshot)
		err = -ENOMEM;
	if (err) {
		dep_queue_cancel(c->queue, job);
		return err;
	}
	job->owner = c->snapshot;
	dep_queue_put(c->queue, job);
	return 0;
}

int dep_collector_save(struct dep_collector *c, const struct dep_save *save)
{
	bool did;

	if (!c->window || dep_queue_stopped(c->queue))
		return -EINVAL;
	if (c->snapshot)
		return -EBUSY;
	dep_threads_snapshot(c);
	if (!dep_procs_drain(c, &did))
		return -EAGAIN;
	dep_threads_consume(c);
	return queue_snapshot(c, save);
}

bool dep_collector_saved(struct dep_collector *c, struct dep_save_result *result)
{
	if (!c->snapshot || !dep_snapshot_done(c->snapshot, result))
		return false;
	dep_snapshot_free(c->snapshot);
	c->snapshot = NULL;
	return true;
}

bool dep_collector_saving(const struct dep_collector *c)
{
	return c->snapshot;
}

bool dep_collector_triggered(struct dep_collector *c, struct dep_kept *kept)
{
	if (!c->ntriggered)
		return false;
	*kept = c->triggered[0];
	memmove(&c->triggered[0], &c->triggered[1],
		--c->ntriggered * sizeof(c->triggered[0]));
	return true;
}

void dep_collector_why(struct dep_collector *c, const struct dep_kept *kept)
{
	c->why = *kept;
}

void dep_collector_store_last(struct dep_collector *c)
{
	u64 bytes;
	int err;

	if (!c->window || c->window_ended)
		return;
	bytes = dep_window_bytes(c->window);
	err = dep_queue_end_window(c->queue, &c->why);
	dep_window_dropped(c->window, &c->dropped);
	c->window_ended = true;
	if (!err)
		return;
	dep_collector_message(c, "there is no memory to store the end of the recording");
	c->loss.discarded_bytes += bytes;
}

void dep_collector_drop_last(struct dep_collector *c)
{
	c->unwanted = true;
}

void dep_collector_finish(struct dep_collector *c, struct dep_ending *ending,
			  struct dep_collect_status *status)
{
	*ending = (struct dep_ending){ .exit_status = -1, .live = c->nopen };
	if (c->nopen)
		take_leave(c);
	dep_collector_abandon(c);
	if (!c->unwanted)
		dep_collector_store_last(c);
	dep_queue_drain(c->queue);
	dep_collector_loss(c, &ending->loss);
	ending->cause = cause_of(c, ending->live);
	dep_queue_ending(c->queue, ending);
	if (status)
		dep_collector_status(c, status);
	dep_collector_free(c);
}
