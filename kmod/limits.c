// SPDX-License-Identifier: GPL-2.0-only
/* Limits on memory, for each user and for all users, and on a user's sessions and orphans. */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "adept.h"

static unsigned int total_mb;
module_param(total_mb, uint, 0644);
MODULE_PARM_DESC(total_mb, "Maximum memory of all sessions, in MiB (default: 1/2 of memory)");

static unsigned int user_mb;
module_param(user_mb, uint, 0644);
MODULE_PARM_DESC(user_mb, "Maximum memory of a user's sessions, in MiB (default: 1/4 of memory)");

static unsigned int user_sessions = 1024;
module_param(user_sessions, uint, 0644);
MODULE_PARM_DESC(user_sessions, "Maximum number of sessions of a user");

static unsigned int user_orphans = 1024;
module_param(user_orphans, uint, 0644);
MODULE_PARM_DESC(user_orphans, "Maximum number of a user's sessions that wait for adoption");

static unsigned int orphan_max_s = 3600;
module_param(orphan_max_s, uint, 0644);
MODULE_PARM_DESC(orphan_max_s, "Maximum time that a session waits for adoption, in seconds");

/**
 * struct adept_user - a user that has sessions
 * @node: entry in the list of users
 * @uid: kernel uid
 * @sessions: number of sessions
 * @orphans: number of orphans among them
 * @bytes: bytes that the user is charged for rings and slots
 */
struct adept_user {
	struct list_head node;
	kuid_t uid;
	u64 sessions;
	u64 orphans;
	u64 bytes;
};

static LIST_HEAD(users);
static u64 total_bytes;
static DEFINE_SPINLOCK(users_lock);	/* protects users, total_bytes and struct adept_user */

static struct adept_user *find(kuid_t uid)
{
	struct adept_user *u;

	list_for_each_entry(u, &users, node)
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

kuid_t adept_user_self(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_fsuid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) ? current_fsuid() : ns->owner;
}

struct adept_user *adept_user_get(kuid_t uid)
{
	struct adept_user *u, *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);

	if (!new)
		return ERR_PTR(-ENOMEM);
	new->uid = uid;
	spin_lock(&users_lock);
	u = find(new->uid);
	if (!u) {
		u = new;
		list_add(&u->node, &users);
		new = NULL;
	}
	if (!adept_quota_add(&u->sessions, READ_ONCE(user_sessions), 1)) {
		if (!u->sessions) {
			list_del(&u->node);
			new = u;
		}
		u = ERR_PTR(-EDQUOT);
	}
	spin_unlock(&users_lock);
	kfree(new);
	return u;
}

void adept_user_put(struct adept_user *u)
{
	spin_lock(&users_lock);
	if (--u->sessions)
		u = NULL;
	else
		list_del(&u->node);
	spin_unlock(&users_lock);
	kfree(u);
}

kuid_t adept_user_uid(const struct adept_user *u)
{
	return u->uid;
}

bool adept_user_orphan(struct adept_user *u)
{
	bool ok;

	spin_lock(&users_lock);
	ok = adept_quota_add(&u->orphans, READ_ONCE(user_orphans), 1);
	spin_unlock(&users_lock);
	return ok;
}

void adept_user_unorphan(struct adept_user *u)
{
	spin_lock(&users_lock);
	u->orphans--;
	spin_unlock(&users_lock);
}

bool adept_charge(struct adept_user *u, u64 bytes)
{
	bool ok;

	spin_lock(&users_lock);
	ok = adept_quota_add(&total_bytes, (u64)READ_ONCE(total_mb) << 20, bytes);
	if (ok && !adept_quota_add(&u->bytes, (u64)READ_ONCE(user_mb) << 20, bytes)) {
		total_bytes -= bytes;
		ok = false;
	}
	spin_unlock(&users_lock);
	return ok;
}

void adept_uncharge(struct adept_user *u, u64 bytes)
{
	spin_lock(&users_lock);
	total_bytes -= bytes;
	u->bytes -= bytes;
	spin_unlock(&users_lock);
}

u32 adept_limit_orphan_ms(u32 ms)
{
	return min_t(u64, ms, READ_ONCE(orphan_max_s) * 1000ull);
}

void adept_limit_init(void)
{
	unsigned int mb = totalram_pages() >> (20 - PAGE_SHIFT);

	if (!total_mb)
		total_mb = mb / 2;
	if (!user_mb)
		user_mb = mb / 4;
}
