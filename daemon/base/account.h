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
	ACCOUNT_INSTANCES,	/* running instances; one for each set of credentials */
	ACCOUNT_DIRECTORIES,	/* directories of instances, including instances that ended */
	ACCOUNT_WAITING,	/* clients that no instance has accepted yet */
	ACCOUNT_USED,		/* pending processes that match a rule and are not attached yet */
	/* From here on: reported by instances or read from the kernel, never refused */
	ACCOUNT_SESSIONS,
	ACCOUNT_CLIENTS,
	ACCOUNT_MEMORY,		/* resident bytes */
	ACCOUNT_FDS,
	ACCOUNT_QUEUED,		/* lag: bytes published by programs and not stored yet */
	ACCOUNT_USED_KINDS,	/* kinds before this one are credited; later ones only grow */
	ACCOUNT_STORED = ACCOUNT_USED_KINDS,	/* bytes */
	ACCOUNT_CPU,		/* ns of processor time */
	ACCOUNT_KINDS
};

/* Token buckets; account.c has their rates. */
enum account_rate {
	RATE_CONNECTS,
	RATE_STARTS,
	RATE_IDS,
	RATE_MISSED,		/* messages about processes that run unrecorded */
	ACCOUNT_RATES
};

/* Limits of one account */
#define ACCOUNT_SESSIONS_MAX	32u
#define ACCOUNT_INSTANCES_MAX	4u
#define ACCOUNT_DIRECTORIES_MAX	32u
#define ACCOUNT_WAITING_MAX	64u
#define ACCOUNT_USED_MAX	128u
#define ACCOUNT_CLIENTS_MAX	64
#define ACCOUNT_FDS_MAX		4096u		/* of an instance */
#define ACCOUNT_MEMORY_BASE	(256ull << 20)	/* data of an instance.. */
#define ACCOUNT_MEMORY_SESSION	(8ull << 20)	/* ..and for each session */

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
 * Valid as long as it is charged with anything; see accounts_free_unused().
 * Return: the account; NULL: no memory.
 */
struct account *account_of(struct accounts *a, uid_t uid);
uid_t account_uid(const struct account *a);
/** account_get() - charge @n units.  Return: 0; -EUSERS: beyond the limit, counted as refused */
int account_get(struct account *a, enum account_what what, uint64_t n);
/** account_put() - credit @n units */
void account_put(struct account *a, enum account_what what, uint64_t n);
/** account_report() - replace a reported value @before by @now, without checking the limit */
void account_report(struct account *a, enum account_what what, uint64_t before, uint64_t now);
/** account_left() - units that can still be charged */
uint64_t account_left(const struct account *a, enum account_what what);
/** account_rate() - take up to @n tokens of a bucket.  Return: the number taken */
uint32_t account_rate(struct account *a, enum account_rate what, uint32_t n, uint64_t now_ns);
/** account_refused() - count one more refusal */
void account_refused(struct account *a);
/** accounts_free_unused() - free accounts that hold nothing and have full token buckets */
void accounts_free_unused(struct accounts *a, uint64_t now_ns);
/** accounts_list() - copy up to @max accounts to @out.  Return: the number copied */
size_t accounts_list(const struct accounts *a, struct account_info *out, size_t max);

/* ---- subuid.c ---- */

struct subuids;

/** subuid_open() - use the subuid(5) file @path; its user names are looked up in @passwd */
int subuid_open(struct subuids **s, const char *path, const char *passwd);
void subuid_close(struct subuids *s);
/**
 * subuid_owner() - find the owner of a subordinate uid
 *
 * Reads the subuid file again if it has changed.
 * Return: the owner; @uid itself if it is no subordinate uid.
 */
uid_t subuid_owner(struct subuids *s, uid_t uid);

#endif
