/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The collector: creates the session file that recorded processes write to (abi/session_file.h),
 * and moves its data to a store.
 *
 * The loop runs in the caller's thread. It follows processes and queues what they have published.
 * It never waits for the store and never reads the body of a chunk. Writer threads own the
 * dep_writer: they copy, pack and write chunks, and return a chunk's memory when it is in the store
 * (write_queue.h). If they are slow, rings fill, and recorded threads wait or drop chunks according
 * to the session's policy.
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef ADEPT_COLLECT_COLLECT_H
#define ADEPT_COLLECT_COLLECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "libdep/abi/session_file.h"

struct dep_base;
struct dep_ending;
struct dep_kept;
struct dep_loss;
struct dep_meta;
struct dep_module;
struct dep_owner;
struct dep_writer;

/** struct dep_session - the collector's view of a session file */
struct dep_session {
	int fd;			/* memfd, close-on-exec */
	size_t size;
	struct adept_session *map;	/* mapping of the whole file */
	/* sizes and offsets as created; recorded processes can change those in the shared page */
	struct adept_session layout;
	dev_t dev;		/* device of the memfd, to find its mapping in /proc/PID/maps */
	ino_t ino;
	u64 start_boot_ns;	/* CLOCK_BOOTTIME at creation; recorded processes are younger */
	u64 start_ns, start_tsc;	/* CLOCK_MONOTONIC and TSC at creation, read together */
	/* rings of the kernel module with ADEPT_S_MODULE, else NULL */
	struct dep_module *module;
	struct dep_owner *owner;	/* marks the collector's thread; see dep_session_guard() */
};

/**
 * dep_session_tell_removed() - let the processes say which code they will not execute any more
 *
 * For a collector with last_bytes.  Call it before dep_target_init().
 */
void dep_session_tell_removed(struct dep_session *s);

#define DEP_RING_DEFAULT	(4u << 20)
#define DEP_RING_MIN		(64u << 10)
#define DEP_RING_MAX		(1ull << 30)

/**
 * dep_session_create() - create and map a session file
 * @flags: ADEPT_S_*; ADEPT_S_MODULE: with rings of the kernel module
 * @ring_size: bytes of ring per thread, rounded up to whole chunks; 0: the default
 * @nprocs, @nthreads: number of slots; 0: the maximum (fewer threads if rings are large)
 * @give_up_ns: time for which programs wait after the collector died, before they continue
 *	unrecorded until another collector takes over; 0: no collector will take over
 */
int dep_session_create(struct dep_session *s, u32 flags, u64 ring_size, u32 nprocs, u32 nthreads,
		       u64 give_up_ns);

/** dep_session_seed() - set the seed of the chaos modes (0: 1), before the first process */
void dep_session_seed(struct dep_session *s, u32 seed);
/** dep_session_watch() - set the triggers of a session, before a process is put into it */
void dep_session_watch(struct dep_session *s, const struct adept_triggers *t);

/* value of @charge: the file system user ID of the calling thread */
#define DEP_CHARGE_SELF	((uid_t)-1)

/**
 * dep_session_create_for() - dep_session_create() with module rings accounted to a user
 * @charge: the user against whose limits the rings count
 *
 * Another user than DEP_CHARGE_SELF requires CAP_SETUID (-EPERM). Rings in shared memory are not
 * accounted.
 */
int dep_session_create_for(struct dep_session *s, uid_t charge, u32 flags, u64 ring_size,
			   u32 nprocs, u32 nthreads, u64 give_up_ns);

/**
 * dep_session_guard() - let recorded programs notice the death of the calling thread
 *
 * Call it in the loop's thread. It replaces the thread's robust list (set_robust_list(2)), so this
 * thread must not use robust mutexes.
 */
void dep_session_guard(struct dep_session *s);

/** struct dep_session_saved - state for dep_session_adopt(), saved by the session's creator */
struct dep_session_saved {
	struct adept_session layout;
	u64 start_boot_ns, start_ns, start_tsc;
	u64 module_id;
};

void dep_session_save(const struct dep_session *s, struct dep_session_saved *to);
/**
 * dep_session_adopt() - take over a session whose collector has ended
 * @fd: the session file; owned by @s, closed on error
 *
 * The process that followed execves for the earlier collector must have ended: execves in progress
 * count as lost processes.
 *
 * Return: 0, -EBADMSG if the file is not that of the saved session, or as dep_module_adopt().
 */
int dep_session_adopt(struct dep_session *s, int fd, const struct dep_session_saved *saved);
/** dep_session_loss() - add the losses counted in the session file since it was created */
void dep_session_loss(const struct dep_session *s, struct dep_loss *loss);
/** dep_session_destroy() - end the session; programs that still run are no longer recorded */
void dep_session_destroy(struct dep_session *s);
/** dep_session_tsc_ns() - convert TSC ticks to nanoseconds */
u64 dep_session_tsc_ns(const struct dep_session *s, u64 ticks);

static inline struct adept_proc *dep_session_proc(const struct dep_session *s, u32 i)
{
	return (struct adept_proc *)((char *)s->map + s->layout.proc_off) + i;
}

static inline struct adept_thread *dep_session_thread(const struct dep_session *s, u32 i)
{
	return (struct adept_thread *)((char *)s->map + s->layout.thread_off) + i;
}

static inline u8 *dep_session_desc(const struct dep_session *s, u32 i)
{
	return (u8 *)s->map + s->layout.desc_off + (u64)i * s->layout.desc_size;
}

static inline u8 *dep_session_chunk(const struct dep_session *s, u32 slot, u32 i)
{
	return (u8 *)s->map + adept_chunk_off(&s->layout, slot, i);
}

/* Outcome of an execve that is followed. */
enum dep_exec_outcome {
	DEP_EXEC_PENDING,
	DEP_EXEC_FOLLOWED,	/* the new image has its own process slot */
	DEP_EXEC_RUNS_NATIVE,	/* the new image runs natively */
	/* A vfork child's execve was followed, or runs natively; its parent's image continues. */
	DEP_EXEC_CHILD_FOLLOWED,
	DEP_EXEC_CHILD_RUNS_NATIVE,
	DEP_EXEC_CANCELLED,	/* execve failed; the old image continues */
	DEP_EXEC_REFUSED,	/* state set to ADEPT_EXEC_NATIVE, as if begin() had failed */
	DEP_EXEC_DEAD,		/* the process is dead, as if begin() had returned -ESRCH */
};

/**
 * struct dep_exec_ops - how the collector follows execve; if all members are NULL, it does not
 *
 * The functions are called in the loop's thread, so they may use ptrace. An implementation that
 * lets an image run natively counts it by adept_native_add().
 */
struct dep_exec_ops {
	/**
	 * @begin: process slot @proc has set ADEPT_EXEC_REQUEST. Set ADEPT_EXEC_READY and return 0
	 *	if exec_tid is traced now. Otherwise set ADEPT_EXEC_NATIVE and return a negative
	 *	errno; -ESRCH if the process is dead, so that nothing runs natively. It may also
	 *	return 0 and leave the answer to another thread or process; poll() then reports it.
	 */
	int (*begin)(void *arg, struct dep_session *s, u32 proc);
	/** @poll: return the outcome of the execve so far, without waiting */
	enum dep_exec_outcome (*poll)(void *arg, struct dep_session *s, u32 proc);
	/** @end: stop following the execve, because the collector ends */
	void (*end)(void *arg, struct dep_session *s, u32 proc);
	void *arg;
};

/** struct dep_collect_status - state of a collector; see dep_collector_status() */
struct dep_collect_status {
	u32 processes, threads;	/* number of processes and threads recorded so far */
	u32 live_processes;
	u32 broken;		/* number of rings and processes with corrupt data */
	u64 stored_bytes;
	u64 chunks, raw_bytes;	/* number of chunks taken from rings, and their bytes */
	u64 null_bytes;		/* bytes of ended threads that were counted but not stored */
	bool stopped;		/* the collector no longer records */
	bool failed;		/* writing the store failed; @error says why */
	/*
	 * With dep_collect_setup.last_bytes: bytes of chunks and of descriptors in memory. After
	 * dep_collector_store_last() also the bytes that were dropped, and the time from which on
	 * everything was kept (or 0).
	 */
	u64 last_bytes, last_descriptors, last_dropped, last_from_ns;
	u64 last_limit;		/* maximum bytes of all that; fewer than asked for: a full disk */
	char error[512];
};

/** struct dep_save - a snapshot to make; see dep_collector_save() */
struct dep_save {
	const char *dir;		/* directory of the store, which must not exist; copied */
	const struct dep_meta *meta;	/* valid until the snapshot is done */
	int level;			/* as of dep_writer_create() */
	const struct dep_kept *kept;	/* when and why */
};

/** struct dep_save_result - what has become of a snapshot */
struct dep_save_result {
	int err;			/* 0, or a negative errno: there is no store */
	char error[256];
	uint32_t threads;
	u64 raw_bytes, stored_bytes;
	u64 from_ns;			/* CLOCK_MONOTONIC; 0: nothing was dropped */
};

struct dep_collector;
struct dep_pool;

/** struct dep_collect_setup - parameters of a collector */
struct dep_collect_setup {
	struct dep_writer *w;		/* NULL: store nothing (ADEPT_S_NO_RECORD) */
	u64 max_size;			/* stop when the store has this many bytes; 0: never */
	/*
	 * Not 0: keep only the newest chunks, at most this many bytes, and store them at the end.
	 * Not with @max_size, and not for a session that is adopted.
	 */
	u64 last_bytes;
	u64 last_ns;			/* with @last_bytes: drop older chunks, too; 0: no limit */
	bool last_on_disk;		/* with @last_bytes: in files of the store, not in memory */
	u64 last_memory;		/* with @last_on_disk: bytes of memory; 0: no limit */
	const struct dep_exec_ops *ops;	/* copied; NULL: do not follow execve */
	struct dep_pool *pool;		/* writer threads; NULL: start a pool for this collector */
	/*
	 * Privileges of the session. Names of executables are looked up only for processes without
	 * further privileges; NULL or not known yet: for all processes.
	 */
	const struct dep_base *base;
};

/**
 * dep_collector_create() - create a collector for @s
 *
 * The collector owns the writer until dep_collector_finish().
 */
int dep_collector_create(struct dep_collector **c, struct dep_session *s,
			 const struct dep_collect_setup *setup);

/**
 * dep_collector_adopt() - continue a session whose earlier collector has ended
 * @dir: the session's store, which is resumed; @c must have been created without a writer
 *
 * Call it before all other functions. Return: 0, or as dep_writer_resume().
 */
int dep_collector_adopt(struct dep_collector *c, const char *dir, int level);

/**
 * dep_collector_run() - run until @child has ended and no recorded process lives
 * @child: launched child of the caller; 0: none; DEP_CHILD_OF_OTHER: the launched process is a
 *	child of another process, and @tick reports its end by dep_collector_child_gone()
 * @status: receives the wait status of @child; -1: not known
 * @tick: called in each pass; a non-zero result ends the run and abandons living processes
 *
 * Return: 0, or the result of @tick.
 */
int dep_collector_run(struct dep_collector *c, pid_t child, int *status, int (*tick)(void *arg),
		      void *arg);

#define DEP_CHILD_OF_OTHER	((pid_t)-1)

/** dep_collector_child_gone() - report that the launched process has ended */
void dep_collector_child_gone(struct dep_collector *c);

/* ---- for callers with their own loop; call in this order ---- */

/**
 * dep_collector_step() - one pass of the loop: do all that can be done without waiting
 *
 * Call it after a wakeup, and at least every DEP_STEP_NS to notice ended processes; every
 * millisecond while dep_collector_following().
 *
 * Return: true if there may be more to do now.
 */
bool dep_collector_step(struct dep_collector *c);
#define DEP_STEP_NS	15000000ull
/** dep_collector_following() - true if an execve is in progress */
bool dep_collector_following(const struct dep_collector *c);
/** dep_collector_idle() - true if no recorded process lives or is being created */
bool dep_collector_idle(const struct dep_collector *c);
/** dep_collector_unfollow() - let all images executed from now on run natively */
void dep_collector_unfollow(struct dep_collector *c);
/**
 * dep_collector_leave() - take all records that living programs have written so far
 *
 * The programs continue. Return: false if some records could not be taken: step and call again.
 */
bool dep_collector_leave(struct dep_collector *c);
/** dep_collector_give_up() - count as lost what dep_collector_leave() could not take */
void dep_collector_give_up(struct dep_collector *c);
/** dep_collector_abandon() - stop recording living programs; they no longer wait for free chunks */
void dep_collector_abandon(struct dep_collector *c);
/** dep_collector_drained() - true if everything that was taken is in the store */
bool dep_collector_drained(struct dep_collector *c);
/** dep_collector_loss() - all known losses; call it after dep_collector_abandon() */
void dep_collector_loss(struct dep_collector *c, struct dep_loss *loss);
/** dep_collector_own_loss() - dep_collector_loss() without the losses in the session file */
void dep_collector_own_loss(struct dep_collector *c, struct dep_loss *loss);
/**
 * dep_collector_store_last() - with last_bytes: queue what is to be stored of the recording
 *
 * Call it once, after dep_collector_abandon(), when dep_collector_drained(): then it does not wait.
 */
void dep_collector_store_last(struct dep_collector *c);
/**
 * dep_collector_close() - close the writer after all queued jobs
 * @ending: copied; if writing the store failed, its cause is replaced
 */
int dep_collector_close(struct dep_collector *c, const struct dep_ending *ending);
/** dep_collector_closed() - true if the writer is closed; *ret: result of dep_writer_close() */
bool dep_collector_closed(struct dep_collector *c, int *ret);
/** dep_collector_free() - wait for queued jobs, then free @c */
void dep_collector_free(struct dep_collector *c);

/* ---- functions that may be called at any time ---- */

/** dep_collector_busy() - true if an execve of @pid is followed: it may be in a ptrace stop */
bool dep_collector_busy(const struct dep_collector *c, pid_t pid);
/** dep_collector_records() - true if process @pid is recorded, and has not ended */
bool dep_collector_records(const struct dep_collector *c, pid_t pid);

/** dep_collector_child_ended() - true if the launched child has been reaped */
bool dep_collector_child_ended(const struct dep_collector *c);

/** dep_collector_message() - add a message of at most 511 bytes to the store */
void dep_collector_message(struct dep_collector *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** dep_collector_stop() - stop recording; programs continue */
void dep_collector_stop(struct dep_collector *c);

void dep_collector_status(struct dep_collector *c, struct dep_collect_status *st);

/**
 * dep_collector_lag() - count the published chunks that are not stored yet, and their bytes
 * @waiting: receives the number of threads that wait for a free chunk
 */
void dep_collector_lag(struct dep_collector *c, u64 *chunks, u64 *bytes, u64 *waiting);

/** dep_collector_error() - error message of the store; "" if it has not failed */
const char *dep_collector_error(const struct dep_collector *c);

/**
 * dep_collector_save() - begin a snapshot: a store of what a recording with --last has now
 *
 * The recording goes on, and does not wait for the snapshot. There is one at a time.
 *
 * Return: 0; -EBUSY: the last snapshot is not done; -EAGAIN: call again in the next pass of the
 * loop; -EINVAL: nothing is recorded, or without last_bytes; -ENOMEM.
 */
int dep_collector_save(struct dep_collector *c, const struct dep_save *save);
/** dep_collector_saved() - true once, when a snapshot is done */
bool dep_collector_saved(struct dep_collector *c, struct dep_save_result *result);
/** dep_collector_saving() - true until dep_collector_saved() has reported the snapshot */
bool dep_collector_saving(const struct dep_collector *c);
/** dep_collector_triggered() - true if a thread has met a trigger; @kept receives which */
bool dep_collector_triggered(struct dep_collector *c, struct dep_kept *kept);
/** dep_collector_why() - say why dep_collector_finish() will store what is kept */
void dep_collector_why(struct dep_collector *c, const struct dep_kept *kept);

/** dep_collector_drop_last() - dep_collector_finish() will store no chunks: nobody wants them */
void dep_collector_drop_last(struct dep_collector *c);

/**
 * dep_collector_finish() - abandon living programs, store everything taken, and free @c
 * @ending: receives cause and losses for dep_writer_close(); the caller adds the exit status
 * @status: NULL, or receives the final state
 */
void dep_collector_finish(struct dep_collector *c, struct dep_ending *ending,
			  struct dep_collect_status *status);

#endif
