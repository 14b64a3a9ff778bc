/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts: resources of root's depd that one person uses, and their limits.
 *
 * A person is a uid with all its subordinate uids (/etc/subuid), since a user namespace gives one
 * person many uids.  account_get() and account_rate() charge an account; account_put() credits it.
 * Root is not limited.
 */
#ifndef DEPD_BASE_ACCOUNT_H
#define DEPD_BASE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum account_what {
	ACCOUNT_INSTANCES,	/* running instances: a depd for each set of credentials */
	ACCOUNT_DIRECTORIES,	/* directories of instances, including instances that ended */
	ACCOUNT_WAITING,	/* clients that no instance has accepted yet */
	ACCOUNT_USED,		/* processes stopped at exec for a rule and not attached yet */
	/* The following are reported by instances or read from the kernel. */
	ACCOUNT_SESSIONS,
	ACCOUNT_CLIENTS,
	ACCOUNT_MEMORY,		/* resident memory in bytes */
	ACCOUNT_FDS,
	ACCOUNT_QUEUED,		/* lag: bytes published by programs and not stored yet */
	ACCOUNT_USED_KINDS,	/* number of kinds that can decrease; later ones only grow */
	ACCOUNT_STORED = ACCOUNT_USED_KINDS,	/* bytes written to stores */
	ACCOUNT_CPU,		/* ns of processor time */
	ACCOUNT_KINDS
};

/* Actions with a rate limit (token bucket); account.c sets the rates. */
enum account_rate {
	RATE_CONNECTS,
	RATE_STARTS,
	RATE_IDS,
	RATE_MISSED,		/* log messages about processes that run unrecorded */
	ACCOUNT_RATES
};

/* Limits of one account; memory in bytes */
#define ACCOUNT_SESSIONS_MAX	32u
#define ACCOUNT_INSTANCES_MAX	4u
#define ACCOUNT_DIRECTORIES_MAX	32u
#define ACCOUNT_WAITING_MAX	64u
#define ACCOUNT_USED_MAX	128u
#define ACCOUNT_CLIENTS_MAX	64
#define ACCOUNT_FDS_MAX		4096u		/* open descriptors of an instance */
#define ACCOUNT_MEMORY_BASE	(256ull << 20)	/* memory of an instance without sessions */
#define ACCOUNT_MEMORY_SESSION	(8ull << 20)	/* additional memory for each session */

/** struct account_info - copy of an account, for reports */
struct account_info {
	uint64_t uid, used[ACCOUNT_KINDS], refused;
};

struct accounts;
struct account;

int accounts_open(struct accounts **a);
void accounts_close(struct accounts *a);
/**
 * account_of() - find or create the account of the person that @uid belongs to
 *
 * accounts_free_unused() does not free the account while it is charged with anything.
 * Return: the account; NULL: no memory.
 */
struct account *account_of(struct accounts *a, uid_t uid);
uid_t account_uid(const struct account *a);
/** account_get() - charge @n units.  Return: 0; -EUSERS: above the limit, counted as refused */
int account_get(struct account *a, enum account_what what, uint64_t n);
/** account_put() - give back @n units that account_get() has charged */
void account_put(struct account *a, enum account_what what, uint64_t n);
/** account_report() - change a charge from @before to @now; the limit is not checked */
void account_report(struct account *a, enum account_what what, uint64_t before, uint64_t now);
/** account_left() - units that can still be charged without exceeding the limit */
uint64_t account_left(const struct account *a, enum account_what what);
/** account_rate() - take up to @n tokens from the bucket @what.  Return: the number taken */
uint32_t account_rate(struct account *a, enum account_rate what, uint32_t n, uint64_t now_ns);
/** account_refused() - count one more refusal */
void account_refused(struct account *a);
/** accounts_free_unused() - free accounts without charges whose token buckets are full */
void accounts_free_unused(struct accounts *a, uint64_t now_ns);
/** accounts_list() - copy up to @max accounts to @out.  Return: the number copied */
size_t accounts_list(const struct accounts *a, struct account_info *out, size_t max);

/* ---- subordinate uids: subuid.c ---- */

struct subuids;

/** subuid_open() - use the subuid(5) file @path; its user names are looked up in @passwd */
int subuid_open(struct subuids **s, const char *path, const char *passwd);
void subuid_close(struct subuids *s);
/**
 * subuid_owner() - find the owner of a subordinate uid
 *
 * Reads the subuid(5) file again if it has changed.
 * Return: the owner; @uid itself if it is not a subordinate uid.
 */
uid_t subuid_owner(struct subuids *s, uid_t uid);

#endif
