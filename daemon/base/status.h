/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Status of depd and its sessions, as reported by the control socket and metrics.
 *
 * Plain data that the loop's thread fills in.  Strings belong to depd and are valid until the
 * current callback of the loop returns.
 */
#ifndef DEPD_BASE_STATUS_H
#define DEPD_BASE_STATUS_H

#include <dep/store.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum session_state {
	SESSION_OPEN,		/* created; no process is recorded yet */
	SESSION_RECORDING,
	SESSION_ENDING,		/* recording has ended; the remaining data is being stored */
	SESSION_ENDED,		/* complete; kept for a while so that clients can get its result */
	SESSION_STATES
};

/**
 * session_state_name(), session_cause_name() - names for the protocol and metrics
 *
 * The cause of a session that has not ended is "none".
 */
const char *session_state_name(enum session_state s);
const char *session_cause_name(enum dep_close_cause c);

/** struct session_info - status of one session */
struct session_info {
	uint32_t id;
	uid_t uid;		/* uid of the session's owner */
	pid_t pid;		/* pid of the first process; 0: none yet */
	enum session_state state;
	enum dep_close_cause cause;
	const char *store;	/* the store's directory; "": nothing is stored */
	const char *command;	/* argv[0] */
	const char *rule;	/* rule that created the session; "": created by a client */
	const char *transport;	/* "kmod" or "shm" */
	const char *error;	/* first error of the session; "": none */
	bool adopted;		/* created by an earlier depd and taken over by this one */
	bool attached;		/* its first process ran already */
	/* with @attached: time for which this process was stopped, and its number of threads */
	uint64_t stop_ns;
	uint32_t stop_threads;
	uint64_t start_realtime_ns;
	uint64_t age_ns;
	uint32_t processes, threads;	/* number so far, including ended ones */
	uint32_t live_processes;
	uint64_t chunks, raw_bytes;	/* data taken from the rings */
	uint64_t stored_bytes;
	uint64_t null_bytes;
	uint64_t lag_chunks, lag_bytes;	/* published by programs and not stored yet */
	uint64_t waiting_threads;	/* threads that wait for a free chunk in their ring */
	/*
	 * Of a session that keeps only its newest part: the bounds (bytes 0: it keeps all; ns 0:
	 * none), bytes of chunks and of descriptors in memory, and, when it has ended, bytes
	 * dropped and the time at the end of which nothing was dropped
	 */
	uint64_t last_max_bytes, last_max_ns, last_bytes, last_descriptors;
	uint64_t last_dropped, last_kept_ns;
	bool last_on_disk;		/* the chunks are in files of the store */
	uint64_t last_limit;		/* most bytes now: fewer than that if the disk was full */
	/* snapshots that are stored, triggers that made none, and the newest snapshot (or NULL) */
	uint32_t snapshots;
	uint64_t skipped_triggers;
	const char *newest_snapshot;
	struct dep_kept newest_kept;	/* why that was stored */
	bool removed;		/* the store was removed, because the command ended well */
	int exit_status;	/* status of the first process, see wait(2); -1: unknown */
	struct dep_loss loss;	/* data lost so far */
};

/* Stages of storing a chunk; depd measures the time of each. */
enum depd_stage { STAGE_COPY, STAGE_PACK, STAGE_WRITE, STAGES };
const char *depd_stage_name(enum depd_stage s);

/** struct depd_info - status of depd and totals since it started */
struct depd_info {
	const char *version;
	pid_t pid;
	uint64_t start_realtime_ns, uptime_ns;
	uint64_t cpu_ns;		/* user and system time of depd */
	uint64_t memory_bytes;		/* resident memory of depd */
	uint64_t sessions_begun, sessions_adopted;
	uint64_t sessions_ended[DEP_CLOSE_CAUSES];
	uint32_t sessions_open;
	uint64_t chunks, raw_bytes, stored_bytes;	/* of all sessions, also ended ones */
	uint64_t stage_ns[STAGES];
	uint64_t stage_chunks[STAGES];
	uint32_t queue_jobs;		/* jobs of writer threads, waiting or running */
	uint32_t workers, workers_busy;
	struct dep_loss loss;		/* data lost by all sessions */
	uint64_t requests, requests_refused;
	uint32_t clients;
	/* Rules */
	bool policy_active;
	const char *policy_error;	/* why rules or depd.conf are not in effect; "": none */
	uint32_t rules;
	/* Numbers of processes that match a rule: recorded, and not recorded because of an error */
	uint64_t policy_matches, policy_missed;
	/* Sums over the other instances of root's depd, whose sessions are not listed here */
	uint64_t lag_chunks, lag_bytes, waiting_threads;
	/* Stores that retention has removed, and their bytes */
	uint64_t stores_removed, stores_removed_bytes;
};

#endif
