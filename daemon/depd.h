/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depd: a user's own, or the instance for a user of root's depd (instance.h; root's depd itself
 * is the front, front/front.h).
 *
 * A session is what is recorded together: a session file, a collector, a store.  All of
 * them are served by one loop (loop.h), which never waits, and by the storing threads of
 * one pool.  What a session needs to be taken over by another depd is in its state file
 * and with the holder (fdstore.h).
 */
#ifndef DEPD_H
#define DEPD_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/wakeups.h"
#include "daemon/control/control.h"
#include "daemon/base/status.h"
#include "daemon/fdstore/fdstore.h"
#include "daemon/base/loop.h"
#include "daemon/policy/policy.h"
#include "daemon/base/credentials.h"

#define DEPD_SESSIONS_MAX	1024u	/* at a time */
struct dep_pool;
struct instance_link;
struct live_analysis;
struct session;
struct cleanup;
struct tracer;

struct depd {
	struct loop *loop;
	struct control *control;
	struct metrics *metrics;
	struct fdstore *fdstore;
	struct tracer *tracer;
	struct bells *bells;
	struct dep_pool *pool;
	struct user self;
	char rundir[4096];
	int rundir_lock;
	struct depd_config config;

	struct session *sessions;	/* the newest first */
	uint32_t nsessions;
	struct live_analysis *analyses;	/* for races; live_analysis.c */
	uint32_t nanalyses;
	struct cleanup *cleanup;		/* for temporary stores; temporary.c */
	uint32_t last_id;
	struct instance_link *link;	/* to the front; NULL: there is none */
	uint64_t start_ns, start_realtime_ns;

	/* Of sessions that are no more */
	uint64_t begun, adopted, ended[DEP_CLOSE_CAUSES];
	uint64_t chunks, raw_bytes, stored_bytes;
	struct dep_loss loss;

	struct policy_watch *watch;
	struct loop_watch policy_ready;
	char policy_error[CONTROL_WHY];
	uint64_t matches, missed;
	uint64_t *rule_seen;		/* by rule: how many it matched */

	struct loop_watch wakeups_ready, fdstore_ready;
	struct loop_timer retention, alive, fdstore_retry;
	uint64_t fdstore_retry_ns;	/* another holder is tried again */
	uint64_t removed, removed_bytes;
	uint64_t trimmed;		/* sessions there had been when memory was given back */
	bool shutting_down;
};

/* ---- control_ops.c: what the control socket may ask for ---- */

/** ops_of() - for control_open() and metrics_open() */
struct control_ops ops_of(struct depd *d);
/** depd_own_info() - without what the front and other instances have */
void depd_own_info(struct depd *d, struct depd_info *out);

/* ---- core.c: what all that have sessions do ---- */

/**
 * core_prepare() - all but sockets: d->rundir, its lock and the configuration are there
 * @kept: receives what an earlier depd left
 */
int core_prepare(struct depd *d, struct fdstore_entry **kept, size_t *n);
/** core_run() - until depd is to end; returns its exit status */
int core_run(struct depd *d);
/** core_shut_down() - end all sessions, then end */
void core_shut_down(struct depd *d);
/** core_hand_over() - end at once: another depd goes on with the sessions */
void core_hand_over(struct depd *d);
/** core_fail() - log it, and return @err */
int core_fail(int err, const char *what);

/* ---- auto_record.c ---- */

/** struct rules_config - a process, and what its session shall be like */
struct rules_config {
	pid_t pid;
	uid_t uid;		/* its real one.. */
	uint64_t start_ns;	/* ..and when it began, as struct policy_exec has it */
	const char *rule, *comm, *path, *dir;	/* dir: where the store is to be */
	uint32_t seq;		/* the front's, 0: there is none */
	uint32_t flags;
	uint64_t ring_size, max_size;
	int level;
	enum request_transport transport;
	bool shared;		/* @group may read the store, too */
	gid_t group;
};

/** rules_attach() - begin a session and have the tracer take the process: rules_attached() tells */
int rules_attach(struct depd *d, const struct rules_config *w, char *why);

/** policy_start() - watch for new processes as the configuration says; says why if it cannot */
void policy_start(struct depd *d);
void policy_stop(struct depd *d);
/** rules_folders() - make the folder for their stores, and see whether groups can enter theirs */
void rules_folders(struct depd *d);
/** rules_attached() - what tracer_attach() came to; -EPIPE: nobody knows */
void rules_attached(struct session *s, int ret, const char *why);

/* ---- main.c ---- */

/** depd_reload() - read the configuration again; the old one stays if it is wrong */
int depd_reload(struct depd *d, char *why);

#endif
