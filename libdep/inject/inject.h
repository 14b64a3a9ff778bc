/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts the engine into a process: launch, attach to a pending process, and follow execve.
 *
 * A process is injected at the stop directly after execve, when the new image is mapped and none of
 * its instructions has run. The injector maps the engine's memory, writes the engine image there,
 * sets the instruction pointer to it and detaches: the program runs untraced. Environment,
 * auxiliary vector, file descriptors, signal state, stack and the addresses of the program's
 * mappings are those of a native run.
 *
 * Functions return 0 or a negative errno. On failure *why, which may be NULL, receives a message.
 *
 * ptrace(2) binds a traced thread to the thread that seized it, so all calls for one struct
 * dep_follow must come from the same thread. dep_launch() and dep_attach() have detached when they
 * return, and may be called from any thread.
 */
#ifndef ADEPT_INJECT_INJECT_H
#define ADEPT_INJECT_INJECT_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "libdep/abi/boot.h"

#define DEP_WHY_SIZE 512

/** struct dep_why - an error message */
struct dep_why {
	char text[DEP_WHY_SIZE];
};

/** dep_inject_error() - write the message to @why, unless NULL; return: -@err */
__attribute__((format(printf, 3, 4)))
int dep_inject_error(struct dep_why *why, int err, const char *fmt, ...);

/* struct dep_target.flags */
#define DEP_T_NO_VDSO	0x01u	/* ignore the vdso (for tests) */
#define DEP_T_NO_PROC	0x02u	/* act as if the target had no /proc (for tests) */

#define DEP_LABEL_SIZE 256

/**
 * struct dep_base - privileges of the first process of a session when it joined
 * @known:	a process has joined
 * @uid, @gid:	real, effective, saved, file system
 * @caps:	permitted capabilities
 * @ns_dev, @ns_ino: user namespace
 * @label:	label of a security module
 *
 * An image with more privileges is not recorded. The values come from the kernel: see privileges.c.
 */
struct dep_base {
	u32 known;
	u32 uid[4], gid[4];
	u32 pad;
	u64 caps;
	u64 ns_dev, ns_ino;
	char label[DEP_LABEL_SIZE];
};

/** struct dep_peer - credentials of the other end of a socket, from the kernel */
struct dep_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd;		/* SO_PEERPIDFD; -1: not supported by the kernel */
};

/** dep_base_self() - privileges of the calling process */
int dep_base_self(struct dep_base *base, struct dep_why *why);
/**
 * dep_base_peer() - privileges of the connected process
 *
 * Return: 0; -EACCES if the process has privileges that its user lacks, or has another user than
 * when it connected; -ESRCH if it has ended.
 */
int dep_base_peer(struct dep_base *base, const struct dep_peer *peer, struct dep_why *why);

/**
 * dep_base_covers() - has a process with privileges @has all those of @needs, and the same ids?
 *
 * Privileges that are not known are covered by none.
 */
bool dep_base_covers(const struct dep_base *has, const struct dep_base *needs);

/** dep_proc_open() - open the /proc directory of a process or thread; returns it or -errno */
int dep_proc_open(pid_t pid);
/**
 * dep_proc_open_used() - dep_proc_open() of a process that runs already
 *
 * If its first thread has ended, this is the directory of another one: it has the same files, but
 * those of the first thread do not show the process's memory any more.
 */
int dep_proc_open_used(pid_t pid);
/** dep_proc_file() - open a file in the directory @proc for reading; NULL and errno on failure */
FILE *dep_proc_file(int proc, const char *name);
/**
 * dep_judge_member() - may the process belong to a session with this base?
 * @proc: dep_proc_open() of it. For a running process the result holds only at that time.
 *
 * Return: 0, -EACCES or -ESRCH.
 */
int dep_judge_member(int proc, const struct dep_base *base, struct dep_why *why);

/**
 * struct dep_target - parameters of injections into one session
 * @session:	the collector's mapping of the session file, at least up to desc_off; must outlive
 *	the target
 * @fd:		the session file in this process; keep it open while anything is injected
 * @ring_fd:	rings of the kernel module in this process, or -1; set it after dep_target_init()
 * @collector:	a process that must never be traced, whatever a slot says, since it maps the session
 *	as well; 0: none; set it after dep_target_init()
 * @ptracer:	a process that must be able to trace recorded programs although Yama would forbid
 *	it: programs name it by PR_SET_PTRACER; 0: none; set it after dep_target_init()
 * @flags:	DEP_T_*; may be changed after dep_target_init()
 * @base:	privileges that images may have. dep_target_init() sets the caller's, which launched
 *	programs have. A caller that collects for another process sets the privileges of that
 *	process. While @base is not known, no execve is followed; dep_attach() reports it.
 *
 * The other fields are private: copies of data that recorded processes could overwrite.
 */
struct dep_target {
	struct adept_session *session;
	int fd, ring_fd;
	pid_t collector;
	pid_t ptracer;
	u32 flags;
	struct dep_base base;

	const unsigned char *image;
	u64 image_len, image_mem;
	struct adept_entries entry;
	struct adept_session layout;
	u64 dev, ino;
};

/** struct dep_injected - result of an injection */
struct dep_injected {
	pid_t pid;
	bool native;		/* runs without the engine; *why has the reason */
	bool privileged;	/* native because it has more privileges than its session */
	u32 proc;		/* process slot, unless native */
	u32 serial;
	struct adept_boot boot;	/* addresses of everything that was mapped */
	struct dep_base base;	/* privileges of the process, unless native */
};

/**
 * dep_target_init() - prepare injections into a new session
 * @session: as in struct dep_target; initialised, nothing recorded yet
 * @fd:      the session file
 *
 * Uses the engine image that the library contains.
 */
int dep_target_init(struct dep_target *t, struct adept_session *session, int fd,
		    struct dep_why *why);

/**
 * dep_target_adopt() - prepare injections into a session that is being recorded
 * @layout: the session file's first page as created; the shared one may have been changed
 *
 * The caller must set the target's base.
 */
int dep_target_adopt(struct dep_target *t, struct adept_session *session,
		     const struct adept_session *layout, int fd, struct dep_why *why);

/**
 * struct dep_caller_state - process state to be restored in a launched program
 *
 * A collector blocks and handles signals, opens files and raises limits. The program must not
 * inherit that. Save the state early in main().
 */
struct dep_caller_state {
	sigset_t mask;
	u64 ignored;		/* bit n-1: signal n is ignored */
	struct rlimit nofile;
	/* descriptors to be inherited: those open at that time, ascending */
	int *fds;
	size_t nfds;
};

int dep_caller_state_save(struct dep_caller_state *n);
void dep_caller_state_free(struct dep_caller_state *n);

/* Is @sig ignored? This works for all signals, including those that libc reserves. */
bool dep_signal_ignored(int sig);
/** dep_signal_set() - ignore @sig, or set its default action */
void dep_signal_set(int sig, bool ignored);

#define DEP_LAUNCH_NO_ASLR	0x01u	/* disable address space randomisation */

/** struct dep_launch - the command to run */
struct dep_launch {
	char *const *argv;		/* argv[0] is looked up as by execvp(3) */
	char *const *envp;		/* NULL: the caller's environment */
	const struct dep_caller_state *caller_state;	/* NULL: the current state */
	u32 flags;			/* DEP_LAUNCH_* */
};

/**
 * dep_launch() - run a command under the engine
 * @out: filled in on success
 *
 * The program is a child of the calling process, in its process group. If execve raises the
 * privileges of the image (set-uid and the like), it runs natively: out->native and
 * out->privileged.
 *
 * Return: 0; -ENOENT, -EACCES, -ENOEXEC, -ENOTSUP (32-bit program), -EPERM (ptrace denied) or
 * another negative errno: then there is no child.
 */
int dep_launch(const struct dep_target *t, const struct dep_launch *l,
	       struct dep_injected *out, struct dep_why *why);

/**
 * dep_image_privileged() - does execve of this file raise privileges?
 *
 * Tests set-uid, set-gid and file capabilities, as far as they matter for the calling process. For
 * a script, pass its interpreter.
 *
 * Return: 1, 0 or a negative errno.
 */
int dep_image_privileged(int dirfd, const char *path);

/** struct dep_origin - origin of a new process slot */
struct dep_origin {
	u32 cause;		/* enum adept_cause */
	u32 parent_serial;	/* serial of the previous image, 0: none */
	u32 domain;		/* domain of the previous image (abi/session_file.h), 0: none */
	u32 described;		/* bytes that the injector has written to the descriptor ring */
};

/**
 * dep_inject() - inject into a process at its PTRACE_EVENT_EXEC stop
 * @pid:  the process; seized by this thread and in that stop
 *
 * On success a process slot is LIVE, and the process is detached and runs. On failure it is
 * unchanged, still traced and stopped (at the end of execve), or dead: see dep_inject_release().
 *
 * Return: 0, -EACCES with out->privileged (more privileges than its session), -ENOTSUP (32-bit
 * image), -EAGAIN (no free process slot), -ESRCH (it died) or another negative errno.
 */
int dep_inject(const struct dep_target *t, pid_t pid, const struct dep_origin *from,
	       struct dep_injected *out, struct dep_why *why);

/**
 * dep_inject_release() - let a stopped process run without the engine
 *
 * Return: 0, or -ESRCH if it was killed: then it must still be reaped.
 */
int dep_inject_release(pid_t pid);

/**
 * struct dep_pending - a process stopped at its first instruction
 * @pid:	SIGSTOP was sent to it during execve; it has stopped or is about to; need not be a
 *		child
 * @start_ns:	when it began, by the kernel's CLOCK_BOOTTIME; 0: not known
 * @has_uid:	@uid is valid: its real user at that time
 *
 * The pid may have been reused; the other fields detect that.
 */
struct dep_pending {
	pid_t pid;
	bool has_uid;
	uid_t uid;
	u64 start_ns;
};

/**
 * dep_attach() - inject into a process stopped at its first instruction
 *
 * On success it runs and is recorded. On failure it runs natively; but a process that may not be
 * traced (-EPERM) or was not at its first instruction (-EINVAL) is left unchanged.
 *
 * The program sees neither the stop nor its end. Its parent is notified of both, unless it has set
 * SA_NOCLDSTOP. A SIGSTOP from another process before this call cannot be distinguished and is
 * ended as well; a later one stops the program as usual.
 *
 * If the caller dies during the call the process is killed, since the engine is incomplete.
 *
 * Return: 0, -EINVAL, -ESRCH (no such process, or it has died), -EPERM (it may not be traced),
 * -EACCES with out->privileged, -ENOTSUP, -EAGAIN (no free process slot) or another negative errno.
 */
int dep_attach(const struct dep_target *t, const struct dep_pending *who, u32 cause,
	       struct dep_injected *out, struct dep_why *why);

/**
 * struct dep_follow - a thread that is about to call execve
 *
 * Owned by the caller; any number may exist. All fields but pid and tid are private.
 */
struct dep_follow {
	pid_t pid, tid;
	u32 slot, serial;
	int proc;		/* /proc directory of tid until it is traced, or -1 */
	bool child;		/* pid is a vfork child of the slot's process and uses its memory */
	u64 blocked_ns;		/* since when the tracer of a detach has had the thread; 0: no */
	bool letting_go;	/* PTRACE_INTERRUPT has been sent, in order to detach */
	bool counted;		/* counted in adept_session.following */
};

enum dep_follow_event {
	DEP_FOLLOW_PENDING,	/* no event yet: poll again */
	DEP_FOLLOW_EXECED,	/* the new image is recorded */
	DEP_FOLLOW_NATIVE,	/* the new image runs natively */
				/*
				 * (In both cases the old image is gone, unless it was a vfork
				 * child's: the parent uses it.)
				 */
	DEP_FOLLOW_CANCELLED,	/* execve failed: the old image continues */
	DEP_FOLLOW_DEAD,	/* the thread has died, usually with its process */
	DEP_FOLLOW_REFUSED,	/* ADEPT_EXEC_NATIVE was set: the execve is not followed */
};

/**
 * dep_follow_exec_begin() - answer ADEPT_EXEC_REQUEST of process slot @slot
 *
 * Traces the requesting thread and sets ADEPT_EXEC_READY, or ADEPT_EXEC_NATIVE if that is
 * impossible. A thread is traced only if it belongs to the slot's process, or to a child in that
 * process's memory, if it maps the session, and if it has no privileges that the session lacks: any
 * process may have obtained the session file.
 *
 * The kernel ignores the set-uid bits of a traced program unless the tracer has CAP_SYS_PTRACE. A
 * tracer without it does not follow an image that would get privileges.
 *
 * If the tracer of a detach or of a pause has the thread at the moment, the request is answered
 * later, by dep_follow_exec_poll(), but within some seconds.
 *
 * While anything is followed, the caller must not wait for "any child": that would consume the
 * stops of traced threads, and deaths that dep_follow_exec_poll() must see.
 *
 * Return: 0 if @f must be polled from now on (by this thread), -ESRCH if the thread is dead and
 * will not execute anything, or another negative errno.
 */
int dep_follow_exec_begin(struct dep_follow *f, const struct dep_target *t, u32 slot,
			  struct dep_why *why);

/**
 * dep_pidns_number() - the number that a process or thread has in its own pid namespace
 * @id:	its number in the caller's
 * @depth: receives the depth of its namespace below the one that /proc shows, from 1
 *
 * Return: 0 if it is not known.
 */
u32 dep_pidns_number(u32 id, u32 *depth);

/** dep_follow_exec_refuse() - answer ADEPT_EXEC_REQUEST with ADEPT_EXEC_NATIVE */
void dep_follow_exec_refuse(const struct dep_target *t, u32 slot);

/**
 * dep_follow_exec_lost() - clean up slot @slot after the death of a tracer
 *
 * Return: the previous enum adept_exec_state. READY has become NATIVE, since no tracer will be at
 * the stop. For all slots together use adept_following_lost().
 */
u32 dep_follow_exec_lost(const struct dep_target *t, u32 slot);

/**
 * dep_follow_exec_poll() - test for an event; does not wait
 * @out: filled in for DEP_FOLLOW_EXECED and DEP_FOLLOW_NATIVE; @out->pid for all events
 *
 * Call it after SIGCHLD and after a wakeup. After ADEPT_EXEC_FAILED it stops and detaches the
 * thread, and sets the slot's exec_state to ADEPT_EXEC_NONE. It does not reap a dead child of this
 * process.
 *
 * Return: an enum dep_follow_event; all but DEP_FOLLOW_PENDING end @f.
 */
int dep_follow_exec_poll(struct dep_follow *f, const struct dep_target *t,
			 struct dep_injected *out, struct dep_why *why);

/** dep_is_paused() - is the process of this slot paused, with all threads out of the engine? */
bool dep_is_paused(const struct dep_target *t, u32 slot);

#endif
