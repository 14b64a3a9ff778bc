/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The collector: makes the session file that recorded processes write into, and
 * consumes it into a store (abi/session_file.h is the contract).
 *
 * Several threads.  The loop, which is the caller's thread, looks after processes and
 * queues what they published; it never waits for the store, and never touches a chunk's
 * body.  The storing threads have the dep_writer; they copy, pack and write, and give a
 * chunk's memory back when it is in the store (write_queue.h).  If they are slow rings fill,
 * and recorded threads wait or drop as the session's policy says.
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
	struct adept_session *map;	/* the whole file */
	struct adept_session layout;	/* as created: never read the sizes from the shared page */
	dev_t dev;		/* of the memfd, to find it in /proc/PID/maps */
	ino_t ino;
	u64 start_boot_ns;	/* CLOCK_BOOTTIME: recorded processes are younger */
	u64 start_ns, start_tsc;	/* CLOCK_MONOTONIC and the processor's at one time */
	struct dep_module *module;	/* the rings of ADEPT_S_MODULE, else NULL */
	struct dep_owner *owner;	/* of dep_session_guard() */
};

#define DEP_RING_DEFAULT	(4u << 20)
#define DEP_RING_MIN		(64u << 10)
#define DEP_RING_MAX		(1ull << 30)

/**
 * dep_session_create() - make a session file and map it
 * @flags: ADEPT_S_*; ADEPT_S_MODULE: with rings of the kernel module
 * @ring_size: bytes of ring per thread, 0 = the default; rounded up to whole chunks
 * @nprocs, @nthreads: slots, 0 = the most (fewer threads if their rings are large)
 * @give_up_ns: how long programs wait for a collector that is gone, before they go on
 *	unrecorded until it is back; 0: it never comes back
 */
int dep_session_create(struct dep_session *s, u32 flags, u64 ring_size, u32 nprocs, u32 nthreads,
		       u64 give_up_ns);

/* The file system user of the thread that makes the session. */
#define DEP_CHARGE_SELF	((uid_t)-1)

/**
 * dep_session_create_for() - dep_session_create() with rings of the module that count as a user's
 * @charge: whose limits they count against
 *
 * Another user than DEP_CHARGE_SELF takes CAP_SETUID: -EPERM.  Shared memory is not counted.
 */
int dep_session_create_for(struct dep_session *s, uid_t charge, u32 flags, u64 ring_size,
			   u32 nprocs, u32 nthreads, u64 give_up_ns);

/**
 * dep_session_guard() - let programs see when the calling thread dies
 *
 * For the loop's thread of a process that collects.  The thread's robust mutexes are not marked
 * from then on.
 */
void dep_session_guard(struct dep_session *s);

/** struct dep_session_saved - what it takes to adopt a session, for its creator to keep */
struct dep_session_saved {
	struct adept_session layout;
	u64 start_boot_ns, start_ns, start_tsc;
	u64 module_id;
};

void dep_session_save(const struct dep_session *s, struct dep_session_saved *to);
/**
 * dep_session_adopt() - take over a session whose collector is gone
 * @fd: the session file; taken over, closed if it fails
 *
 * Whoever followed its execves must have ended: what they had in hand counts as native.
 * Return: 0, -EBADMSG if the file is not the one that was saved; or as dep_module_adopt().
 */
int dep_session_adopt(struct dep_session *s, int fd, const struct dep_session_saved *saved);
/** dep_session_loss() - add what the session file counts, for all collectors that it has had */
void dep_session_loss(const struct dep_session *s, struct dep_loss *loss);
/** dep_session_destroy() - programs that still run discard from now on */
void dep_session_destroy(struct dep_session *s);
/** dep_session_tsc_ns() - how long @ticks of the processor's clock are */
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

/* What became of an execve that is being followed. */
enum dep_exec_outcome {
	DEP_EXEC_PENDING,
	DEP_EXEC_FOLLOWED,	/* the new image has a slot of its own */
	DEP_EXEC_RUNS_NATIVE,	/* the new image runs, unrecorded */
	DEP_EXEC_CHILD_FOLLOWED, /* it was a vfork child: the same, and the old image goes on */
	DEP_EXEC_CHILD_RUNS_NATIVE,
	DEP_EXEC_CANCELLED,	/* execve failed, the old image goes on */
	DEP_EXEC_REFUSED,	/* the answer was ADEPT_EXEC_NATIVE: as if begin() had failed */
	DEP_EXEC_DEAD,		/* ..with -ESRCH */
};

/**
 * struct dep_exec_ops - how the collector follows execve; NULL members = never
 *
 * Called from the loop, so a ptracer may keep its tracees: it is always one thread.  Who lets
 * an image run natively counts it by adept_native_add().
 */
struct dep_exec_ops {
	/**
	 * @begin: slot @proc wrote ADEPT_EXEC_REQUEST.  Answers it: ADEPT_EXEC_READY
	 * and 0 when its exec_tid is traced, else ADEPT_EXEC_NATIVE and a negative errno:
	 * -ESRCH if it is dead, so that nothing will run natively.  It may leave the
	 * answer to somebody else and return 0: poll() tells what it was.
	 */
	int (*begin)(void *arg, struct dep_session *s, u32 proc);
	/** @poll: never waits */
	enum dep_exec_outcome (*poll)(void *arg, struct dep_session *s, u32 proc);
	/** @end: follow it no longer, the collector ends */
	void (*end)(void *arg, struct dep_session *s, u32 proc);
	void *arg;
};

/** struct dep_collect_status - how far it is; see dep_collector_status() */
struct dep_collect_status {
	u32 processes, threads;	/* seen so far */
	u32 live_processes;
	u32 broken;		/* rings and processes that made no sense */
	u64 stored_bytes;
	u64 chunks, raw_bytes;	/* consumed from rings */
	u64 null_bytes;		/* counted by ended threads and not kept */
	bool stopped;		/* records no more */
	bool failed;		/* because the store failed.. */
	char error[512];	/* ..with this message */
};

struct dep_collector;
struct dep_pool;

/** struct dep_collect_setup - what a collector is made with */
struct dep_collect_setup {
	struct dep_writer *w;		/* NULL to keep nothing at all (ADEPT_S_NO_RECORD) */
	u64 max_size;			/* stop recording at so many bytes, 0 = never */
	const struct dep_exec_ops *ops;	/* copied; NULL: execve is not followed */
	struct dep_pool *pool;		/* storing threads; NULL: some of its own */
	/* Of other processes nothing is looked up; NULL: of all, and so while it is not known. */
	const struct dep_base *base;
};

/**
 * dep_collector_create() - prepare to consume @s
 *
 * Until dep_collector_finish() the writer belongs to the collector.
 */
int dep_collector_create(struct dep_collector **c, struct dep_session *s,
			 const struct dep_collect_setup *setup);

/**
 * dep_collector_adopt() - go on with a session that an earlier collector left
 * @dir: its store; the collector was created without a writer and gets this one's
 *
 * To be called before anything else.  Return: 0, or as dep_writer_resume().
 */
int dep_collector_adopt(struct dep_collector *c, const char *dir, int level);

/**
 * dep_collector_run() - consume until @child has ended and no recorded process lives
 * @child: launched process, a child of the caller; 0 = none; DEP_CHILD_OF_OTHER: another
 *	process waits for it, and @tick calls dep_collector_child_gone() when it has ended
 * @status: receives @child's wait status; -1 = unknown
 * @tick: called in every round; non-zero ends the run, what lives is abandoned
 *
 * Return: 0, or what @tick returned.
 */
int dep_collector_run(struct dep_collector *c, pid_t child, int *status, int (*tick)(void *arg),
		      void *arg);

#define DEP_CHILD_OF_OTHER	((pid_t)-1)

/** dep_collector_child_gone() - the launched process has ended, as another process says */
void dep_collector_child_gone(struct dep_collector *c);

/* ---- for who has a loop of its own, in this order ---- */

/**
 * dep_collector_step() - do what can be done now, without waiting
 *
 * To be called when the wakeup rang, and now and then: DEP_STEP_NS at most later, to
 * see who is gone; sooner while dep_collector_following().
 *
 * Return: whether anything was done; then call again soon.
 */
bool dep_collector_step(struct dep_collector *c);
#define DEP_STEP_NS	15000000ull
/** dep_collector_following() - an execve is under way: step in a millisecond */
bool dep_collector_following(const struct dep_collector *c);
/** dep_collector_idle() - nothing lives, and nobody is in the making */
bool dep_collector_idle(const struct dep_collector *c);
/** dep_collector_unfollow() - what is executed from now on runs unrecorded */
void dep_collector_unfollow(struct dep_collector *c);
/**
 * dep_collector_leave() - take what living programs have written up to now
 *
 * They go on.  Return: false if that was not possible yet; step and call again.
 */
bool dep_collector_leave(struct dep_collector *c);
/** dep_collector_give_up() - leave without what could not be taken; it is counted */
void dep_collector_give_up(struct dep_collector *c);
/** dep_collector_abandon() - living programs discard from now on, and wait for nobody */
void dep_collector_abandon(struct dep_collector *c);
/** dep_collector_drained() - all that was taken is stored */
bool dep_collector_drained(struct dep_collector *c);
/** dep_collector_loss() - what is known not to be in the store, after abandon() */
void dep_collector_loss(struct dep_collector *c, struct dep_loss *loss);
/** dep_collector_own_loss() - the same without what the session file counts */
void dep_collector_own_loss(struct dep_collector *c, struct dep_loss *loss);
/**
 * dep_collector_close() - close the writer, after everything that is queued for it
 * @ending: copied; if the store failed, that becomes the cause
 */
int dep_collector_close(struct dep_collector *c, const struct dep_ending *ending);
/** dep_collector_closed() - it is closed; *ret is what dep_writer_close() returned */
bool dep_collector_closed(struct dep_collector *c, int *ret);
/** dep_collector_free() - waits for the store if it was not closed */
void dep_collector_free(struct dep_collector *c);

/* ---- at any time ---- */

/** dep_collector_busy() - is an execve of @pid being followed (it may be in a ptrace stop) */
bool dep_collector_busy(const struct dep_collector *c, pid_t pid);

/** dep_collector_child_ended() - has the launched child been waited for */
bool dep_collector_child_ended(const struct dep_collector *c);

/** dep_collector_message() - leave a sentence in the store, of at most 511 bytes */
void dep_collector_message(struct dep_collector *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** dep_collector_stop() - record no more; programs go on */
void dep_collector_stop(struct dep_collector *c);

void dep_collector_status(struct dep_collector *c, struct dep_collect_status *st);

/**
 * dep_collector_lag() - chunks that are published and not stored yet, and bytes in them
 * @waiting: receives how many threads wait for a free chunk
 */
void dep_collector_lag(struct dep_collector *c, u64 *chunks, u64 *bytes, u64 *waiting);

/** dep_collector_error() - why the store failed, "" if it did not */
const char *dep_collector_error(const struct dep_collector *c);

/**
 * dep_collector_finish() - abandon what still lives, store everything taken, free @c
 * @ending: receives cause and loss, for dep_writer_close(); its exit status is the caller's
 * @status: may be NULL; receives the final state
 */
void dep_collector_finish(struct dep_collector *c, struct dep_ending *ending,
			  struct dep_collect_status *status);

#endif
