/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy: configuration and rules of depd.conf(5), and the BPF programs that stop new processes.
 */
#ifndef DEPD_POLICY_POLICY_H
#define DEPD_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/control/request.h"

#define POLICY_RULES_MAX	64
#define POLICY_STORE_DEFAULT	"/var/lib/adept"

/** struct policy_rule - one section [rule NAME] of depd.conf(5) */
struct policy_rule {
	char *name;
	/* Conditions: all that are set must hold.  Strings are fnmatch(3) patterns. */
	char *comm, *path, *cgroup, *argv;
	bool has_uid;
	uid_t uid;
	uint32_t every;		/* record each n-th matching process; 1: all */
	uint32_t at_once;	/* limit of open sessions of this rule; 0: no limit */
	bool terminal;		/* also processes in the foreground of a terminal */
	/* Parameters of its sessions */
	uint32_t flags;		/* ADEPT_S_* as in struct request */
	uint64_t ring_size, max_size;
	int level;
	enum request_transport transport;
	char *store;		/* directory for its stores; NULL: that of [depd] */
	bool shared;		/* @group gets read access to its stores */
	gid_t group;
};

/** struct depd_config - contents of depd.conf: section [depd] and the rules */
struct depd_config {
	char *store;		/* directory for stores of rules; default POLICY_STORE_DEFAULT */
	uint64_t max_store;	/* bytes of all stores there; 0: no limit; default 10 GiB */
	uint64_t max_age_s;	/* of a store; 0: no limit; default 30 days */
	uint64_t give_up_ms;	/* how long programs wait for an absent depd; default 30 s */
	uint32_t workers;	/* writer threads; 0: one per processor */
	uint32_t max_sessions;	/* limit of open sessions; 0: 1024 */
	uint32_t races;		/* limit of live analyses at the same time */
	struct policy_rule *rule;
	uint32_t nrules;
};

/** struct policy_error - position and text of an error in a configuration */
struct policy_error {
	unsigned int line, column;	/* from 1; 0: the file as a whole */
	char text[256];
};

/**
 * policy_read() - parse a configuration of at most 1 MiB
 *
 * Return: 0; -EINVAL: *e describes the error; -ENOMEM.  On an error @c is empty.
 */
int policy_read(struct depd_config *c, FILE *f, struct policy_error *e);
/**
 * policy_load() - policy_read() of the file @path
 * @must_exist: if false, a missing file means the defaults
 */
int policy_load(struct depd_config *c, const char *path, bool must_exist, struct policy_error *e);
void policy_free(struct depd_config *c);
/** policy_describe() - make a JSON array of the rules, which the caller frees */
char *policy_describe(const struct depd_config *c);

/** struct policy_process - properties of a process that rules are matched against */
struct policy_process {
	pid_t pid;
	uid_t uid;
	const char *comm, *cgroup;
	const char *path;	/* absolute name as executed: can be a link or a script */
	const char *exe;	/* file of the image; a rule's path is matched against both */
	const char *argv;	/* joined by spaces */
	bool foreground;	/* in the foreground of a terminal */
};

/** policy_match() - index of the first rule that @p matches, ignoring every and at_once; or -1 */
int policy_match(const struct depd_config *c, const struct policy_process *p);

/* ---- BPF programs, in daemon/pending ---- */

struct policy_watch;

/**
 * struct policy_exec - a pending process, which a rule may match
 *
 * It is stopped by SIGSTOP before its first instruction, or is about to be.  It stays pending until
 * dep_attach() and policy_attached(), or policy_let_go().  Strings are valid during the call.
 */
struct policy_exec {
	pid_t pid;
	uint64_t exec_ns;	/* CLOCK_MONOTONIC */
	uint64_t start_ns;	/* start time of the process; CLOCK_BOOTTIME */
	struct policy_process p;
};

/** struct policy_counts - numbers of execs by outcome */
struct policy_counts {
	uint64_t execs;
	uint64_t held;		/* stopped; of these: */
	uint64_t let_go;	/* released by policy_let_go() */
	uint64_t taken;		/* recorded: policy_attached() */
	uint64_t ended;		/* killed while pending */
	uint64_t given_up;	/* released after POLICY_HOLD_MS */
	/* Not stopped, though a rule may match: */
	uint64_t missed;	/* no room for an event or an entry */
	uint64_t failed;	/* the kernel did not stop them */
	uint64_t other_namespace;	/* in another pid namespace */
	uint64_t image32;	/* no x86-64 image */
	uint64_t privileged;	/* set-uid and the like */
	uint64_t traced;	/* traced by another process */
	uint64_t terminal;	/* in the foreground of a terminal */
};

/* No process stays pending for longer, even if depd hangs or dies. */
#define POLICY_HOLD_MS	10000

/**
 * policy_watch_open() - load and attach the BPF programs
 * @why: receives the error message, up to @why_size bytes
 *
 * First resumes processes that a dead depd left pending.  Starts the watchdog (pending/watchdog.c),
 * which resumes pending processes if depd dies and is no child of the caller.  The descriptors are
 * close-on-exec.  No other child of the caller may keep them: the programs stay attached as long as
 * one is open.
 *
 * Return: 0; -ENOSYS, -EPERM, -ENOENT..: not possible on this system.
 */
int policy_watch_open(struct policy_watch **w, char *why, size_t why_size);
/** policy_watch_rules() - stop processes that one of these rules may match; NULL: none */
int policy_watch_rules(struct policy_watch *w, const struct depd_config *c);
/** policy_watch_fd() - readable when there are events */
int policy_watch_fd(const struct policy_watch *w);
/**
 * policy_watch_read() - call @exec for each new pending process
 *
 * @exec decides by policy_match() and the rule's every and at_once.  Then or later policy_let_go()
 * or policy_attached() must be called for the process.  Processes that have ended are skipped.
 *
 * Return: number of calls, or a negative errno.
 */
int policy_watch_read(struct policy_watch *w, void (*exec)(void *arg, const struct policy_exec *e),
		      void *arg);
/**
 * policy_let_go() - let a pending process run natively, also after dep_attach() has failed
 *
 * Return: 0; -ESRCH: it is no longer pending.
 */
int policy_let_go(struct policy_watch *w, pid_t pid);
/** policy_attached() - remove the entry of a process that dep_attach() has resumed */
void policy_attached(struct policy_watch *w, pid_t pid);
/** policy_watch_missed() - number of processes that were not stopped for lack of room */
uint64_t policy_watch_missed(const struct policy_watch *w);
void policy_watch_counts(const struct policy_watch *w, struct policy_counts *n);
/** policy_watch_close() - detach the BPF programs and resume all pending processes */
void policy_watch_close(struct policy_watch *w);

#endif
