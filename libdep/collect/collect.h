/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The collector: creates the session file that recorded processes write to, and moves its data to a
 * store (abi/session_file.h is the contract).
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
struct dep_loss;
struct dep_module;
struct dep_owner;
struct dep_writer;

/** struct dep_session - the collector's view of a session file */
struct dep_session {
	int fd;			/* memfd, close-on-exec */
	size_t size;
	struct adept_session *map;	/* the whole file, mapped */
	/* as created: recorded processes can change the sizes in the shared page */
	struct adept_session layout;
	dev_t dev;		/* of the memfd, to find it in /proc/PID/maps */
	ino_t ino;
	u64 start_boot_ns;	/* CLOCK_BOOTTIME; recorded processes began later */
	u64 start_ns, start_tsc;	/* CLOCK_MONOTONIC and the TSC, read together */
	/* rings of the kernel module with ADEPT_S_MODULE, else NULL */
	struct dep_module *module;
	struct dep_owner *owner;	/* made by dep_session_guard() */
};

#define DEP_RING_DEFAULT	(4u << 20)
#define DEP_RING_MIN		(64u << 10)
#define DEP_RING_MAX		(1ull << 30)

/**
 * dep_session_create() - create and map a session file
 * @flags: ADEPT_S_*; ADEPT_S_MODULE: with rings of the kernel module
 * @ring_size: bytes of ring per thread, rounded up to whole chunks; 0: the default
 * @nprocs, @nthreads: slots; 0: the maximum (fewer threads if rings are large)
 * @give_up_ns: time that programs wait for a dead collector before they go on unrecorded until
 *	another one takes over; 0: none will
 */
int dep_session_create(struct dep_session *s, u32 flags, u64 ring_size, u32 nprocs, u32 nthreads,
		       u64 give_up_ns);

/* The file system user of the calling thread. */
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
 * dep_session_guard() - let programs notice the death of the calling thread
 *
 * Call it in the loop's thread. From then on the kernel no longer marks this thread's robust
 * mutexes.
 */
void dep_session_guard(struct dep_session *s);

/** struct dep_session_saved - what dep_session_adopt() needs; kept by the creator */
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
 * The process that followed its execves must have ended: execves in progress count as native.
 * Return: 0, -EBADMSG if the file is not the saved session's, or as dep_module_adopt().
 */
int dep_session_adopt(struct dep_session *s, int fd, const struct dep_session_saved *saved);
/** dep_session_loss() - add the losses counted in the session file, by all its collectors */
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
	DEP_EXEC_FOLLOWED,	/* the new image has a slot of its own */
	DEP_EXEC_RUNS_NATIVE,	/* the new image runs natively */
	/* a vfork child's execve: as above; the parent's image continues */
	DEP_EXEC_CHILD_FOLLOWED,
	DEP_EXEC_CHILD_RUNS_NATIVE,
	DEP_EXEC_CANCELLED,	/* execve failed; the old image continues */
	DEP_EXEC_REFUSED,	/* answered with ADEPT_EXEC_NATIVE, as if begin() had failed */
	DEP_EXEC_DEAD,		/* as if begin() had returned -ESRCH */
};

/**
 * struct dep_exec_ops - how the collector follows execve; NULL members: it does not
 *
 * Called in the loop's thread, so they may use ptrace. An implementation that lets an image run
 * natively counts it by adept_native_add().
 */
struct dep_exec_ops {
	/**
	 * @begin: slot @proc has set ADEPT_EXEC_REQUEST. Answers with ADEPT_EXEC_READY and returns
	 *	0 if exec_tid is traced now. Otherwise answers with ADEPT_EXEC_NATIVE and returns a
	 *	negative errno; -ESRCH if the process is dead, so that nothing runs natively. It may
	 *	also return 0 and let another thread or process answer: poll() reports the answer.
	 */
	int (*begin)(void *arg, struct dep_session *s, u32 proc);
	/** @poll: return the outcome so far; never waits */
	enum dep_exec_outcome (*poll)(void *arg, struct dep_session *s, u32 proc);
	/** @end: stop following, because the collector ends */
	void (*end)(void *arg, struct dep_session *s, u32 proc);
	void *arg;
};

/** struct dep_collect_status - state of a collector; see dep_collector_status() */
struct dep_collect_status {
	u32 processes, threads;	/* number seen so far */
	u32 live_processes;
	u32 broken;		/* rings and processes with corrupt data */
	u64 stored_bytes;
	u64 chunks, raw_bytes;	/* consumed from rings */
	u64 null_bytes;		/* bytes that ended threads counted and discarded */
	bool stopped;		/* no longer records */
	bool failed;		/* the store could not be written: @error */
	char error[512];
};

struct dep_collector;
struct dep_pool;

/** struct dep_collect_setup - parameters of a collector */
struct dep_collect_setup {
	struct dep_writer *w;		/* NULL: keep nothing (ADEPT_S_NO_RECORD) */
	u64 max_size;			/* stop recording at this size in bytes; 0: never */
	const struct dep_exec_ops *ops;	/* copied; NULL: do not follow execve */
	struct dep_pool *pool;		/* writer threads; NULL: own ones */
	/*
	 * Names of executables are looked up only for processes without other privileges; NULL or
	 * not yet known: for all.
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
 * dep_collector_adopt() - continue a session that an earlier collector left
 * @dir: its store, for which a writer is made; @c must have been created without one
 *
 * Call it before all other functions. Return: 0, or as dep_writer_resume().
 */
int dep_collector_adopt(struct dep_collector *c, const char *dir, int level);

/**
 * dep_collector_run() - run until @child has ended and no recorded process lives
 * @child: launched child of the caller; 0: none; DEP_CHILD_OF_OTHER: a child of another process,
 *	whose end @tick reports by dep_collector_child_gone()
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
 * dep_collector_step() - do what can be done without waiting
 *
 * Call it after a wakeup, and at least every DEP_STEP_NS to notice ended processes; every
 * millisecond while dep_collector_following().
 *
 * Return: true if there may be more to do now.
 */
bool dep_collector_step(struct dep_collector *c);
#define DEP_STEP_NS	15000000ull
/** dep_collector_following() - is an execve in progress? */
bool dep_collector_following(const struct dep_collector *c);
/** dep_collector_idle() - does no process live, and is none being created? */
bool dep_collector_idle(const struct dep_collector *c);
/** dep_collector_unfollow() - let all images executed from now on run natively */
void dep_collector_unfollow(struct dep_collector *c);
/**
 * dep_collector_leave() - take what living programs have written until now
 *
 * They continue. Return: false if not all could be taken: step and call again.
 */
bool dep_collector_leave(struct dep_collector *c);
/** dep_collector_give_up() - leave without the rest, which is counted as lost */
void dep_collector_give_up(struct dep_collector *c);
/** dep_collector_abandon() - stop recording living programs; they never wait for room again */
void dep_collector_abandon(struct dep_collector *c);
/** dep_collector_drained() - is everything that was taken stored? */
bool dep_collector_drained(struct dep_collector *c);
/** dep_collector_loss() - all known losses; call it after dep_collector_abandon() */
void dep_collector_loss(struct dep_collector *c, struct dep_loss *loss);
/** dep_collector_own_loss() - dep_collector_loss() without the losses in the session file */
void dep_collector_own_loss(struct dep_collector *c, struct dep_loss *loss);
/**
 * dep_collector_close() - close the writer after all queued jobs
 * @ending: copied; a store failure replaces its cause
 */
int dep_collector_close(struct dep_collector *c, const struct dep_ending *ending);
/** dep_collector_closed() - is the writer closed? *ret: result of dep_writer_close() */
bool dep_collector_closed(struct dep_collector *c, int *ret);
/** dep_collector_free() - waits for queued jobs */
void dep_collector_free(struct dep_collector *c);

/* ---- at any time ---- */

/** dep_collector_busy() - is an execve of @pid followed? It may be in a ptrace stop. */
bool dep_collector_busy(const struct dep_collector *c, pid_t pid);

/** dep_collector_child_ended() - has the launched child been reaped? */
bool dep_collector_child_ended(const struct dep_collector *c);

/** dep_collector_message() - add a message of at most 511 bytes to the store */
void dep_collector_message(struct dep_collector *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** dep_collector_stop() - stop recording; programs continue */
void dep_collector_stop(struct dep_collector *c);

void dep_collector_status(struct dep_collector *c, struct dep_collect_status *st);

/**
 * dep_collector_lag() - published chunks that are not stored, and their bytes
 * @waiting: receives the number of threads that wait for a free chunk
 */
void dep_collector_lag(struct dep_collector *c, u64 *chunks, u64 *bytes, u64 *waiting);

/** dep_collector_error() - error message of the store; "" if it has not failed */
const char *dep_collector_error(const struct dep_collector *c);

/**
 * dep_collector_finish() - abandon living programs, store everything taken, and free @c
 * @ending: receives cause and losses for dep_writer_close(); the caller sets the exit status
 * @status: NULL, or receives the final state
 */
void dep_collector_finish(struct dep_collector *c, struct dep_ending *ending,
			  struct dep_collect_status *status);

#endif
