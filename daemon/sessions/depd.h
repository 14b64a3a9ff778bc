/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a depd that has sessions: a user's own depd, or an instance of root's depd
 * (instance/instance.h).  Root's depd itself is the front and has no sessions (front/front.h).
 *
 * A session has a session file (memory shared with the programs), a collector (takes their data)
 * and a store (the recording).  One event loop (loop.h) handles all sessions, and one pool of
 * writer threads stores their chunks.  Another depd can adopt a session: it needs the session's
 * state file and the descriptors in the fd store (fdstore.h).
 */
#ifndef DEPD_SESSIONS_DEPD_H
#define DEPD_SESSIONS_DEPD_H

#include <stdbool.h>
#include <stdint.h>

#include "libdep/collect/exec_ops.h"
#include "daemon/base/wakeups.h"
#include "daemon/control/control.h"
#include "daemon/base/status.h"
#include "daemon/fdstore/fdstore.h"
#include "daemon/base/loop.h"
#include "daemon/policy/policy.h"
#include "daemon/base/credentials.h"

#define DEPD_SESSIONS_MAX	POLICY_SESSIONS_MAX	/* limit of open sessions */
struct dep_pool;
struct depd;
struct instance_link;
struct live_analysis;
struct session;
struct cleanup;
struct tracer;

/**
 * struct front_ops - operations of the front (root's depd) that an instance (a user's depd) uses
 * @second: periodic work, once a second; @open: number of open sessions
 * @changed: report that a session has begun or ended
 * @info: add the numbers of the front and of the other instances
 * @sessions_most: limit of open sessions of this instance
 * @next_id: get the next session id, and use it up if @take; 0: none is available now
 * @attached: report whether the process of session @s could be attached
 * @rules_text: get the rules as JSON, which the caller frees
 * @account: get account number @n, counted from 0; false: there are fewer
 * @reload: make the front read the configuration again; waits up to 10 seconds
 */
struct front_ops {
	void (*second)(struct depd *d, uint32_t open);
	void (*changed)(struct depd *d);
	void (*info)(const struct depd *d, struct depd_info *out);
	uint32_t (*sessions_most)(const struct depd *d);
	uint32_t (*next_id)(struct depd *d, bool take);
	void (*attached)(struct session *s, int ret, const char *why);
	char *(*rules_text)(const struct depd *d);
	bool (*account)(const struct depd *d, size_t n, struct account_info *out);
	int (*reload)(struct depd *d, char *why);
};

/**
 * struct session_ops - operations of higher layers that sessions use
 * @trace: register @s with the tracer
 * @untrace: unregister @s; does nothing if it is not registered
 * @exec_ops: get the operations by which the collector of @s follows execve
 * @begun: called when @s has begun and its store exists
 * @ended: called when the store of @s is complete, or stays incomplete as @s cannot be adopted
 */
struct session_ops {
	int (*trace)(struct session *s);
	void (*untrace)(struct session *s);
	struct dep_exec_ops (*exec_ops)(struct session *s);
	void (*begun)(struct session *s);
	void (*ended)(struct session *s);
};

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
	struct live_analysis *analyses;	/* race detection while recording; live/ */
	uint32_t nanalyses;
	struct cleanup *cleanup;	/* removal of temporary stores; retention/ */
	uint32_t last_id;		/* highest session id in use; not used with a front */
	const struct session_ops *session_ops;
	const struct front_ops *front;	/* NULL: a user's own depd, without front */
	struct instance_link *link;	/* link to the front; instance/instance.c */
	const struct options *options;	/* command line; NULL: the front configures depd */
	uint64_t start_ns, start_realtime_ns;

	/* Totals since depd started */
	uint64_t begun, adopted, ended[DEP_CLOSE_CAUSES];
	/* Totals of sessions that have ended */
	uint64_t chunks, raw_bytes, stored_bytes;
	struct dep_loss loss;

	struct exec_watch *watch;
	struct loop_watch policy_ready;
	char policy_error[CONTROL_WHY];
	uint64_t matches, missed;
	uint64_t *rule_seen;		/* number of processes that matched, by rule */

	struct loop_watch wakeups_ready, fdstore_ready;
	struct loop_timer retention, alive, fdstore_retry;
	uint64_t fdstore_retry_ns;	/* no new holder is started before this time */
	uint64_t removed, removed_bytes;	/* stores and bytes that retention removed */
	uint64_t trimmed;		/* begun + adopted at the last malloc_trim() */
	bool once;			/* end when there is neither a session nor a client */
	bool shutting_down;
	bool handing_over;	/* exit when no session is left that cannot be adopted */
};

#endif
