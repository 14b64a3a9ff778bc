/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policy: configuration and rules of depd.conf(5). */
#ifndef DEPD_POLICY_POLICY_H
#define DEPD_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/control/request.h"

#define POLICY_RULES_MAX	64
#define POLICY_SESSIONS_MAX	1024u	/* limit of open sessions; a depd adopts no more */
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
	bool terminal;		/* match also processes in the foreground of a terminal */
	/* Parameters of the rule's sessions */
	uint32_t flags;		/* ADEPT_S_*: flags of the session */
	uint64_t ring_size, max_size;
	/* keep only the newest part of this size, and of this age if not 0; 0: keep all */
	uint64_t last_bytes, last_ns;
	bool last_on_disk;	/* with @last_bytes: in files of the store */
	enum dep_keep_if keep_if;	/* how the process must end for the store to stay */
	int level;
	enum request_transport transport;
	char *store;		/* directory for the rule's stores; NULL: depd_config.store */
	bool shared;		/* @group gets read access to the rule's stores */
	gid_t group;
};

/** struct depd_config - contents of depd.conf: section [depd] and the rules */
struct depd_config {
	char *store;		/* directory for stores of rules; default POLICY_STORE_DEFAULT */
	uint64_t max_store;	/* limit of the bytes in @store; 0: no limit; default 10 GiB */
	uint64_t max_age_s;	/* limit of a store's age; 0: no limit; default 30 days */
	uint64_t give_up_ms;	/* how long programs wait for an absent depd; default 30 s */
	uint32_t workers;	/* writer threads, at most 4; 0: one per processor */
	uint32_t max_sessions;	/* limit of open sessions; 0: POLICY_SESSIONS_MAX */
	uint32_t races;		/* limit of sessions with live race detection; 0: none */
	/* limit of the sum of all @last_bytes of a user; 0: an eighth of the machine's memory */
	uint64_t max_last;
	struct policy_rule *rule;
	uint32_t nrules;
};

/** struct policy_error - position and text of an error in a configuration */
struct policy_error {
	unsigned int line, column;	/* counted from 1; 0: error of the whole file */
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
/** policy_max_last() - get @c->max_last, or its default on this machine */
uint64_t policy_max_last(const struct depd_config *c);
/** policy_describe() - make a JSON array of the rules, which the caller frees */
char *policy_describe(const struct depd_config *c);

/** struct policy_process - properties of a process that rules are matched against */
struct policy_process {
	pid_t pid;
	uid_t uid;
	const char *comm, *cgroup;
	const char *path;	/* absolute name as executed: can be a link or a script */
	const char *exe;	/* executed file; a rule's path is matched with @path and @exe */
	const char *argv;	/* arguments joined by spaces */
	bool foreground;	/* the process is in the foreground of a terminal */
};

/**
 * policy_match() - find the first rule that matches @p, ignoring its members every and at_once
 *
 * Return: the number of the rule; -1: no rule matches.
 */
int policy_match(const struct depd_config *c, const struct policy_process *p);

#endif
