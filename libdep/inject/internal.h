/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of inject/. */
#ifndef ADEPT_INJECT_INTERNAL_H
#define ADEPT_INJECT_INTERNAL_H

#include <stdio.h>
#include <sys/user.h>

#include "inject.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- address_space.c: an address space as /proc shows it ---- */

struct dep_map {
	u64 start, end;
	u64 dev, ino;
	bool exec;
};

/**
 * struct dep_address_space - address space of a process
 * @in_use: the process has run.  Otherwise all mappings were made by the kernel for a new image.
 */
struct dep_address_space {
	bool in_use;
	struct dep_map *map;	/* sorted by address */
	size_t n, cap;
	/* lines of /proc/PID/maps that the engine needs (struct adept_boot.low) */
	char *text;
	size_t text_len;	/* at most DEP_ADDRESS_SPACE_TEXT */
	u64 entry;		/* AT_ENTRY */
	u64 base;		/* AT_BASE: address of the interpreter; 0: none */
	u64 prog_lo, prog_hi;	/* extent of the main program */
	u64 vdso, vdso_size;	/* address and size of the vdso; 0: none */
	u64 brk;		/* start of the heap; with @in_use: its end */
	u64 start_stack, stack_lo;
	u64 stack_limit;	/* RLIMIT_STACK */
	u64 data_limit, data_hard_limit;	/* RLIMIT_DATA */
	bool unlimited;		/* no limit of memory, neither soft nor hard */
};

#define DEP_ADDRESS_SPACE_TEXT	(256u << 10)

/* Read the address space of @pid. @proc: dep_proc_open() of it; @rsp: its stack pointer */
int dep_address_space_read(struct dep_address_space *s, pid_t pid, int proc, u64 rsp,
			   struct dep_why *why);
/** dep_address_space_read_used() - dep_address_space_read() for a process that has run */
int dep_address_space_read_used(struct dep_address_space *s, pid_t pid, int proc,
				struct dep_why *why);
/* -EAGAIN, and the reason: the process is in the middle of an execve. */
int dep_executes(pid_t pid, struct dep_why *why);
/** dep_address_space_read_again() - read again what can change: mappings and limits */
int dep_address_space_read_again(struct dep_address_space *s, pid_t pid, int proc,
				 struct dep_why *why);
void dep_address_space_free(struct dep_address_space *s);
int dep_address_space_add(struct dep_address_space *s, u64 start, u64 end);
bool dep_address_space_is_free(const struct dep_address_space *s, u64 start, u64 end);
const struct dep_map *dep_address_space_find(const struct dep_address_space *s, u64 addr);
/* The end of the mapping at @addr; 0: there is none. */
u64 dep_address_space_end(const struct dep_address_space *s, u64 addr);
int dep_address_space_has_file(pid_t pid, u64 dev, u64 ino);

/* ---- privileges.c: privileges ---- */

#define DEP_STATUS_SIZE	4096	/* more than the part of a status file that is read */

/* Read the status file @name of a process or thread.  Return: 0 or a negative errno. */
int dep_status_read(int proc, const char *name, char text[DEP_STATUS_SIZE]);
/* Read @n numbers after @key, which begins with a line break: a name in the file has none. */
bool dep_status_numbers(const char *text, const char *key, int base, u64 *to, int n);

/*
 * May the engine be put into this stopped process? If @base is not known, only privileges from the
 * executed file are tested. @isolated: the process will map only its domain's part of the session,
 * so it may have fewer privileges. @found: NULL, or receives its privileges.
 *
 * Return: 0; -EACCES: its privileges are, or may be, more or fewer than allowed; -ESRCH: it died.
 */
int dep_judge(int proc, const struct dep_base *base, bool isolated, struct dep_base *found,
	      struct dep_why *why);
/**
 * dep_judge_thread() - may the engine be put into this thread, too?
 * @proc: dep_proc_open() of its process
 * @first: from dep_judge() of another thread of the process
 *
 * Return: 0; -EACCES: it has other privileges; -ENOTSUP: it has a seccomp filter; -ESRCH: it died.
 */
int dep_judge_thread(int proc, pid_t tid, const struct dep_base *first, struct dep_why *why);
/* Do programs traced by this process get the privileges of their files? */
bool dep_judge_raises(void);
/* Will a security module confine the next program of this thread? */
bool dep_judge_confined(void);

/* ---- target_memory.c ---- */

/**
 * dep_memory_open() - open the memory of a process that the caller may trace
 * @proc: dep_proc_open() of it
 *
 * Return: a descriptor, for the present image only; -ESRCH: the process has ended; or another
 * negative errno.
 */
int dep_memory_open(int proc);
/* Access memory. Return: 0; -EFAULT: not all of it can be accessed; or another negative errno. */
int dep_memory_read(int mem, u64 addr, void *buf, size_t len);
int dep_memory_write(int mem, u64 addr, const void *buf, size_t len);

/* ---- remote_syscall.c: system calls in a stopped process ---- */

/**
 * struct dep_stopped - how a process was stopped that the engine is put into
 * @held:	after execve, by SIGSTOP; otherwise it is at PTRACE_EVENT_EXEC
 * @sig:	signal that it was about to receive when it stopped; 0: none
 */
struct dep_stopped {
	bool held;
	int sig;
};

/**
 * struct dep_remote - a process stopped at the end of execve
 * @mem:	dep_memory_open() of it; owned by the caller
 * @regs:	registers at its first instruction
 * @insn:	address of a syscall instruction in its memory
 * @sig:	signal to queue again when the process continues; 0: none
 * @held:	stop signal received meanwhile, to be sent again
 * @event:	PTRACE_GETEVENTMSG of the last event
 * @until:	seconds of CLOCK_MONOTONIC at which to give up waiting for a stop; 0: never
 * @files:	a process with the same descriptors, if @pid is not the first thread of one; or 0
 * @running:	it has run before; job control may have stopped it
 * @stops:	a SIGSTOP that arrives meanwhile stops the process's own threads at once: no @held
 * @no_fd:	dep_pass_session_fd() has failed
 * @undo:	list of what it maps, or NULL
 */
struct dep_remote {
	pid_t pid;
	int mem;
	struct user_regs_struct regs;
	u64 insn;
	u64 sigmask;
	bool masked;
	bool poked;
	long saved_text;
	int sig;
	int held;
	unsigned long event;
	time_t until;
	pid_t files;
	bool running, stops, no_fd;
	struct dep_undo *undo;
};

int dep_remote_begin(struct dep_remote *r, pid_t pid, int mem, struct dep_why *why);
int dep_remote_begin_held(struct dep_remote *r, pid_t pid, int mem, int sig, struct dep_why *why);
/* dep_remote_begin() for a thread of a running process, which continues if the caller dies. */
int dep_remote_begin_running(struct dep_remote *r, pid_t tid, int mem, struct dep_why *why);
int dep_remote_continue(struct dep_remote *r, struct dep_why *why);
int dep_remote_find_syscall(struct dep_remote *r, const struct dep_address_space *s, bool use_vdso,
			    struct dep_why *why);
s64 dep_remote_call(struct dep_remote *r, long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);
int dep_remote_end(struct dep_remote *r, const struct user_regs_struct *regs);
/* Has the thread seccomp filters, more than this process?  They may kill it for a remote call. */
bool dep_has_more_filters(pid_t tid);
/*
 * Continue to the next system call stop.  Return: 0; -EFAULT: an instruction faults (without
 * @r->until); or another negative errno.
 */
int dep_remote_next_stop(struct dep_remote *r);
/* Address of a syscall instruction in the vdso; 0: there is none. */
u64 dep_vdso_call(int mem, const struct dep_address_space *s);

/* ---- starter_undo.c: what is removed from a running process if the injector dies ---- */

#define DEP_UNDO_MAPS	8

/**
 * struct dep_undo_list - read by the starter's code (starter.c), which knows its offsets
 * @pending:	size of a mapping that a system call of the starter is making, or 0
 * @caught:	instructions that were replaced by int3
 */
struct dep_undo_list {
	u64 pending, nmaps;
	struct adept_mapping map[DEP_UNDO_MAPS];
	u64 ncaught;
	struct adept_caught_pc caught[ADEPT_CAUGHT_PCS];
};

/** struct dep_undo - the list, and its address in the process; @mem: the process's memory */
struct dep_undo {
	struct dep_undo_list list;
	u64 at;
	int mem;
};

/* Before and after a system call that maps @size bytes; without r->undo they do nothing. */
void dep_undo_expect(const struct dep_remote *r, u64 size);
void dep_undo_made(const struct dep_remote *r, s64 ret);
/* Before the mapping at @start is unmapped. */
void dep_undo_unmaps(const struct dep_remote *r, u64 start);
/* List @n mappings that are there, as many as fit; return how many. */
u64 dep_undo_add(struct dep_undo *u, const struct adept_mapping *map, u64 n);
/* Before int3 is written to @c->pc. */
void dep_undo_catches(struct dep_undo *u, const struct adept_caught_pc *c);
/*
 * Address of @size unused bytes in the vdso's mapping, behind its code; 0: there are none.  They
 * may begin with @nbegin bytes at @begin.
 */
u64 dep_vdso_room(int mem, const struct dep_address_space *s, const void *begin, u64 nbegin,
		  u64 size);

/* ---- starter.c: a thread of the injector in a running process ---- */

#define DEP_STARTER_SECONDS	10	/* time for all that a starter does */

/**
 * struct dep_starter - a thread that makes system calls in a process whose own threads run
 * @r:		for dep_remote_call(); r.pid is 0 if there is no such thread
 * @code:	address of its code: unused bytes in the vdso's mapping, or @page
 * @page:	a page of its own, if the vdso has no room; 0: none
 * @vdso_call:	address of a syscall instruction in the vdso
 * @undo:	what it removes if the caller dies
 *
 * If the caller dies, the thread removes that and exits; only @page stays mapped.  All signals are
 * blocked in it.
 *
 * The process's own threads can change the code that it executes, so it gets DEP_STARTER_SECONDS
 * for all that it does.  Then functions return -ETIMEDOUT, and it is left alone.
 */
struct dep_starter {
	struct dep_remote r;
	u64 code, page, vdso_call;
	struct dep_undo undo;
};

/**
 * dep_starter_make() - create the thread
 * @pid: the process
 * @guest: a thread of the process, stopped and traced by the caller.  It makes two system calls.
 * @regs: with which it is to go on
 * @mem: dep_memory_open() of the process; the caller closes it after dep_starter_end()
 * @space: of the process
 *
 * The guest has @regs afterwards, also on failure; it is still stopped.
 */
int dep_starter_make(struct dep_starter *s, pid_t pid, pid_t guest,
		     const struct user_regs_struct *regs, int mem,
		     const struct dep_address_space *space, struct dep_why *why);
/* Where the thread continues to remove what dep_starter.undo lists. */
u64 dep_starter_undo_code(const struct dep_starter *s);
/**
 * dep_starter_own_files() - give the thread a table of descriptors of its own, which is empty
 *
 * Return: 0 or a negative errno: -ENOSYS with kernels before 5.9.
 */
int dep_starter_own_files(struct dep_starter *s);
/**
 * dep_starter_run() - let the thread run to a system call, which does not happen
 * @at: first instruction
 * @arg: value of rdi
 * @reported: the instruction after that system call
 *
 * Return: rdi of that call, or a negative errno.
 */
int dep_starter_run(struct dep_starter *s, u64 at, u64 arg, u64 reported);
/**
 * dep_starter_last() - dep_starter_run() for a thread that ends
 *
 * Return: its status, or a negative errno.
 */
int dep_starter_last(struct dep_starter *s, u64 at, u64 arg);
/* End the thread, and remove its code. */
void dep_starter_end(struct dep_starter *s);
/* The same, but wait until it has ended.  Return: 0 or a negative errno. */
int dep_starter_exit(struct dep_starter *s);

/* Results of dep_trace_wait(). */
enum dep_stop {
	DEP_STOP_NONE,		/* no event (only without @block) */
	DEP_STOP_DEAD,		/* dead, not reaped */
	DEP_STOP_SIGNAL,	/* about to receive *sig */
	DEP_STOP_GROUP,		/* stopped by job control, by *sig */
	DEP_STOP_INTERRUPT,	/* by PTRACE_INTERRUPT, or at the end of a group stop */
	DEP_STOP_SYSCALL,
	DEP_STOP_EXEC,
	DEP_STOP_OTHER,
};

/* Return: an enum dep_stop or a negative errno (-ECHILD: no such tracee). */
int dep_trace_wait(pid_t tid, bool block, int *sig);
/*
 * dep_trace_wait() for a process that can have several threads, until an event.  The kernel does
 * not report the end of its first thread while others run, so a call that blocks would not return.
 */
int dep_trace_wait_used(pid_t tid, int *sig);
/* Reap dead thread @tid of @pid, unless it is a child of this process, which the caller reaps. */
void dep_trace_reap(pid_t pid, pid_t tid);

/* ---- inject.c ---- */

/*
 * dep_inject() for a process at its exec stop, or stopped after it.  All injections use this
 * function.  It checks privileges before it changes anything in the process.  @how->sig becomes 0
 * when the signal is queued again.
 */
int dep_inject_stopped(const struct dep_target *t, pid_t pid, struct dep_stopped *how,
		       const struct dep_origin *from, struct dep_injected *out,
		       struct dep_why *why);

/* ---- pass_session_fd.c ---- */

s64 dep_pass_session_fd(struct dep_remote *r, const struct dep_target *t, int ours, u64 *probe,
			struct dep_why *why);

/* ---- memory_layout.c: the engine's memory ---- */

/**
 * struct dep_plan - memory mapped in the target, unmapped on failure
 * @locks: the process may lock its future mappings, by mlockall(2)
 */
struct dep_plan {
	struct dep_remote *r;
	struct dep_address_space *space;
	bool locks;
	struct { u64 start, size; } made[8];
	size_t nmade;
};

/**
 * dep_plan_fits() - does the process's memory limit have room for the engine?
 * @base: its privileges; with CAP_SYS_RESOURCE the engine raises the limits (engine/base/rlimit.c)
 */
int dep_plan_fits(const struct dep_address_space *s, const struct dep_target *t,
		  const struct dep_base *base, struct dep_why *why);
int dep_plan_make(struct dep_plan *p, const struct dep_target *t, u64 probe,
		  struct adept_boot *b, struct dep_why *why);
int dep_plan_session(struct dep_plan *p, const struct dep_target *t, int remote_fd,
		     struct adept_boot *b, struct dep_why *why);
int dep_plan_rings(struct dep_plan *p, const struct dep_target *t, int remote_fd,
		   const struct adept_boot *b, struct dep_why *why);
void dep_plan_undo(struct dep_plan *p);
/**
 * dep_make_engine() - map the engine's memory and the session, and write the engine's image
 *
 * On failure nothing is mapped.
 */
int dep_make_engine(struct dep_plan *p, const struct dep_target *t, struct adept_boot *b,
		    struct dep_why *why);

/* ---- paused.c: an engine in a process that runs natively ---- */

/**
 * dep_engine_find() - read the parameters of the engine in process @pid
 * @p: its process slot
 * @mem: dep_memory_open() of it
 *
 * Return: 0; -EAGAIN: it executes another program; -ESTALE: it has done so, and has another slot
 * now; -ENOTSUP: the engine is another version.
 */
int dep_engine_find(const struct dep_target *t, const struct adept_proc *p, pid_t pid, int mem,
		    struct adept_boot *boot, struct dep_why *why);

struct dep_attaching;

/* Find the engine of a paused process, and begin to resume. */
int dep_paused_begin(struct dep_attaching *a, struct dep_why *why);
/* Give the engine the table of threads, which is mapped and still empty. */
int dep_paused_prepare(struct dep_attaching *a, struct dep_why *why);
/* End the resume.  @done: the engine is ready for the threads; otherwise the pause goes on. */
void dep_paused_end(struct dep_attaching *a, bool done);

/* ---- inject_running.c, running_threads.c: into a running process ---- */

/**
 * struct dep_started - the engine in a running process, before the commit
 * @table:	the threads, @room entries; a copy is at @table_at in the process
 * @maps_at:	behind it, room for a copy of @space.text
 * @slot:	process slot; valid if @has_slot
 * @owner:	of the slot, while a paused process is resumed
 */
struct dep_started {
	struct dep_starter starter;
	struct dep_address_space space;
	struct dep_plan plan;
	struct adept_attached *table;
	u64 table_at, table_size, maps_at;
	u32 room, slot, serial;
	bool has_slot;
	struct dep_owner *owner;
};

/* ---- unmapper.c: a thread that unmaps the engine in a detach ---- */

struct dep_leaving;

/**
 * dep_unmapper_make() - create the thread, as @l->unmapper
 * @guest: a stopped thread of the process, with registers @regs, which it has afterwards, too
 *
 * Return: 0, or a negative errno if the process cannot create a thread.
 */
int dep_unmapper_make(struct dep_leaving *l, pid_t guest, const struct user_regs_struct *regs);
/* Unmap all of the engine, and end the thread.  Return: 0; 1: some of it is still mapped. */
int dep_unmapper_run(struct dep_leaving *l);
/* Free @l->unmapper.  A thread that has not ended goes on alone, and ends. */
void dep_unmapper_free(struct dep_leaving *l);

/* ---- rseq.c ---- */

/* 0, or an error if the stopped thread uses restartable sequences. */
int dep_refuse_rseq(int mem, pid_t tid, struct dep_why *why);
/* 0, or an error if a file that the process has mapped has restartable sequences. */
int dep_refuse_rseq_sections(int proc, pid_t pid, struct dep_why *why);
bool dep_has_rseq_section(int fd);

/* ---- running_threads.c ---- */

/* Set where the engine finds the table of threads, and the starter's code. */
void dep_tell_table(struct dep_attaching *a);
/* Fill in the table of threads. */
int dep_fill_table(struct dep_attaching *a, struct dep_why *why);
/* Complete it: in which mappings their stacks are. */
void dep_find_stacks(struct dep_attaching *a);
/* Move the stopped threads into the engine, and detach from them. */
void dep_move_threads(struct dep_attaching *a);

/* ---- process_slot.c: process slots ---- */

struct adept_proc *dep_slot(const struct dep_target *t, u32 i);
/** dep_slot_claim() - claim a free slot; @domain: 1 + slot of the domain's founder, 0: no domain */
int dep_slot_claim(const struct dep_target *t, u32 domain, u32 *slot, struct dep_why *why);
/* pidns.c: ADEPT_NS_* of a process that the caller traces. */
u32 dep_pidns_of(pid_t pid);

void dep_slot_live(const struct dep_target *t, u32 slot, pid_t pid, u32 ns,
		   const struct dep_origin *from, u32 *serial);
struct dep_owner;

/** dep_slot_own() - own the slot's leave_tracer; NULL: no memory.  Free with dep_owner_free() */
struct dep_owner *dep_slot_own(const struct dep_target *t, const struct adept_proc *p);
/** dep_slot_domain() - domain of the slot's process: 1 + slot of the domain's founder; 0: none */
u32 dep_slot_domain(const struct dep_target *t, u32 slot);
void dep_slot_drop(const struct dep_target *t, u32 slot);

/* ---- exec_file.c: files to be executed ---- */

enum dep_image_kind {
	DEP_IMAGE_ELF64,
	DEP_IMAGE_ELF32,
	DEP_IMAGE_BAD_ELF,
	DEP_IMAGE_TEXT,		/* no #!: executed by /bin/sh */
	DEP_IMAGE_OTHER,	/* possibly known to binfmt_misc */
};

/** struct dep_image - what execve of a file executes */
struct dep_image {
	enum dep_image_kind kind;
	bool privileged;
	char file[4096];	/* the file, or the interpreter that its #! lines lead to */
};

int dep_image_find(const char *name, char *path, size_t size, struct dep_why *why);
bool dep_image_interpreter(char *line, char *path, size_t size);

/** struct dep_cred - credentials for an execve */
struct dep_cred {
	uid_t uid, euid;
	gid_t gid, egid;
	int no_new_privs;
};

int dep_image_raises(int fd, const struct dep_cred *who);
int dep_image_examine(const char *path, struct dep_image *img, struct dep_why *why);

/* ---- exec_request.c: another process's execve ---- */

/** struct dep_task - a thread as /proc/TID/status shows it */
struct dep_task {
	pid_t pid, parent;
	bool dead;		/* the thread is dead, or is dying and has no memory */
	struct dep_cred cred;
};

/** struct dep_exec_args - arguments of an execveat; path is an address in the thread's memory */
struct dep_exec_args {
	u64 path;
	s32 dirfd;
	u32 flags;
};

/* Read /proc/TID/status; @proc: dep_proc_open() of the thread */
int dep_task_read(struct dep_task *t, int proc);
/** dep_task_shares() - does thread @tid, read into @t, run in the memory of process @pid? */
bool dep_task_shares(const struct dep_task *t, pid_t tid, pid_t pid);
/**
 * dep_request_privileged() - would this execve raise the thread's privileges?
 * @file: receives the name of the file that raises them
 *
 * Return: false also if that cannot be found out: then execve usually fails, too.
 */
bool dep_request_privileged(const struct dep_task *t, pid_t tid, const struct dep_exec_args *args,
			    char *file, size_t size);

#endif
