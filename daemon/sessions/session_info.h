/* SPDX-License-Identifier: GPL-2.0-or-later */
/* struct session, and functions that report a session's status and totals. */
#ifndef DEPD_SESSIONS_SESSION_INFO_H
#define DEPD_SESSIONS_SESSION_INFO_H

#include "depd.h"

/**
 * struct session_totals - amounts recorded and lost
 *
 * The state file has the totals of this depd and earlier ones, so that losses before depd was
 * killed stay known.
 */
struct session_totals {
	uint64_t raw_bytes, chunks, null_bytes;
	struct dep_loss loss;
};

/** struct session_exec - request to the tracer to follow an execve: to record the new program */
struct session_exec {
	bool asked;		/* the request was sent and is not answered yet */
	uint8_t outcome;	/* enum dep_exec_outcome */
};

struct session_file;
struct session_snapshot;

struct session {
	struct session *next;
	struct depd *d;
	uint32_t id;
	struct user owner;
	char *store, *command, *rule;	/* "": no store, no command, no rule */
	uint64_t store_dev, store_ino;	/* device, inode of the store's directory; 0: unknown */
	uint32_t flags;
	uint64_t max_size;
	uint64_t last_bytes, last_ns;	/* as in struct session_config */
	bool last_on_disk;		/* likewise */
	enum dep_keep_if keep_if;	/* as in struct session_config */
	int level;
	uint64_t start_ns, start_realtime_ns;

	struct dep_session ring;
	struct dep_target target;
	struct session_exec *exec;	/* indexed by process slot; NULL: the session has ended */
	struct dep_collector *collector;
	struct session_file *file;	/* the state file */
	struct session_snapshot *snapshot;	/* with @last_bytes, else NULL; snapshot.c */
	uint64_t last_kept_ns;	/* in state ENDED: time at the end of which nothing was dropped */
	int wakeup;			/* number from wakeups_add(); -1: none */
	struct loop_watch module_ready;
	struct loop_timer step;
	int no_module;			/* error that prevented use of the kernel module, or 0 */

	enum session_state state;
	enum dep_close_cause cause;
	pid_t pid;			/* pid of the first process; 0: none yet */
	uint32_t attach_seq;	/* number of the front's request to record @attaching */
	pid_t attaching;	/* process stopped at exec, being attached for a rule; 0: none */
	int status;			/* exit status of the first process; -1: unknown */
	bool has_client;	/* a client will report the exit status of the first process */
	bool attached;		/* the first process is not a client's child, but ran already */
	/* with @attached: time for which this process was stopped, and its number of threads */
	uint64_t stop_ns;
	uint32_t stop_threads;
	bool exit_reported;		/* the exit status has been reported */
	int first_fd;			/* pidfd of the first process: exit_status.h; -1: none */
	uint64_t idle_ns;		/* when it was seen that no process lives any more */
	bool launched;
	bool native;		/* the first process runs unrecorded */
	bool removed;		/* the store is being removed, or was: @keep_if */
	bool begun;		/* creation is complete; clients can know the session */
	bool adopted;
	bool traced;		/* registered with the tracer */
	bool warned_failed, warned_full;
	/* teardown step in state ENDING */
	enum { END_SNAPSHOTS, END_LEAVE, END_DRAIN, END_LAST, END_CLOSE } end;
	uint64_t ending_ns;
	uint32_t live;			/* processes that were running when recording ended */
	struct session_totals before;	/* totals of earlier depds; in state ENDED, all totals */
	struct dep_loss loss;		/* total loss; valid in state ENDED */
	struct dep_collect_status last;	/* latest status of @collector */
	char error[512];
};

struct session *session_find(struct depd *d, uint32_t id);
/** session_totals() - get the session's totals of this depd and earlier ones */
void session_totals(struct session *s, struct session_totals *out);
/** session_loss() - get the total loss of the session: data known to be missing from its store */
void session_loss(struct session *s, struct dep_loss *out);
void session_info(struct session *s, struct session_info *out);

#endif
