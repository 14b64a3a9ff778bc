/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depd: one for each machine, or for a user.
 *
 * A session is what is recorded together: a session file, a collector, a store.  All of
 * them are served by one loop (loop.h), which never waits, and by the storing threads of
 * one pool.  What a session needs to be taken over by another depd is in its state file
 * and with the keeper (keep.h).
 */
#ifndef DEPD_H
#define DEPD_H

#include <stdbool.h>
#include <stdint.h>

#include "bells.h"
#include "control.h"
#include "info.h"
#include "keep.h"
#include "loop.h"
#include "policy.h"
#include "user.h"

#define DEPD_SESSIONS_MAX	1024u	/* at a time */
#define DEPD_USER_SESSIONS_MAX	128u	/* of one user that is not root */

struct dep_pool;
struct search;
struct session;
struct tracer;

struct depd {
	struct loop *loop;
	struct control *control;
	struct metrics *metrics;
	struct keep *keep;
	struct tracer *tracer;
	struct bells *bells;
	struct dep_pool *pool;
	struct user self;
	char rundir[4096];
	int rundir_lock;
	const char *config_path;
	struct depd_config config;

	struct session *sessions;	/* the newest first */
	uint32_t nsessions;
	struct search *searches;	/* for races; search.c */
	uint32_t nsearches;
	uint32_t last_id;
	uint64_t start_ns, start_realtime_ns;

	/* Of sessions that are no more */
	uint64_t begun, adopted, ended[CAUSES];
	uint64_t chunks, raw_bytes, stored_bytes;
	struct dep_loss loss;

	struct policy_watch *watch;
	struct loop_watch policy_ready;
	char policy_trouble[CONTROL_WHY];
	uint64_t matches, missed;
	uint64_t *rule_seen;		/* by rule: how many it matched */

	struct loop_watch bells_ready, keep_ready;
	struct loop_timer upkeep, alive;
	uint64_t removed, removed_bytes;
	uint64_t trimmed;		/* sessions there had been when memory was given back */
	bool shutting_down;
};

/* ---- ops.c: what the control socket may ask for ---- */

/** ops_of() - for control_open() and metrics_open() */
struct control_ops ops_of(struct depd *d);

/* ---- rules.c ---- */

/** policy_start() - watch for new processes as the configuration says; says why if it cannot */
void policy_start(struct depd *d);
void policy_stop(struct depd *d);
/** rules_taken() - what tracer_take() came to; -EPIPE: nobody knows */
void rules_taken(struct session *s, int ret, const char *why);

/* ---- main.c ---- */

/** depd_reload() - read the configuration again; the old one stays if it is wrong */
int depd_reload(struct depd *d, char *why);

#endif
