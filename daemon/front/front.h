/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: root's depd.
 *
 * It accepts connections, gets the peer's credentials from the kernel, and passes each connection
 * to the instance of exactly these credentials (link.h), which it starts if needed.  It owns rules,
 * configuration, accounts, session ids and metrics.
 *
 * For safety it reads no request of a client, opens no file of a user, maps no session file, traces
 * no process, and never waits for an instance.
 */
#ifndef DEPD_FRONT_FRONT_H
#define DEPD_FRONT_FRONT_H

#include "daemon/base/loop.h"
#include "daemon/pending/exec_watch.h"
#include "daemon/policy/options.h"
#include "daemon/link/link.h"

#define FRONT_INSTANCES_MAX	1024u
#define FRONT_UNTAKEN_MAX	16u	/* limit of clients that an instance has not acknowledged */
#define FRONT_SESSIONS_MAX	1024u
#define FRONT_WAIT_NS		10000000000ull	/* timeout for an instance to accept a client */
#define FRONT_ATTACH_NS		2000000000ull	/* timeout for answers to LINK_ATTACH (record) */

/** struct waiting - a client that has not been sent to an instance yet */
struct waiting {
	struct waiting *next;
	int fd;
	uint64_t since_ns;
};

enum instance_state {
	INSTANCE_RUNNING,
	INSTANCE_LEAVING,	/* the idle process has been asked to exit */
	INSTANCE_ENDED,		/* the process has ended; the timer `again` restarts it if needed */
};

/** struct instance - the front's view of a depd with a user's credentials */
struct instance {
	struct instance *next;
	struct front *front;
	struct user user;
	char name[64];		/* name of the instance's directory in RUNDIR/user */
	struct account *account;
	enum instance_state state;

	pid_t pid;
	int pidfd, sock, log;
	struct loop_watch ready, gone, says;
	struct loop_timer again;
	uint64_t start_ns, heard_ns;	/* start of the process; time of its last report */
	unsigned int failures;	/* failures in a row; each doubles the delay before a restart */
	struct link_page *page;
	bool config_due, end_due;

	struct waiting *first, **last;
	uint32_t nwaiting;
	uint64_t sent, got;	/* clients sent to this process; clients that it acknowledged */
	uint32_t nattaches;	/* unanswered attach requests, for processes stopped at exec */
	uint64_t attached;	/* processes stopped at exec that this instance has attached */

	struct link_report report;
	uint64_t memory;	/* resident memory in bytes, read from the kernel */
	uint64_t cpu_ns;	/* processor time, read from the kernel */
	char line[1536];	/* incomplete log line */
	size_t nline;
	uint32_t nlines, nbytes, nmessages;	/* received in this second */
	uint64_t lines_lost;
	bool cut;		/* the log line was too long: skip the rest of it */
};

/**
 * struct instance_events - what instances report to the rest of the front
 * @attached: called with the instance's answer about a pending process
 * @lost: the instance's process has ended: release the processes it was asked to record
 * @reload: as front_reload(), for root's instance
 */
struct instance_events {
	void (*attached)(struct instance *i, const struct link_result *r);
	void (*lost)(struct instance *i);
	int (*reload)(struct front *f, char *why);
};

struct front {
	struct loop *loop;
	const struct instance_events *events;
	const struct options *given;
	char rundir[PATH_MAX];
	int lock, users, ids;	/* descriptors of RUNDIR/lock, RUNDIR/user, RUNDIR/next-id */
	uint32_t next_id;
	struct depd_config config;
	char *rules_text;
	struct fdstore *fdstore;
	struct accounts *accounts;
	struct instance *instances;
	uint32_t ninstances, nwaiting;
	uint64_t start_ns, start_realtime_ns;
	uint64_t accepted, refused;

	struct loop_watch listen, signals;
	struct loop_timer second;
	struct metrics *metrics;
	bool accept_paused, shutting_down;
	uint64_t end_ns;		/* when the front exits, even if instances still run */
	struct link_counters past;	/* sums of instance processes that have ended */
	char exe[PATH_MAX];		/* depd's own file, which rules never record */

	struct exec_watch *watch;
	struct loop_watch policy_ready;
	char policy_error[CONTROL_WHY];
	uint64_t matches, missed;
	uint64_t unsaid;		/* unrecorded processes that were not logged (rate limit) */
	uint64_t *rule_seen;
	struct attach *attaches;
	struct loop_timer late;
	uint32_t last_attach;
};

/** front_run() - run root's depd.  Return: exit status of the process */
int front_run(const struct options *given);
/** front_reload() - read the configuration again; on an error the old one stays in effect */
int front_reload(struct front *f, char *why);

/* ---- configuration of instances: instance_config.c ---- */

/** front_config() - make the part of the configuration that an instance of @u gets */
void front_config(const struct front *f, const struct user *u, struct link_config *out);
/** front_rules_fd() - make a memfd with the rules' text.  Return: memfd or negative errno */
int front_rules_fd(const struct front *f);

/* ---- directories of instances in RUNDIR/user, records of their owners: directories.c ---- */

/** dir_open() - open RUNDIR/user, which root owns.  Return: a descriptor or a negative errno */
int dir_open(const char *rundir);
/** dir_name() - make the name of the directory in RUNDIR/user for the credentials @u */
void dir_name(const struct user *u, char *name, size_t size);
/** dir_make() - create the user's directory, and root's record of the user's credentials */
int dir_make(int users, const char *name, const struct user *u);
/** dir_drop() - remove record and directory.  Return: 0; -ENOTEMPTY: the directory has files */
int dir_drop(int users, const char *name);
/** dir_exists() - true if this front or an earlier one has created the directory */
bool dir_exists(int users, const char *name);
/** dir_left() - call @one with the owner of each directory, also of those without a record */
void dir_left(int users, void (*one)(void *arg, uid_t uid), void *arg);
/** dir_each() - call @one with the credentials in each record; remove damaged records */
void dir_each(int users, void (*one)(void *arg, const struct user *u), void *arg);
/** dir_store() - create STORE/UID for stores of rules.  Return: 0 or a negative errno */
int dir_store(const char *store, const struct user *u, char *path, size_t size);

/* ---- session ids: session_ids.c ---- */

/** ids_open() - read the next session id from RUNDIR/next-id */
int ids_open(struct front *f);
/** ids_lease() - reserve up to @n session ids for an instance */
struct link_ids ids_lease(struct front *f, uint32_t n);

/* ---- instances: instances.c ---- */

/**
 * instance_get() - find or start the instance of these credentials
 *
 * Return: 0; -EUSERS: too many instances of this person; -EAGAIN: too many instances in all; or
 * another negative errno.
 */
int instance_get(struct front *f, const struct user *u, struct instance **out);
/** instance_client() - send a client to the instance, or queue it; on success takes over @fd */
int instance_client(struct instance *i, int fd);
/** instance_second() - periodic work, once a second */
void instance_second(struct instance *i, uint64_t now);
/** instance_message() - handle a message of the instance */
void instance_message(struct instance *i, const struct link_msg *m);
/** instance_config() - send the present configuration to the instance */
void instance_config(struct instance *i);
/** instance_end() - refuse queued clients, and request the instance to end its sessions */
void instance_end(struct instance *i);
/** instance_adopt_all() - start an instance for each user record that an earlier front left */
void instance_adopt_all(struct front *f);
/** instance_close() - close the link and free @i; the process exits and leaves sessions open */
void instance_close(struct instance *i);

/* ---- start of an instance: start_instance.c ---- */

/** instance_start() - start the process and send LINK_START.  Return: 0 or a negative errno */
int instance_start(struct instance *i);
/** instance_ids() - reserve as many session ids as the user's rate limit now allows */
struct link_ids instance_ids(struct instance *i);

/* ---- log lines of instances: instance_log.c ---- */

void log_ready(struct loop_watch *w, short revents);
/** log_flush() - log the last lines of a process that has ended */
void log_flush(struct instance *i);
void log_second(struct instance *i);

/* ---- reports of instances and their sums: totals.c ---- */

/** report_attach() - check and store a report.  Return: 0; -ERANGE: a number is too large */
int report_attach(struct instance *i, const struct link_report *r);
/** report_measure() - read memory and processor time of the process from the kernel */
void report_measure(struct instance *i);
/** report_end() - the process has ended: add its counters to f->past */
void report_end(struct instance *i);
/** report_sum() - sums over all instances, including those that have ended */
void report_sum(const struct front *f, struct link_counters *c, struct link_gauges *g);
/** report_pages() - write the shared page of each instance */
void report_pages(struct front *f);
/** report_ops() - operations for metrics_open() */
struct control_ops report_ops(struct front *f);

/* ---- connections of clients: clients.c ---- */

int accept_open(struct front *f, int fd);
void accept_second(struct front *f);

/* ---- error responses: refuse.c ---- */

/** front_refuse() - send an error response and close the connection */
void front_refuse(struct front *f, int fd, int err, const char *why);

/* ---- rules: rules.c ---- */

void front_policy_start(struct front *f);
void front_policy_stop(struct front *f);
/** front_policy_second() - log, once a second, the number of processes in front.unsaid */
void front_policy_second(struct front *f);
/* Callbacks of struct instance_events. */
void front_attached(struct instance *i, const struct link_result *r);
void front_attaches_lost(struct instance *i);

#endif
