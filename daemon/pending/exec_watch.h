/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs that stop new processes which a rule may match (exec.bpf.c). */
#ifndef DEPD_PENDING_EXEC_WATCH_H
#define DEPD_PENDING_EXEC_WATCH_H

#include "daemon/policy/policy.h"

struct exec_watch;

/**
 * struct pending_exec - a pending process, which a rule may match
 *
 * The process is stopped by SIGSTOP before its first instruction, or is about to be.  It stays
 * pending until exec_watch_release(), or dep_attach() and exec_watch_attached(), is called.
 * Strings are valid during the callback of exec_watch_read().
 */
struct pending_exec {
	pid_t pid;
	uint64_t exec_ns;	/* time of the exec; CLOCK_MONOTONIC */
	uint64_t start_ns;	/* start time of the process; CLOCK_BOOTTIME */
	struct policy_process p;
};

/** struct exec_watch_counts - numbers of execs by outcome */
struct exec_watch_counts {
	uint64_t execs;
	uint64_t stopped;	/* stopped by the BPF program, including the next four: */
	uint64_t released;	/* resumed by exec_watch_release() */
	uint64_t attached;	/* recorded: exec_watch_attached() */
	uint64_t ended;		/* ended while stopped */
	uint64_t given_up;	/* resumed by the watchdog, after PENDING_MS */
	/* Processes that were not stopped though a rule may match, by reason: */
	uint64_t missed;	/* no room in the ring buffer or the map */
	uint64_t failed;	/* the signal could not be sent */
	uint64_t other_namespace;	/* in another pid namespace */
	uint64_t image32;	/* not an x86-64 program */
	uint64_t privileged;	/* raises privileges, such as set-uid */
	uint64_t traced;	/* traced by another process */
	uint64_t terminal;	/* in the foreground of a terminal */
};

/* Limit of the time for which a process can be pending, even if depd hangs or dies. */
#define PENDING_MS	10000

/**
 * exec_watch_open() - load and attach the BPF programs
 * @why: receives the error message, up to @why_size bytes
 *
 * First resumes processes that a dead depd left pending.  Starts the watchdog (watchdog.c), which
 * resumes pending processes if depd dies; it is no child of the caller.  All descriptors are
 * close-on-exec.  No child of the caller may keep one open: the BPF programs would stay attached.
 *
 * Return: 0; -ENOSYS, -EPERM, -ENOENT..: not possible on this system.
 */
int exec_watch_open(struct exec_watch **w, char *why, size_t why_size);
/** exec_watch_rules() - set the rules by which processes are stopped; NULL: no rules */
int exec_watch_rules(struct exec_watch *w, const struct depd_config *c);
/** exec_watch_fd() - get the descriptor that is readable when there are events */
int exec_watch_fd(const struct exec_watch *w);
/**
 * exec_watch_read() - call @exec for each new pending process
 *
 * @exec decides by policy_match() and the rule's members every and at_once.  It must call
 * exec_watch_release() or exec_watch_attached() for the process, or arrange a later call.
 * Processes that have ended are skipped.
 *
 * Return: number of calls, or a negative errno.
 */
int exec_watch_read(struct exec_watch *w, void (*exec)(void *arg, const struct pending_exec *e),
		    void *arg);
/**
 * exec_watch_release() - let a pending process run unrecorded; also after dep_attach() has failed
 *
 * Return: 0; -ESRCH: the process is no longer pending.
 */
int exec_watch_release(struct exec_watch *w, pid_t pid);
/** exec_watch_attached() - remove the entry of a process that dep_attach() has resumed */
void exec_watch_attached(struct exec_watch *w, pid_t pid);
/** exec_watch_missed() - number of processes that were not stopped for lack of room */
uint64_t exec_watch_missed(const struct exec_watch *w);
void exec_watch_counts(const struct exec_watch *w, struct exec_watch_counts *n);
/** exec_watch_close() - detach the BPF programs and resume all pending processes */
void exec_watch_close(struct exec_watch *w);

#endif
