/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depd tells of itself and of its sessions: to the control socket, to the metrics.
 * Plain data, filled in by the loop's thread; texts are valid until it goes on.
 */
#ifndef DEPD_BASE_STATUS_H
#define DEPD_BASE_STATUS_H

#include <dep/store.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum session_state {
	SESSION_OPEN,		/* made, nothing runs in it yet */
	SESSION_RECORDING,
	SESSION_ENDING,		/* all have ended or were left; the rest is being stored */
	SESSION_ENDED,
	SESSION_STATES
};

/**
 * session_state_name(), session_cause_name() - as the protocol and metrics have them
 *
 * The cause of a session that has not ended is "none".
 */
const char *session_state_name(enum session_state s);
const char *session_cause_name(enum dep_close_cause c);

/** struct session_info - one session */
struct session_info {
	uint32_t id;
	uid_t uid;		/* of the owner */
	pid_t pid;		/* of the first process, 0: none yet */
	enum session_state state;
	enum dep_close_cause cause;
	const char *store;	/* directory, "" with --null without one */
	const char *command;	/* argv[0] */
	const char *rule;	/* that began it, "" = a client did */
	const char *transport;	/* "kmod" or "shm" */
	const char *error;	/* "" = none */
	bool adopted;		/* an earlier depd began it */
	uint64_t start_realtime_ns;
	uint64_t age_ns;
	uint32_t processes, threads;	/* seen so far */
	uint32_t live_processes;
	uint64_t chunks, raw_bytes;	/* consumed */
	uint64_t stored_bytes;
	uint64_t null_bytes;
	uint64_t lag_chunks, lag_bytes;	/* published by programs and not stored yet */
	uint64_t waiting_threads;	/* that wait for a free chunk */
	int exit_status;	/* of the first process, as wait() has it; -1 = unknown */
	struct dep_loss loss;	/* so far */
};

/* Where a chunk's time goes. */
enum depd_stage { STAGE_COPY, STAGE_PACK, STAGE_WRITE, STAGES };
const char *depd_stage_name(enum depd_stage s);

/** struct depd_info - all of depd, since it started */
struct depd_info {
	const char *version;
	pid_t pid;
	uint64_t start_realtime_ns, uptime_ns;
	uint64_t cpu_ns;		/* user and system time of depd */
	uint64_t memory_bytes;		/* resident */
	uint64_t sessions_begun, sessions_adopted;
	uint64_t sessions_ended[DEP_CLOSE_CAUSES];
	uint32_t sessions_open;
	uint64_t chunks, raw_bytes, stored_bytes;	/* of all sessions, ended ones too */
	uint64_t stage_ns[STAGES];
	uint64_t stage_chunks[STAGES];
	uint32_t queue_jobs;		/* that wait for a worker or have one */
	uint32_t workers, workers_busy;
	struct dep_loss loss;		/* of all sessions */
	uint64_t requests, requests_refused;
	uint32_t clients;
	/* Policy */
	bool policy_active;
	const char *policy_error;	/* why it is not, or what is wrong with the file; "" */
	uint32_t rules;
	uint64_t policy_matches, policy_missed;	/* processes recorded; that it was too late for */
	/* Of instances other than this one, whose sessions are not reported here */
	uint64_t lag_chunks, lag_bytes, waiting_threads;
	/* Store upkeep */
	uint64_t stores_removed, stores_removed_bytes;
};

#endif
