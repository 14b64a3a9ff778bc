/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: root's depd.
 *
 * It listens, finds out who connects, and passes each connection on to the instance of that
 * user's exact credentials (link.h), which it starts if there is none.  Rules, configuration,
 * accounts, numbers of sessions and metrics are its own.  It reads no line of a client, opens no
 * file of a user's, maps no session, traces nobody, and waits for none of its instances.
 */
#ifndef DEPD_FRONT_FRONT_H
#define DEPD_FRONT_FRONT_H

#include "daemon/base/loop.h"
#include "daemon/options.h"
#include "daemon/link/link.h"

#define FRONT_INSTANCES_MAX	1024u
#define FRONT_UNTAKEN_MAX	16u	/* clients on the way to an instance */
#define FRONT_SESSIONS_MAX	1024u
#define FRONT_WAIT_NS		10000000000ull	/* for an instance to take a client */
#define FRONT_ATTACH_NS		2000000000ull	/* ..and a held process */

/** struct waiting - a client that no instance has been sent yet */
struct waiting {
	struct waiting *next;
	int fd;
	uint64_t since_ns;
};

enum instance_state {
	INSTANCE_RUNNING,
	INSTANCE_LEAVING,	/* asked to exit; it has nothing left to do */
	INSTANCE_ENDED,		/* its process; another one is started when @again is due */
};

/** struct instance - a depd with a user's credentials */
struct instance {
	struct instance *next;
	struct front *front;
	struct user user;
	char name[64];		/* of its directory */
	struct account *account;
	enum instance_state state;

	pid_t pid;
	int pidfd, sock, log;
	struct loop_watch ready, gone, says;
	struct loop_timer again;
	uint64_t start_ns, heard_ns;	/* heard: its last report */
	unsigned int failures;	/* in a row; it is waited longer each time */
	struct link_page *page;
	bool serves, config_due, end_due;

	struct waiting *first, **last;
	uint32_t nwaiting;
	uint64_t sent, got;	/* clients, of this process */
	uint32_t ntakes;	/* of rules, not answered */
	uint64_t taken;		/* ..and those that succeeded */

	struct link_report report;
	uint64_t memory;	/* resident, by the kernel's word.. */
	uint64_t cpu_ns;	/* ..and so is this */
	char line[1536];	/* of its messages, not complete */
	size_t nline;
	uint32_t nlines, nbytes, nmessages;	/* in this second */
	uint64_t lines_lost;
	bool cut;		/* the rest of a line that was too long is not shown */
};

struct front {
	struct loop *loop;
	const struct options *given;
	char rundir[PATH_MAX];
	int lock, users, ids;	/* descriptors: the lock, RUNDIR/user, the next number */
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
	struct link_counters past;	/* of instances that have ended */
	char exe[PATH_MAX];		/* depd's own file: rules leave it alone */

	struct policy_watch *watch;
	struct loop_watch policy_ready;
	char policy_error[CONTROL_WHY];
	uint64_t matches, missed;
	uint64_t unsaid;		/* of those missed, since the last second */
	uint64_t *rule_seen;
	struct attach *takes;
	struct loop_timer late;
	uint32_t last_attach;
};

/** front_run() - root's depd; returns its exit status */
int front_run(const struct options *given);
/** front_reload() - read the configuration again; the old one stays if it is wrong */
int front_reload(struct front *f, char *why);
/** front_config() - for one user */
void front_config(const struct front *f, const struct user *u, struct link_config *out);
/** front_rules_fd() - a copy of the rules' text to be passed on, or a negative errno */
int front_rules_fd(const struct front *f);

/* ---- directories.c: RUNDIR/user, and who owned what is in it ---- */

/** dir_open() - RUNDIR/user, root's; a descriptor or a negative errno */
int dir_open(const char *rundir);
/** dir_name() - of these credentials */
void dir_name(const struct user *u, char *name, size_t size);
/** dir_make() - the directory, which is the user's, and the record beside it, which is root's */
int dir_make(int users, const char *name, const struct user *u);
/** dir_drop() - remove both: 0; -ENOTEMPTY: the user has left something, and it stays */
int dir_drop(int users, const char *name);
/** dir_exists() - was it made, or left, before? */
bool dir_exists(int users, const char *name);
/** dir_left() - call @one for each directory, with whose it is */
void dir_left(int users, void (*one)(void *arg, uid_t uid), void *arg);
/** dir_each() - call @one for each record */
void dir_each(int users, void (*one)(void *arg, const struct user *u), void *arg);
/** dir_store() - STORE/UID for stores of rules, of @u; 0 or a negative errno */
int dir_store(const char *store, const struct user *u, char *path, size_t size);

/* ---- session_ids.c ---- */

/** ids_open() - the number of the next session, from RUNDIR/next-id */
int ids_open(struct front *f);
/** ids_lease() - up to @n numbers */
struct link_ids ids_lease(struct front *f, uint32_t n);

/* ---- instances.c ---- */

/**
 * instance_get() - that of these credentials, started if there is none
 *
 * Return: 0, -EUSERS, -EAGAIN: this person has too many, or there are; or another errno.
 */
int instance_get(struct front *f, const struct user *u, struct instance **out);
/** instance_client() - pass a client on, or let it wait; takes @fd over unless it fails */
int instance_client(struct instance *i, int fd);
/** instance_second() - what is to be done each second */
void instance_second(struct instance *i, uint64_t now);
/** instance_message() - a message has come */
void instance_message(struct instance *i, const struct link_msg *m);
/** instance_config() - have it hear of another configuration */
void instance_config(struct instance *i);
/** instance_end() - have it end its sessions */
void instance_end(struct instance *i);
/** instance_adopt_all() - start those that an earlier front's records name */
void instance_adopt_all(struct front *f);
/** instance_close() - give everything back; the process sees that and hands its sessions over */
void instance_close(struct instance *i);

/* ---- start_instance.c ---- */

/** instance_start() - make its process and send it LINK_START; 0 or a negative errno */
int instance_start(struct instance *i);
/** instance_ids() - so many numbers as it may have now */
struct link_ids instance_ids(struct instance *i);

/* ---- instance_log.c ---- */

void log_ready(struct loop_watch *w, short revents);
/** log_flush() - at the end of its process: what it said last */
void log_flush(struct instance *i);
void log_second(struct instance *i);

/* ---- totals.c ---- */

/** report_attach() - check what it says: 0, or -ERANGE: it makes no sense */
int report_attach(struct instance *i, const struct link_report *r);
/** report_measure() - ask the kernel how large it is */
void report_measure(struct instance *i);
/** report_end() - its process has ended */
void report_end(struct instance *i);
/** report_sum() - of all instances, also those that have ended */
void report_sum(const struct front *f, struct link_counters *c, struct link_gauges *g);
/** report_pages() - write what all of them may know */
void report_pages(struct front *f);
/** report_ops() - for metrics_open() */
struct control_ops report_ops(struct front *f);

/* ---- clients.c ---- */

int accept_open(struct front *f, int fd);
void accept_second(struct front *f);
/** accept_refuse() - an answer that says no, and the end of the connection */
void accept_refuse(struct front *f, int fd, int err, const char *why);

/* ---- rules.c ---- */

void front_policy_start(struct front *f);
void front_policy_stop(struct front *f);
/** front_policy_second() - what is to be said each second */
void front_policy_second(struct front *f);
/** front_attached() - an instance's answer */
void front_attached(struct instance *i, const struct link_result *r);
/** front_attaches_lost() - it will not answer any more */
void front_attaches_lost(struct instance *i);

#endif
