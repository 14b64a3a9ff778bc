/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Getting the engine into a process: launch, and following execve.
 *
 * A process is taken at the stop right after execve, when the new image is mapped
 * and none of its instructions has run.  The injector makes the memory the engine
 * needs, writes the engine's image (the engine image) there, points the instruction pointer
 * to it and lets go: ptrace is not in the way while the program runs.  Environment,
 * auxiliary vector, file descriptors, signal state, stack and the addresses of the
 * program's own mappings are those of a native run.
 *
 * Functions return 0 or a negative errno and then leave a sentence for people in
 * *why, which may be NULL.
 *
 * ptrace(2) binds a traced thread to the thread that seized it, so all calls for
 * one struct dep_follow must be made from the same thread.  dep_launch() and dep_attach()
 * have let go when they return, and may be called from any thread.
 */
#ifndef ADEPT_INJECT_INJECT_H
#define ADEPT_INJECT_INJECT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "libdep/abi/session_file.h"

#define DEP_WHY_SIZE 512

/** struct dep_why - one sentence: what went wrong */
struct dep_why {
	char text[DEP_WHY_SIZE];
};

/* struct dep_target.flags */
#define DEP_T_NO_VDSO	0x01u	/* do as if there were no vdso (for tests) */
#define DEP_T_NO_PROC	0x02u	/* do as if the target had no /proc (for tests) */

#define DEP_LABEL_SIZE 256

/**
 * struct dep_base - privileges of the first process of a session when it joined
 * @known:	there has been one
 * @uid, @gid:	real, effective, saved, of the file system
 * @caps:	permitted capabilities
 * @ns_dev, @ns_ino: its user namespace
 * @label:	by which a security module confines it
 *
 * An image that has more of them is not recorded.  Plain data, by the kernel's word: see
 * privileges.c.
 */
struct dep_base {
	u32 known;
	u32 uid[4], gid[4];
	u32 pad;
	u64 caps;
	u64 ns_dev, ns_ino;
	char label[DEP_LABEL_SIZE];
};

/** struct dep_peer - who is at the other end of a socket, as the kernel says */
struct dep_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd;		/* SO_PEERPIDFD; -1: this kernel has none */
};

/** dep_base_self() - the calling process's */
int dep_base_self(struct dep_base *base, struct dep_why *why);
/**
 * dep_base_peer() - those of the process that has connected
 *
 * Return: 0; -EACCES if it has privileges that its user has not, or others than when it connected;
 * -ESRCH if it has ended.
 */
int dep_base_peer(struct dep_base *base, const struct dep_peer *peer, struct dep_why *why);

/** dep_proc_open() - the folder of a process, or thread, in /proc; a negative errno */
int dep_proc_open(pid_t pid);
/**
 * dep_judge_member() - may the process be one of a session with this base?
 * @proc: dep_proc_open() of it; for a running process the answer is one of this moment
 *
 * Return: 0, -EACCES or -ESRCH.
 */
int dep_judge_member(int proc, const struct dep_base *base, struct dep_why *why);

/**
 * struct dep_target - what is injected, and the session it belongs to
 * @session:	the collector's mapping of the session file, from its start to desc_off
 *		at least; it must outlive the target
 * @fd:		the session file in this process, open as long as anything is injected
 * @ring_fd:	the kernel module's rings in this process, -1: there are none; to be set
 *		after dep_target_init()
 * @collector:	a process besides the caller that is never traced, whatever a slot says: it has
 *		the session mapped, too; 0: none; to be set after dep_target_init()
 * @ptracer:	a process that Yama would not let trace what is recorded, and that must: programs
 *		name it by PR_SET_PTRACER; 0: none; to be set after dep_target_init()
 * @flags:	DEP_T_*, may be changed after dep_target_init()
 * @base:	what images are judged against.  dep_target_init() takes the caller's, with which
 *		programs are launched; a caller that collects for another process sets it.  While it
 *		is not known no execve is followed; dep_attach() tells it
 *
 * The rest is private: copies of what recorded processes could overwrite.
 */
struct dep_target {
	struct adept_session *session;
	int fd, ring_fd;
	pid_t collector;
	pid_t ptracer;
	u32 flags;
	struct dep_base base;

	const unsigned char *image;
	u64 image_len, image_mem, image_entry;
	struct adept_session layout;
	u64 dev, ino;
};

/** struct dep_injected - what became of a process */
struct dep_injected {
	pid_t pid;
	bool native;		/* runs without the engine; *why tells the reason */
	bool privileged;	/* ..which is that it has more privileges than its session */
	u32 proc;		/* slot, if not native */
	u32 serial;
	struct adept_boot boot;	/* where everything was put */
	struct dep_base base;	/* what it has, if it is not native */
};

/**
 * dep_target_init() - prepare for injecting into processes of a session
 * @session: as described at struct dep_target; filled in, and nothing recorded yet
 * @fd:      the session file
 *
 * Takes the engine's image that is built into the library.
 */
int dep_target_init(struct dep_target *t, struct adept_session *session, int fd,
		    struct dep_why *why);

/**
 * dep_target_adopt() - prepare for injecting into a session that is recorded already
 * @layout: the session file's first page as it was made; the shared one may be anything
 *
 * The target's base is the caller's to set.
 */
int dep_target_adopt(struct dep_target *t, struct adept_session *session,
		     const struct adept_session *layout, int fd, struct dep_why *why);

/**
 * struct dep_caller_state - process state as our caller made it, for the launched program
 *
 * A collector blocks and handles signals, opens files and raises limits; what it
 * launches shall see none of that.  Save early in main(), before any of it.
 */
struct dep_caller_state {
	sigset_t mask;
	u64 ignored;		/* bit n-1: signal n is ignored */
	struct rlimit nofile;
	int *fds;		/* open at that time, ascending; to be inherited */
	size_t nfds;
};

int dep_caller_state_save(struct dep_caller_state *n);
void dep_caller_state_free(struct dep_caller_state *n);

/* Actions of any signal, those that libc uses itself included. */
bool dep_signal_ignored(int sig);
/** dep_signal_set() - ignore @sig, or give it its default action */
void dep_signal_set(int sig, bool ignored);

#define DEP_LAUNCH_NO_ASLR	0x01u	/* without address space randomisation */

/** struct dep_launch - what to run */
struct dep_launch {
	char *const *argv;		/* argv[0] is looked up as execvp(3) does */
	char *const *envp;		/* NULL: the environment of the caller */
	const struct dep_caller_state *caller_state;	/* NULL: as it is here */
	u32 flags;			/* DEP_LAUNCH_* */
};

/**
 * dep_launch() - run a command under the engine
 * @out: filled in on success
 *
 * The program is a child of the calling process, in its process group.  An image that
 * execve gives privileges to (set-uid and the like) is run natively: out->native and
 * out->privileged.
 *
 * Return: 0; -ENOENT, -EACCES, -ENOEXEC, -ENOTSUP (32-bit program), -EPERM (ptrace
 * refused) or another negative errno, and then there is no child.
 */
int dep_launch(const struct dep_target *t, const struct dep_launch *l,
	       struct dep_injected *out, struct dep_why *why);

/**
 * dep_image_privileged() - does execve of this file raise privileges?
 *
 * Set-uid, set-gid and file capabilities, as far as they would change something for
 * the calling process.  For scripts ask about their interpreter.
 *
 * Return: 1, 0 or a negative errno.
 */
int dep_image_privileged(int dirfd, const char *path);

/** struct dep_origin - how a new process slot comes about */
struct dep_origin {
	u32 cause;		/* enum adept_cause */
	u32 parent_serial;	/* of the image before, 0: none */
	u32 domain;		/* that the image before was in (abi/session_file.h), 0: none */
};

/**
 * dep_inject() - inject into a process at its PTRACE_EVENT_EXEC stop
 * @pid:  the process; it was seized by this thread and is in that stop
 *
 * On success a process slot is LIVE, the process is detached and runs.  On failure
 * it is as it was, still traced and stopped (at the end of execve), or dead: see
 * dep_inject_release().
 *
 * Return: 0, -EACCES and out->privileged (it has more privileges than its session), -ENOTSUP
 * (32-bit image), -EAGAIN (no free process slot), -ESRCH (it died) or another negative errno.
 */
int dep_inject(const struct dep_target *t, pid_t pid, const struct dep_origin *from,
	       struct dep_injected *out, struct dep_why *why);

/**
 * dep_inject_release() - let a stopped process run without the engine
 *
 * Return: 0, or -ESRCH if it was killed; it must still be waited for, then.
 */
int dep_inject_release(pid_t pid);

/**
 * struct dep_pending - a process that is held at its first instruction
 * @pid:	stopped by SIGSTOP that was sent to it during execve (or about to stop); need not be
 *		a child
 * @start_ns:	when it began, CLOCK_BOOTTIME, as the kernel has it; 0: not known
 * @has_uid:	and @uid was its real user then
 *
 * A number says nothing of whose it is now: the rest does.
 */
struct dep_pending {
	pid_t pid;
	bool has_uid;
	uid_t uid;
	u64 start_ns;
};

/**
 * dep_attach() - inject into a process that is held at its first instruction
 *
 * On success it runs, recorded, and is stopped no longer; nor is it after a failure, when it
 * runs natively, unless it may not be traced (-EPERM) or was not at its first instruction
 * (-EINVAL): such a process is left as it was.
 *
 * The program sees neither the stop nor what ends it; its parent is told of both, unless it
 * has set SA_NOCLDSTOP.  A SIGSTOP that somebody else sends before this begins cannot be told
 * from the one that holds it, and ends as well; one that comes later stops the program as
 * always.
 *
 * If the caller dies in the middle the process dies, too, since half of the engine is in it.
 *
 * Return: 0, -EINVAL, -ESRCH (there is no such process, or it has died), -EPERM (it may not be
 * traced), -EACCES and out->privileged, -ENOTSUP, -EAGAIN (no free process slot) or another
 * negative errno.
 */
int dep_attach(const struct dep_target *t, const struct dep_pending *who, u32 cause,
	       struct dep_injected *out, struct dep_why *why);

/**
 * struct dep_follow - one thread that is about to call execve
 *
 * Owned by the caller; any number may exist at a time.  Private but for pid and tid.
 */
struct dep_follow {
	pid_t pid, tid;
	u32 slot, serial;
	int proc;		/* of tid, until it is traced; -1: none */
	bool child;		/* pid is a vfork child of the slot's process, in its memory */
	bool letting_go;	/* PTRACE_INTERRUPT is under way */
	bool counted;		/* in the session's following */
};

enum dep_follow_event {
	DEP_FOLLOW_PENDING,	/* nothing yet, poll again */
	DEP_FOLLOW_EXECED,	/* the new image is recorded, the old one is gone.. */
	DEP_FOLLOW_NATIVE,	/* the new image runs unrecorded, the old one is gone.. */
				/* ..but for that of a vfork child: its parent lives in it */
	DEP_FOLLOW_CANCELLED,	/* execve failed, the old image goes on */
	DEP_FOLLOW_DEAD,	/* the thread is gone; as a rule with its process */
};

/**
 * dep_follow_exec_begin() - answer ADEPT_EXEC_REQUEST of process slot @slot
 *
 * Traces the thread that asked and sets ADEPT_EXEC_READY, or ADEPT_EXEC_NATIVE if
 * that is impossible.  A thread is only traced if it is one of the slot's process, or
 * of a child that shares that process's memory, if it maps the session, and if it has no
 * privileges that the session has not: who maps the session may have got it from anybody.
 *
 * The kernel does not honour set-uid bits of a traced program, unless the tracer has
 * CAP_SYS_PTRACE.  One that has not does not follow an image that would get privileges.
 *
 * While anything is followed the caller must not wait for "any child": it would take
 * the reports of traced threads, and deaths that dep_follow_exec_poll() must see.
 *
 * Return: 0 if @f must be polled from now on (by this thread), -ESRCH if the thread is
 * dead and executes nothing any more, or another negative errno.
 */
int dep_follow_exec_begin(struct dep_follow *f, const struct dep_target *t, u32 slot,
			  struct dep_why *why);

/** dep_follow_exec_refuse() - answer ADEPT_EXEC_REQUEST with ADEPT_EXEC_NATIVE */
void dep_follow_exec_refuse(const struct dep_target *t, u32 slot);

/**
 * dep_follow_exec_lost() - what a tracer that is gone has left of what it followed in @slot
 *
 * Return: the enum adept_exec_state that there was.  READY has become NATIVE: nobody will be at
 * the stop.  For all slots together there is adept_following_lost().
 */
u32 dep_follow_exec_lost(const struct dep_target *t, u32 slot);

/**
 * dep_follow_exec_poll() - see what became of it; does not wait
 * @out: filled in for DEP_FOLLOW_EXECED and DEP_FOLLOW_NATIVE
 *
 * To be called after SIGCHLD and after the wakeup rang.  With ADEPT_EXEC_FAILED
 * the thread is stopped, let go, and the slot's exec_state set to ADEPT_EXEC_NONE.
 * A dead child of this process is left for the caller to wait for.
 *
 * Return: an enum dep_follow_event; everything but DEP_FOLLOW_PENDING ends @f.
 */
int dep_follow_exec_poll(struct dep_follow *f, const struct dep_target *t,
			 struct dep_injected *out, struct dep_why *why);

#endif
