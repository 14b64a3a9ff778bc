/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the front and its instances tell each other: a message per packet of a SOCK_SEQPACKET
 * pair, each of the size that its kind has.
 *
 * The front takes all that comes from an instance for hostile: it reads numbers only, checks
 * them, and waits for none of them.  An instance trusts the front.
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
#define LINK_FDS	2	/* in one message, at most */

enum link_op {
	/* the front's */
	LINK_START,		/* the first one: @start; the page, the rules' text */
	LINK_CONFIG,		/* @config; the rules' text */
	LINK_CLIENT,		/* a client's socket */
	LINK_IDS,		/* @ids */
	LINK_ATTACH,		/* @take; a pidfd */
	LINK_END,		/* end all sessions, then go */
	LINK_GO,		/* the answer to LINK_BYE: there is nothing more to come */
	LINK_RELOADED,		/* @result, the answer to LINK_RELOAD */
	/* an instance's */
	LINK_HELLO,		/* it serves */
	LINK_REPORT,		/* @report */
	LINK_GOT,		/* @number: so many clients have arrived since it began */
	LINK_WANT_IDS,
	LINK_ATTACHED,		/* @result of the LINK_ATTACH with this @seq */
	LINK_RELOAD,		/* of root's: read the configuration again */
	LINK_BYE,		/* @number as of LINK_GOT: it has nothing to do any more */
	LINK_OPS
};

/** struct link_config - what an instance has to know of the configuration */
struct link_config {
	uint64_t give_up_ms, max_store, max_age_s;
	uint32_t workers, races;
	char store[PATH_MAX];	/* where this user's stores of rules are, "" = nowhere */
};

/** struct link_ids - numbers of sessions that nobody else has */
struct link_ids {
	uint32_t first, count;
};

struct link_start {
	struct user user;
	struct link_config config;
	struct link_ids ids;
	uint32_t sessions;	/* at a time, as far as limits of memory and descriptors go */
	char rundir[PATH_MAX];
};

/** struct link_attach - a process that a rule wants recorded */
struct link_attach {
	uint32_t seq;
	int32_t pid;
	uint32_t uid;		/* of the process, the real one.. */
	uint64_t start_ns;	/* ..and when it began; CLOCK_BOOTTIME */
	uint32_t flags;
	int32_t level;
	uint64_t ring_size, max_size;
	uint32_t transport;
	uint32_t shared, group;	/* as in struct policy_rule */
	char rule[256], comm[32];
	char path[PATH_MAX];	/* of the program */
	char store[PATH_MAX];	/* directory for the store */
};

struct link_result {
	uint32_t seq;
	int32_t result;
	char why[CONTROL_WHY];
};

/** struct link_counters - since the instance began; all are u64 */
struct link_counters {
	uint64_t begun, adopted, ended[DEP_CLOSE_CAUSES];
	uint64_t chunks, raw_bytes, stored_bytes;
	uint64_t stage_ns[STAGES], stage_chunks[STAGES];
	uint64_t requests, refused, removed, removed_bytes, cpu_ns;
	struct dep_loss loss;
};

/** struct link_gauges - now; all are u64 */
struct link_gauges {
	uint64_t open, clients, lag_chunks, lag_bytes, waiting_threads;
	uint64_t queue_jobs, workers, workers_busy, memory_bytes, fds;
};

struct link_rule {
	uint64_t name;		/* link_rule_name() */
	uint64_t open;		/* sessions of it */
};

/** struct link_report - how an instance is */
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
		struct link_attach take;
		struct link_result result;
		struct link_report report;
		uint64_t number;
	};
};

/**
 * link_send() - does not wait
 *
 * Return: 0, -EAGAIN: there is no room; -EPIPE: nobody is there; or another negative errno.
 */
int link_send(int sock, const struct link_msg *m, const int *fds, int n);
/**
 * link_receive() - the next message
 * @fds: receives LINK_FDS descriptors, -1: there is none
 * @wait: for one
 *
 * Return: 0; -EAGAIN; -EPIPE: at its end; -EPROTO: it is none of ours.
 */
int link_receive(int sock, struct link_msg *m, int *fds, bool wait);
uint64_t link_rule_name(const char *name);
/** link_add_info() - add the numbers of others */
void link_add_info(struct depd_info *to, const struct link_counters *c,
		   const struct link_gauges *g);

/* ---- shared_page.c: what all instances may see of the front ---- */

/** struct link_info - the front, and all but one instance */
struct link_info {
	int32_t pid;
	uint32_t policy_active;
	uint64_t start_ns, start_realtime_ns;
	uint32_t rules;
	uint32_t sessions_most;	/* that this instance may have open */
	uint64_t matches, missed;
	char trouble[CONTROL_WHY];
	struct link_counters counters;	/* of all others, also of those that have ended */
	struct link_gauges gauges;	/* likewise */
};

struct link_page;

#define LINK_ACCOUNTS_MAX 512	/* that root is shown */

/**
 * page_make() - a page that only the front can write to
 * @accounts: root's, which has them
 * @fd: to be passed on
 */
int page_make(struct link_page **p, bool accounts, int *fd);
void page_write(struct link_page *p, const struct link_info *info);
/** page_write_accounts() - harmless if it has none */
void page_write_accounts(struct link_page *p, const struct account_info *a, uint32_t n);
void page_free(struct link_page *p);
/** page_open() - an instance's view of it; takes @fd over */
int page_open(const struct link_page **p, int fd);
void page_read(const struct link_page *p, struct link_info *out);
/** page_account() - the @n-th; false: there are no more, or none are shown */
bool page_account(const struct link_page *p, size_t n, struct account_info *out);

#endif
