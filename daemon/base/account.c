// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"

/* Unused accounts are freed after this time, when all their token buckets are full again. */
#define FORGET_NS	60000000000ull

static const uint64_t limits[ACCOUNT_KINDS] = {
	[ACCOUNT_INSTANCES] = ACCOUNT_INSTANCES_MAX,
	[ACCOUNT_DIRECTORIES] = ACCOUNT_DIRECTORIES_MAX,
	[ACCOUNT_WAITING] = ACCOUNT_WAITING_MAX,
	[ACCOUNT_USED] = ACCOUNT_USED_MAX,
	[ACCOUNT_SESSIONS] = ACCOUNT_SESSIONS_MAX,
	[ACCOUNT_CLIENTS] = ACCOUNT_CLIENTS_MAX,
	[ACCOUNT_MEMORY] = ACCOUNT_INSTANCES_MAX *
			   (ACCOUNT_MEMORY_BASE + ACCOUNT_SESSIONS_MAX * ACCOUNT_MEMORY_SESSION),
	[ACCOUNT_FDS] = ACCOUNT_INSTANCES_MAX * ACCOUNT_FDS_MAX,
};

/* Rate limits as token buckets: @every_s tokens are added each second, up to @most tokens. */
static const struct {
	uint32_t every_s, most;
} rates[ACCOUNT_RATES] = {
	[RATE_CONNECTS] = { 100, 200 },
	[RATE_STARTS] = { 2, 16 },
	[RATE_IDS] = { 8, 128 },
	[RATE_MISSED] = { 1, 50 },
};

struct account {
	struct account *next;
	uid_t uid;
	uint64_t used[ACCOUNT_KINDS], refused, seen_ns;
	struct {
		uint64_t units;		/* tokens in the bucket, in billionths */
		uint64_t ns;		/* when @units was updated; 0: never, the bucket is full */
	} rate[ACCOUNT_RATES];
};

struct accounts {
	struct account *first;
	struct subuids *subuids;
};

int accounts_open(struct accounts **out)
{
	struct accounts *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	ret = subuid_open(&a->subuids, "/etc/subuid", "/etc/passwd");
	if (ret) {
		free(a);
		return ret;
	}
	*out = a;
	return 0;
}

void accounts_close(struct accounts *a)
{
	struct account *one;

	if (!a)
		return;
	while ((one = a->first)) {
		a->first = one->next;
		free(one);
	}
	subuid_close(a->subuids);
	free(a);
}

struct account *account_of(struct accounts *a, uid_t uid)
{
	uid_t owner = subuid_owner(a->subuids, uid);
	struct account *one;

	for (one = a->first; one; one = one->next)
		if (one->uid == owner)
			return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->uid = owner;
	one->next = a->first;
	a->first = one;
	return one;
}

uid_t account_uid(const struct account *a)
{
	return a->uid;
}

uint64_t account_left(const struct account *a, enum account_what what)
{
	if (!a->uid)
		return UINT32_MAX;
	return a->used[what] < limits[what] ? limits[what] - a->used[what] : 0;
}

int account_get(struct account *a, enum account_what what, uint64_t n)
{
	if (account_left(a, what) < n) {
		a->refused++;
		return -EUSERS;
	}
	a->used[what] += n;
	return 0;
}

void account_put(struct account *a, enum account_what what, uint64_t n)
{
	a->used[what] -= n < a->used[what] ? n : a->used[what];
}

void account_report(struct account *a, enum account_what what, uint64_t before, uint64_t now)
{
	account_put(a, what, before);
	a->used[what] += now;
}

uint32_t account_rate(struct account *a, enum account_rate what, uint32_t n, uint64_t now_ns)
{
	uint64_t most = rates[what].most * 1000000000ull, *units = &a->rate[what].units;
	uint64_t past = now_ns - a->rate[what].ns;

	a->seen_ns = now_ns;
	if (!a->uid)
		return n;
	if (!a->rate[what].ns || past > most / rates[what].every_s)
		*units = most;
	else
		*units += past * rates[what].every_s;
	if (*units > most)
		*units = most;
	a->rate[what].ns = now_ns;
	if (n > *units / 1000000000)
		n = *units / 1000000000;
	*units -= n * 1000000000ull;
	return n;
}

void account_refused(struct account *a)
{
	a->refused++;
}

static bool is_empty(const struct account *a)
{
	int i;

	for (i = 0; i < ACCOUNT_USED_KINDS; i++)
		if (a->used[i])
			return false;
	return true;
}

void accounts_free_unused(struct accounts *a, uint64_t now_ns)
{
	struct account **at = &a->first, *one;

	while ((one = *at)) {
		if (!is_empty(one) || now_ns - one->seen_ns < FORGET_NS) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
}

size_t accounts_list(const struct accounts *a, struct account_info *out, size_t max)
{
	const struct account *one;
	size_t n = 0;

	for (one = a->first; one && n < max; one = one->next) {
		out[n] = (struct account_info){ .uid = one->uid, .refused = one->refused };
		memcpy(out[n++].used, one->used, sizeof(one->used));
	}
	return n;
}
