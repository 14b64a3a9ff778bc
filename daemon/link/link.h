/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Link: messages between the front (root's depd) and its instances (depd processes of users).
 *
 * A message is one packet of a SOCK_SEQPACKET pair, with a fixed size for each kind.  The front
 * trusts no instance: it uses numbers only, checks each, and never waits for a message.  An
 * instance trusts the front.
 */
#ifndef DEPD_LINK_LINK_H
#define DEPD_LINK_LINK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/account.h"
#include "daemon/control/control.h"
#include "daemon/policy/policy.h"
#include "daemon/base/credentials.h"

#define INSTANCE_NAME	"depd-user"
#define LINK_FDS	2	/* limit of descriptors in one message */

enum link_op {
	/* From the front; @NAME: member of struct link_msg; pending: stopped at exec */
	LINK_START,		/* first message: @start; descriptors: shared page, rules' text */
	LINK_CONFIG,		/* new configuration: @config; descriptor: rules' text */
	LINK_CLIENT,		/* serve a client; descriptor: its socket */
	LINK_IDS,		/* @ids: session ids reserved for the instance */
	LINK_ATTACH,		/* @attach: record a pending process; descriptor: its pidfd */
	LINK_END,		/* end all sessions, then exit */
	LINK_GO,		/* answer to LINK_BYE: exit, no message follows */
	LINK_RELOADED,		/* @result: answer to LINK_RELOAD */
	/* From an instance */
	LINK_HELLO,		/* the instance is ready to serve clients */
	LINK_REPORT,		/* @report: status of the instance */
	LINK_GOT,		/* @number: clients received since the instance began */
	LINK_WANT_IDS,
	LINK_ATTACHED,		/* @result: answer to the LINK_ATTACH with the same seq */
	LINK_RELOAD,		/* read the configuration again; from root's instance only */
	LINK_BYE,		/* request to exit, since it is idle; @number as in LINK_GOT */
	LINK_OPS
};

/** struct link_config - the part of the configuration that an instance needs */
struct link_config {
	uint64_t give_up_ms, max_store, max_age_s, max_last;
	uint32_t workers, races;
	char store[PATH_MAX];	/* directory for this user's stores of rules; "": none */
};

/** struct link_ids - a range of session ids, reserved for one instance */
struct link_ids {
	uint32_t first, count;
};

struct link_start {
	struct user user;
	struct link_config config;
	struct link_ids ids;
	uint32_t sessions;	/* open sessions that the memory limit must allow */
	char rundir[PATH_MAX];
};

/** struct link_attach - request to record a process, stopped at exec, for a rule */
struct link_attach {
	uint32_t seq;
	int32_t pid;
	uint32_t uid;		/* real uid of the process */
	uint64_t start_ns;	/* start time of the process; CLOCK_BOOTTIME */
	uint32_t flags;
	int32_t level;
	uint64_t ring_size, max_size, last_bytes, last_ns;
	uint32_t transport, keep_if, last_on_disk;
	uint32_t shared, group;	/* if @shared, @group gets read access to the store */
	char rule[256], comm[32];
	char path[PATH_MAX];	/* path of the program */
	char store[PATH_MAX];	/* directory for the store */
};

struct link_result {
	uint32_t seq;
	int32_t result;
	char why[CONTROL_WHY];
};

/** struct link_counters - totals since the instance began; all members are u64 */
struct link_counters {
	uint64_t begun, adopted, ended[DEP_CLOSE_CAUSES];
	uint64_t chunks, raw_bytes, stored_bytes;
	uint64_t stage_ns[STAGES], stage_chunks[STAGES];
	uint64_t requests, refused, removed, removed_bytes, cpu_ns;
	struct dep_loss loss;
};

/** struct link_gauges - current values; all members are u64 */
struct link_gauges {
	uint64_t open, clients, lag_chunks, lag_bytes, waiting_threads;
	uint64_t queue_jobs, workers, workers_busy, memory_bytes, fds;
};

struct link_rule {
	uint64_t name;		/* hash of the rule's name, see link_rule_name() */
	uint64_t open;		/* open sessions of the rule */
};

/** struct link_report - status of an instance */
struct link_report {
	struct link_counters counters;
	struct link_gauges gauges;
	uint32_t nrules, unused;
	struct link_rule rule[POLICY_RULES_MAX];
};

struct link_msg {
	uint32_t op, unused;
	union {
		struct link_start start;
		struct link_config config;
		struct link_ids ids;
		struct link_attach attach;
		struct link_result result;
		struct link_report report;
		uint64_t number;
	};
};

/**
 * link_send() - send a message with @n descriptors, without waiting
 *
 * Return: 0; -EAGAIN: no room; -EPIPE: the peer has closed its end; or another negative errno.
 */
int link_send(int sock, const struct link_msg *m, const int *fds, int n);
/**
 * link_receive() - receive the next message
 * @fds: receives LINK_FDS descriptors; -1: none
 * @wait: wait until there is a message
 *
 * Return: 0; -EAGAIN: no message; -EPIPE: the peer has closed its end; -EPROTO: invalid message.
 */
int link_receive(int sock, struct link_msg *m, int *fds, bool wait);
uint64_t link_rule_name(const char *name);
/** link_add_info() - add counters and gauges of other processes to @to */
void link_add_info(struct depd_info *to, const struct link_counters *c,
		   const struct link_gauges *g);

/* ---- status of the front, shared with instances: shared_page.c ---- */

/** struct link_info - status of the front, and sums over all instances but the reader */
struct link_info {
	int32_t pid;
	uint32_t policy_active;
	uint64_t start_ns, start_realtime_ns;
	uint32_t rules;
	uint32_t sessions_most;	/* limit of open sessions of this instance */
	uint64_t matches, missed;
	char policy_error[CONTROL_WHY];
	struct link_counters counters;	/* totals of the other instances, including ended ones */
	struct link_gauges gauges;	/* current values of the other instances */
};

struct link_page;

#define LINK_ACCOUNTS_MAX 512	/* accounts in the page of root's instance */

/**
 * page_make() - create a page to which only the front can write
 * @accounts: make room for accounts, which root's instance needs
 * @fd: receives a descriptor to send to the instance
 */
int page_make(struct link_page **p, bool accounts, int *fd);
void page_write(struct link_page *p, const struct link_info *info);
/** page_write_accounts() - write accounts to the page; does nothing if it has no room for them */
void page_write_accounts(struct link_page *p, const struct account_info *a, uint32_t n);
void page_free(struct link_page *p);
/** page_open() - map the page in an instance; closes @fd */
int page_open(const struct link_page **p, int fd);
void page_read(const struct link_page *p, struct link_info *out);
/** page_account() - get account number @n, from 0; false: the page has fewer accounts */
bool page_account(const struct link_page *p, size_t n, struct account_info *out);

#endif
