/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a depd that has sessions: a user's own depd, or an instance of root's depd
 * (instance.h).  Root's depd itself is the front and has no sessions (front/front.h).
 *
 * A session is a session file, a collector and a store.  One event loop (loop.h) handles all
 * sessions, and one pool of writer threads stores their chunks.  Another depd can adopt a session:
 * it needs the session's state file and the descriptors in the fd store (fdstore.h).
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

#define DEPD_SESSIONS_MAX	1024u	/* open at the same time */
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
	struct wakeups *wakeups;
	struct dep_pool *pool;
	struct user self;
	char rundir[4096];
	int rundir_lock;
	struct depd_config config;

	struct session *sessions;	/* newest first */
	uint32_t nsessions;
	struct live_analysis *analyses;	/* race detection while recording; live_analysis.c */
	uint32_t nanalyses;
	struct cleanup *cleanup;	/* of temporary stores; temporary.c */
	uint32_t last_id;		/* highest session id in use; not used with a front */
	struct instance_link *link;	/* to the front; NULL: a user's own depd */
	uint64_t start_ns, start_realtime_ns;

	/* Totals since depd started */
	uint64_t begun, adopted, ended[DEP_CLOSE_CAUSES];
	/* Totals of sessions that have ended */
	uint64_t chunks, raw_bytes, stored_bytes;
	struct dep_loss loss;

	struct policy_watch *watch;
	struct loop_watch policy_ready;
	char policy_error[CONTROL_WHY];
	uint64_t matches, missed;
	uint64_t *rule_seen;		/* matching processes of each rule */

	struct loop_watch wakeups_ready, fdstore_ready;
	struct loop_timer retention, alive, fdstore_retry;
	uint64_t fdstore_retry_ns;	/* no new holder is started before this time */
	uint64_t removed, removed_bytes;	/* old stores, by retention */
	uint64_t trimmed;		/* begun + adopted at the last malloc_trim() */
	bool shutting_down;
};

/* ---- control_ops.c: operations behind control requests and metrics ---- */

/** ops_of() - operations for control_open() and metrics_open() */
struct control_ops ops_of(struct depd *d);
/** depd_own_info() - numbers of this process, without those of the front and other instances */
void depd_own_info(struct depd *d, struct depd_info *out);

/* ---- core.c: common to a user's own depd and instances ---- */

/**
 * core_prepare() - set up all that sessions need, but no sockets
 * @d: rundir, its lock and the configuration must be set
 * @kept: receives an array of the descriptors that an earlier depd stored; free() it
 * @n: receives their number
 *
 * Return: 0 or a negative errno, which is logged.
 */
int core_prepare(struct depd *d, struct fdstore_entry **kept, size_t *n);
/** core_run() - run the loop until depd must end.  Return: the exit status of the process. */
int core_run(struct depd *d);
/** core_shut_down() - end all sessions, then the loop; the second call ends the loop at once */
void core_shut_down(struct depd *d);
/** core_hand_over() - end the loop at once; the next depd adopts the sessions */
void core_hand_over(struct depd *d);
/** core_fail() - log that @what failed with @err, and return @err */
int core_fail(int err, const char *what);

/* ---- auto_record.c ---- */

/** struct rules_config - a pending process and the parameters of its session */
struct rules_config {
	pid_t pid;
	uid_t uid;		/* real uid */
	uint64_t start_ns;	/* start time as in struct policy_exec; detects a reused pid */
	const char *rule, *comm, *path, *dir;	/* @dir: the store is created in it */
	uint32_t seq;		/* number of the front's request; 0: no front */
	uint32_t flags;
	uint64_t ring_size, max_size;
	int level;
	enum request_transport transport;
	bool shared;		/* @group gets read access to the store */
	gid_t group;
};

/**
 * rules_attach() - create a session and make the tracer attach to the process
 * @why: CONTROL_WHY bytes; receives the error message
 *
 * Return: 0: rules_attached() will be called with the result; or a negative errno.
 */
int rules_attach(struct depd *d, const struct rules_config *w, char *why);

/** policy_start() - start the BPF programs if there are rules; errors go to d->policy_error */
void policy_start(struct depd *d);
void policy_stop(struct depd *d);
/** rules_folders() - create the rules' store directory; warn if a rule's group cannot enter it */
void rules_folders(struct depd *d);
/**
 * rules_attached() - handle the result of tracer_attach()
 * @ret: 0, a negative errno, or -EPIPE: the tracer ended before it answered
 */
void rules_attached(struct session *s, int ret, const char *why);

/* ---- main.c ---- */

/** depd_reload() - read the configuration again; on an error the old one stays in effect */
int depd_reload(struct depd *d, char *why);

#endif
