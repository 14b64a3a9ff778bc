/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which new processes are recorded, and how: rules, and the kernel telling of execs.
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
	/* All that are set must hold.  Patterns are fnmatch(3)'s. */
	char *comm, *path, *cgroup, *argv;
	bool has_uid;
	uid_t uid;
	uint32_t every;		/* of those that match, record each n-th; 1 = all */
	uint32_t at_once;	/* sessions of this rule at a time, 0 = no limit */
	bool terminal;		/* also processes in the foreground of a terminal */
	/* How */
	uint32_t flags;		/* ADEPT_S_* as in struct request */
	uint64_t ring_size, max_size;
	int level;
	enum request_transport transport;
	char *store;		/* directory for its stores, NULL: the configured one */
	bool shared;		/* @group may read them, too */
	gid_t group;
};

/** struct depd_config - depd.conf: [depd] and the rules */
struct depd_config {
	char *store;		/* directory for stores that rules make; POLICY_STORE_DEFAULT */
	uint64_t max_store;	/* bytes of all stores there, 0 = no limit; 10 GiB */
	uint64_t max_age_s;	/* 0 = no limit; 30 days */
	uint64_t give_up_ms;	/* how long programs wait for an absent depd; 30 s */
	uint32_t workers;	/* 0 = one per processor */
	uint32_t max_sessions;	/* 0 = the built-in limit */
	uint32_t races;		/* how many at a time are searched for races */
	struct policy_rule *rule;
	uint32_t nrules;
};

/** struct policy_error - where a configuration is wrong */
struct policy_error {
	unsigned int line, column;	/* from 1; 0: the file as a whole */
	char text[256];
};

/**
 * policy_read() - parse a configuration
 *
 * Return: 0, -EINVAL and *e, -ENOMEM; then @c is empty.  At most 1 MiB is read.
 */
int policy_read(struct depd_config *c, FILE *f, struct policy_error *e);
/**
 * policy_load() - policy_read() of the file @path
 * @must_exist: else a file that does not exist stands for the defaults
 */
int policy_load(struct depd_config *c, const char *path, bool must_exist, struct policy_error *e);
void policy_free(struct depd_config *c);
/** policy_describe() - the rules as a JSON array, malloc()ed */
char *policy_describe(const struct depd_config *c);

/** struct policy_process - what rules are held against */
struct policy_process {
	pid_t pid;
	uid_t uid;
	const char *comm, *cgroup;
	const char *path;	/* as it was executed, absolute: a link or a script, too */
	const char *exe;	/* where the image's file is; a rule's path fits either */
	const char *argv;	/* joined by spaces */
	bool foreground;	/* of a terminal */
};

/** policy_match() - the first rule that @p fits, without regard to every and at_once; or -1 */
int policy_match(const struct depd_config *c, const struct policy_process *p);

/* ---- watching: BPF ---- */

struct policy_watch;

/**
 * struct policy_exec - a process that a rule may want, held before its first instruction
 *
 * It is stopped (SIGSTOP), or about to be, and waits for dep_attach() and then policy_attached(),
 * or for policy_let_go().  Texts are valid during the call.
 */
struct policy_exec {
	pid_t pid;
	uint64_t exec_ns;	/* CLOCK_MONOTONIC */
	uint64_t start_ns;	/* when the process began; CLOCK_BOOTTIME */
	struct policy_process p;
};

/** struct policy_counts - what became of the execs that there were */
struct policy_counts {
	uint64_t execs;
	uint64_t held;
	uint64_t let_go;	/* ..by policy_let_go() */
	uint64_t taken;		/* ..by policy_attached() */
	uint64_t ended;		/* ..killed while they were held */
	uint64_t given_up;	/* ..let go after POLICY_HOLD_MS */
	/* Might fit, and were not stopped: */
	uint64_t missed;	/* no room to tell of them */
	uint64_t failed;	/* the kernel did not stop them */
	uint64_t other_namespace;	/* of process ids */
	uint64_t image32;	/* no x86-64 image */
	uint64_t privileged;	/* set-uid and the like */
	uint64_t traced;	/* by somebody else */
	uint64_t terminal;	/* in the foreground of a terminal */
};

/* Nobody is held for longer, whatever becomes of depd. */
#define POLICY_HOLD_MS	10000

/**
 * policy_watch_open() - load and attach the BPF programs
 * @why: of @why_size bytes; receives what is missing and what to do
 *
 * Lets those go first that an earlier depd held.  A process is forked (pending/watchdog.c) that
 * lets go whom depd holds if depd dies; it is no child of the caller's.  It keeps a copy of the
 * caller's memory, so there should be no sessions yet.  The caller's other children must not
 * keep its descriptors, which are close-on-exec: the programs would stay attached for as long
 * as one of them is open.
 *
 * Return: 0; -ENOSYS, -EPERM, -ENOENT.. : it cannot be done here.
 */
int policy_watch_open(struct policy_watch **w, char *why, size_t why_size);
/** policy_watch_rules() - hold what may fit one of these; NULL: nothing */
int policy_watch_rules(struct policy_watch *w, const struct depd_config *c);
/** policy_watch_fd() - readable when there are events */
int policy_watch_fd(const struct policy_watch *w);
/**
 * policy_watch_read() - call @exec for each process that is held
 *
 * @exec decides (policy_match(), every, at_once), and then or later one of the two below must
 * be called for it.  Who has ended already is left out.
 *
 * Return: how many there were, or a negative errno.
 */
int policy_watch_read(struct policy_watch *w, void (*exec)(void *arg, const struct policy_exec *e),
		      void *arg);
/**
 * policy_let_go() - let a held process run natively
 *
 * Also if dep_attach() has failed.  Return: 0; -ESRCH: it is not held any more.
 */
int policy_let_go(struct policy_watch *w, pid_t pid);
/** policy_attached() - dep_attach() has put the engine into it, and it runs */
void policy_attached(struct policy_watch *w, pid_t pid);
/** policy_watch_missed() - processes that were not stopped for want of room to tell of them */
uint64_t policy_watch_missed(const struct policy_watch *w);
void policy_watch_counts(const struct policy_watch *w, struct policy_counts *n);
/** policy_watch_close() - detach, and let all go that are held */
void policy_watch_close(struct policy_watch *w);

#endif
