/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions: from the request to the closed store.
 *
 *	OPEN ---> RECORDING ---> ENDING ---> ENDED
 *	     \_________________/
 *
 * A session is ENDING from when nothing of it lives any more, or is to be recorded any
 * more, until its store is closed.  It is stepped by the loop: when its wakeup has rung,
 * and by its timer.
 */
#ifndef DEPD_SESSIONS_SESSION_H
#define DEPD_SESSIONS_SESSION_H

#include "libdep/collect/exec_ops.h"
#include "daemon/depd.h"

/** struct session_config - what a session shall be like */
struct session_config {
	struct user owner;
	struct dep_base base;	/* of the client; for a rule: not known */
	char *const *argv;
	int argc;
	const char *cwd;
	const char *store;	/* directory, NULL: none */
	const char *rule;	/* NULL: a client's */
	uint32_t flags;		/* ADEPT_S_* */
	uint64_t ring_size, max_size;
	int level;
	bool aslr;
	enum request_transport transport;
	bool shared;		/* @group may read the store, too */
	gid_t group;
};

/**
 * struct session_totals - of earlier depds, to be added to the collector's
 *
 * Kept up to date in the state file, so that it says what was lost before a kill.
 */
struct session_totals {
	uint64_t raw_bytes, chunks, null_bytes;
	struct dep_loss loss;
};

/** struct session_exec - an execve that the tracer was asked to follow */
struct session_exec {
	bool asked;		/* and has not answered */
	uint8_t outcome;	/* enum dep_exec_outcome */
};

struct session_file;

struct session {
	struct session *next;
	struct depd *d;
	uint32_t id;
	struct user owner;
	char *store, *command, *rule;	/* "" for none */
	uint64_t store_dev, store_ino;	/* of the directory that was made, 0: not known */
	uint32_t flags;
	uint64_t max_size;
	int level;
	uint64_t start_ns, start_realtime_ns;

	struct dep_session ring;
	struct dep_target target;
	struct session_exec *exec;	/* by process slot, until it has ended */
	struct dep_collector *collector;
	struct session_file *file;	/* the state file */
	int bell;			/* of wakeups_add(), -1: none */
	struct loop_watch module_ready;
	struct loop_timer step;
	int no_module;			/* why there are none of the module's rings, 0: no matter */

	enum session_state state;
	enum dep_close_cause cause;
	pid_t pid;
	uint32_t take_seq;	/* ..the number of the front's wish for it */
	pid_t attaching;		/* who is being taken for a rule, 0: nobody */
	int status;
	bool has_client;	/* it will tell how the first process ended.. */
	bool told;		/* ..and did */
	bool launched;
	bool begun;		/* somebody may know of it */
	bool adopted;
	bool traced;		/* the tracer knows it */
	bool warned_failed;
	enum { END_LEAVE, END_DRAIN, END_CLOSE } end;	/* how far ENDING is */
	uint64_t ending_ns;
	uint32_t live;			/* processes that went on when it ended */
	struct session_totals before;
	struct dep_loss loss;		/* when it has ended */
	struct dep_collect_status last;	/* what the collector said last */
	char error[512];
};

/**
 * session_begin() - make one
 * @why: of CONTROL_WHY bytes
 *
 * Return: 0, -EAGAIN: too many; or another negative errno.
 */
int session_begin(struct depd *d, const struct session_config *w, struct session **out, char *why);
/** session_launched() - its first process is in it, or runs unrecorded */
void session_launched(struct session *s, pid_t pid, bool native, bool privileged,
		      const char *reason);
/** session_joined() - the privileges of its first process, which was taken for a rule */
void session_joined(struct session *s, const struct dep_base *base);
/** session_set_exit() - how its first process ended, -1: nobody will tell */
void session_set_exit(struct session *s, int status);
/** session_end() - record no more; its programs go on */
void session_end(struct session *s, enum dep_close_cause cause, const char *error);
/** session_step() - do what can be done now */
void session_step(struct session *s);
void session_info(struct session *s, struct session_info *out);
/** session_next_id() - the number that the next one will have; 0: there can be none now */
uint32_t session_next_id(struct depd *d);
struct session *session_find(struct depd *d, uint32_t id);
/** session_totals() - of all depds that had it */
void session_totals(struct session *s, struct session_totals *out);

/* ---- adopt.c ---- */

/** session_adopt_all() - go on with what an earlier depd left */
void session_adopt_all(struct depd *d, struct fdstore_entry *kept, size_t n);

/* ---- of session.c, for adopt.c ---- */

struct session *session_new(struct depd *d, uint32_t id);
/** session_start() - let the loop look after it */
int session_start(struct session *s);
/** session_free() - one that is not served, or has ended */
void session_free(struct session *s);
struct dep_collect_setup session_setup(struct session *s, struct dep_exec_ops *ops);

#endif
