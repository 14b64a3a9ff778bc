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

#include "session_info.h"

/** struct session_config - parameters of a new session */
struct session_config {
	struct user owner;
	struct dep_base base;	/* privileges of the client; unknown for a rule's session */
	char *const *argv;
	int argc;
	const char *cwd;
	const char *store;	/* directory of the store; NULL: no store */
	const char *rule;	/* name of the rule; NULL: a client requested the session */
	uint32_t flags;		/* ADEPT_S_*: flags of the session file */
	uint64_t ring_size, max_size;
	/* keep only the newest part of this size, and of this age if not 0; 0: keep all */
	uint64_t last_bytes, last_ns;
	bool last_on_disk;	/* with @last_bytes: in files of @store, not in memory */
	/* with @last_bytes: functions whose calls make snapshots, or NULL */
	const struct adept_triggers *triggers;
	uint32_t snapshots;	/* most snapshots that triggers make; 0: none */
	enum dep_keep_if keep_if;	/* how the first process must end for the store to stay */
	int level;
	bool aslr;
	bool attach;		/* the client attaches to a running process */
	enum request_transport transport;
	bool shared;		/* @group gets read access to the store */
	gid_t group;
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
 * @native: the process runs unrecorded
 * @privileged: @native is true because the program raises privileges
 * @reason: why the process runs unrecorded, or NULL
 *
 * Only the first call for a session has an effect.
 */
void session_launched(struct session *s, pid_t pid, bool native, bool privileged,
		      const char *reason);
/** session_joined() - set the privileges of the first process of a rule's session */
void session_joined(struct session *s, const struct dep_base *base);
/** session_set_exit() - set the exit status of the first process; -1: it will not be known */
void session_set_exit(struct session *s, int status);
/** session_end() - stop recording; the programs continue */
void session_end(struct session *s, enum dep_close_cause cause, const char *error);
/** session_step() - pass available chunks to the store and advance the state, without waiting */
void session_step(struct session *s);
/** session_next_id() - get the id of the next session; 0: no session can be created now */
uint32_t session_next_id(struct depd *d);

/* ---- adoption: adopt.c ---- */

/**
 * session_adopt_all() - adopt, or close, all sessions that an earlier depd left
 * @kept: @n entries of the fd store; takes ownership of their descriptors
 *
 * Can sleep, so it must be called before the loop runs.
 */
void session_adopt_all(struct depd *d, struct fdstore_entry *kept, size_t n);

/* ---- functions of session.c for adopt.c ---- */

struct session *session_new(struct depd *d, uint32_t id);
/** session_start() - register a session with the tracer, the futex wakeups and the event loop */
int session_start(struct session *s);
/** session_free() - free a session that was not started or has ended */
void session_free(struct session *s);
struct dep_collect_setup session_setup(struct session *s, struct dep_exec_ops *ops);

#endif
