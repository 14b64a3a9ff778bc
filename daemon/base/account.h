/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts: what one person has of root's depd, and may have.
 *
 * A person is a uid with all subordinate uids of it (/etc/subuid): by user namespaces one person
 * is many uids.  All that is granted is taken from an account by account_get() or
 * account_rate(), and given back by account_put(), here and nowhere else.  Root is not limited.
 */
#ifndef DEPD_BASE_ACCOUNT_H
#define DEPD_BASE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum account_what {
	ACCOUNT_INSTANCES,	/* processes for a set of credentials each */
	ACCOUNT_DIRECTORIES,	/* of instances, also left ones */
	ACCOUNT_WAITING,	/* clients that no instance has taken yet */
	ACCOUNT_USED,		/* processes that a rule wants and no instance has taken yet */
	ACCOUNT_SESSIONS,	/* these are reported.. */
	ACCOUNT_CLIENTS,
	ACCOUNT_MEMORY,		/* bytes that are resident */
	ACCOUNT_FDS,
	ACCOUNT_QUEUED,		/* bytes that programs have published and no store has yet */
	ACCOUNT_USED_KINDS,	/* those before it are given back; these only grow */
	ACCOUNT_STORED = ACCOUNT_USED_KINDS,	/* bytes */
	ACCOUNT_CPU,		/* ns of processor time */
	ACCOUNT_KINDS
};

enum account_rate {
	RATE_CONNECTS,
	RATE_STARTS,
	RATE_IDS,
	RATE_MISSED,		/* messages about processes that run unrecorded */
	ACCOUNT_RATES
};

/* What one person may have. */
#define ACCOUNT_SESSIONS_MAX	32u
#define ACCOUNT_INSTANCES_MAX	4u
#define ACCOUNT_DIRECTORIES_MAX	32u
#define ACCOUNT_WAITING_MAX	64u
#define ACCOUNT_USED_MAX	128u
#define ACCOUNT_CLIENTS_MAX	64
#define ACCOUNT_FDS_MAX		4096u		/* of an instance */
#define ACCOUNT_MEMORY_BASE	(256ull << 20)	/* data of an instance.. */
#define ACCOUNT_MEMORY_SESSION	(8ull << 20)	/* ..and for each session */

/** struct account_info - an account, to be shown */
struct account_info {
	uint64_t uid, used[ACCOUNT_KINDS], refused;
};

struct accounts;
struct account;

int accounts_open(struct accounts **a);
void accounts_close(struct accounts *a);
/** account_of() - whose uid it is; NULL: no memory.  Stays for as long as anything is taken. */
struct account *account_of(struct accounts *a, uid_t uid);
uid_t account_uid(const struct account *a);
/** account_get() - take @n: 0, or -EUSERS: that would be more than there is for one person */
int account_get(struct account *a, enum account_what what, uint64_t n);
void account_put(struct account *a, enum account_what what, uint64_t n);
/** account_report() - what was @before is @now; what is reported is not refused */
void account_report(struct account *a, enum account_what what, uint64_t before, uint64_t now);
/** account_left() - how many more there may be */
uint64_t account_left(const struct account *a, enum account_what what);
/** account_rate() - take up to @n of what time brings: how many, 0: later */
uint32_t account_rate(struct account *a, enum account_rate what, uint32_t n, uint64_t now_ns);
/** account_refused() - count it */
void account_refused(struct account *a);
/** accounts_free_unused() - forget those that have nothing */
void accounts_free_unused(struct accounts *a, uint64_t now_ns);
/** accounts_list() - up to @max of them: how many */
size_t accounts_list(const struct accounts *a, struct account_info *out, size_t max);

/* ---- subuid.c ---- */

struct subuids;

/** subuid_open() - from @path, which is of subuid(5)'s form; names are looked up in @passwd */
int subuid_open(struct subuids **s, const char *path, const char *passwd);
void subuid_close(struct subuids *s);
/** subuid_owner() - whose subordinate uid it is, or @uid itself; files are read anew if changed */
uid_t subuid_owner(struct subuids *s, uid_t uid);

#endif
