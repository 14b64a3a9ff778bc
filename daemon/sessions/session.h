/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions, from the request to the closed store.
 *
 *	OPEN ---> RECORDING ---> ENDING ---> ENDED
 *	     \_________________/
 *
 * A session becomes RECORDING with its first process.  It becomes ENDING when all its processes
 * have ended or when recording stops, and ENDED when its store is closed.  The loop calls
 * session_step() when the session's futex or module file reports data, and by a timer.
 */
#ifndef DEPD_SESSIONS_SESSION_H
#define DEPD_SESSIONS_SESSION_H

#include "libdep/collect/exec_ops.h"
#include "daemon/depd.h"

/** struct session_config - parameters of a new session */
struct session_config {
	struct user owner;
	struct dep_base base;	/* privileges of the client; not known for a rule */
	char *const *argv;
	int argc;
	const char *cwd;
	const char *store;	/* directory; NULL: no store */
	const char *rule;	/* NULL: a client requested the session */
	uint32_t flags;		/* ADEPT_S_* */
	uint64_t ring_size, max_size;
	int level;
	bool aslr;
	enum request_transport transport;
	bool shared;		/* @group gets read access to the store */
	gid_t group;
};

/**
 * struct session_totals - amounts recorded and lost
 *
 * The state file has the totals of all depds up to now, so that losses before a kill stay known.
 */
struct session_totals {
	uint64_t raw_bytes, chunks, null_bytes;
	struct dep_loss loss;
};

/** struct session_exec - request to the tracer to follow an execve */
struct session_exec {
	bool asked;		/* sent and not yet answered */
	uint8_t outcome;	/* enum dep_exec_outcome */
};

struct session_file;

struct session {
	struct session *next;
	struct depd *d;
	uint32_t id;
	struct user owner;
	char *store, *command, *rule;	/* "" for none */
	uint64_t store_dev, store_ino;	/* identity of the created directory; 0: not known */
	uint32_t flags;
	uint64_t max_size;
	int level;
	uint64_t start_ns, start_realtime_ns;

	struct dep_session ring;
	struct dep_target target;
	struct session_exec *exec;	/* by process slot; NULL when the session has ended */
	struct dep_collector *collector;
	struct session_file *file;	/* the state file */
	int wakeup;			/* from wakeups_add(); -1: none */
	struct loop_watch module_ready;
	struct loop_timer step;
	int no_module;			/* error for which kernel module rings are not used, or 0 */

	enum session_state state;
	enum dep_close_cause cause;
	pid_t pid;			/* first process; 0: none yet */
	uint32_t take_seq;	/* number of the front's request to record @attaching */
	pid_t attaching;	/* pending process being attached for a rule; 0: none */
	int status;			/* exit status of the first process; -1: unknown */
	bool has_client;	/* a client will report the exit status of the first process */
	bool exit_reported;		/* the exit status has been reported */
	bool launched;
	bool begun;		/* complete; a client or the front can know of it */
	bool adopted;
	bool traced;		/* registered with the tracer */
	bool warned_failed;
	enum { END_LEAVE, END_DRAIN, END_CLOSE } end;	/* current step of ENDING */
	uint64_t ending_ns;
	uint32_t live;			/* processes that were running when it ended */
	struct session_totals before;	/* of earlier depds; all totals when it has ended */
	struct dep_loss loss;		/* valid when it has ended */
	struct dep_collect_status last;	/* latest status of the collector */
	char error[512];
};

/**
 * session_begin() - create a session
 * @why: CONTROL_WHY bytes; receives the error message
 *
 * Return: 0; -EAGAIN: too many sessions or depd is ending; or another negative errno.
 */
int session_begin(struct depd *d, const struct session_config *w, struct session **out, char *why);
/**
 * session_launched() - report that the first process has started
 * @native: it runs unrecorded
 * @privileged: ..because its program raises privileges
 * @reason: ..because of this
 *
 * Only the first call for a session has an effect.
 */
void session_launched(struct session *s, pid_t pid, bool native, bool privileged,
		      const char *reason);
/** session_joined() - set the privileges of the first process of a rule's session */
void session_joined(struct session *s, const struct dep_base *base);
/** session_set_exit() - set the exit status of the first process; -1: it stays unknown */
void session_set_exit(struct session *s, int status);
/** session_end() - stop recording; the programs continue */
void session_end(struct session *s, enum dep_close_cause cause, const char *error);
/** session_step() - move available chunks and advance the state, without waiting */
void session_step(struct session *s);
void session_info(struct session *s, struct session_info *out);
/** session_next_id() - id that the next session will get; 0: none can be created now */
uint32_t session_next_id(struct depd *d);
struct session *session_find(struct depd *d, uint32_t id);
/** session_totals() - totals of this depd and earlier ones */
void session_totals(struct session *s, struct session_totals *out);

/* ---- adopt.c ---- */

/**
 * session_adopt_all() - adopt, or close, all sessions that an earlier depd left
 * @kept: @n entries of the fd store; their descriptors are consumed
 *
 * Can sleep, so it must be called before the loop runs.
 */
void session_adopt_all(struct depd *d, struct fdstore_entry *kept, size_t n);

/* ---- session.c, for adopt.c ---- */

struct session *session_new(struct depd *d, uint32_t id);
/** session_start() - register a session with tracer, wakeups and loop */
int session_start(struct session *s);
/** session_free() - free a session that was not started or has ended */
void session_free(struct session *s);
struct dep_collect_setup session_setup(struct session *s, struct dep_exec_ops *ops);

#endif
