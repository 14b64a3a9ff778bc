// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of sessions: creation, loss of the consumer, adoption by a new consumer, and giving up.
 *
 * A session without a consumer is an orphan.  It has a reference to its own path, since there may
 * be no other reference.  The reaper gives an orphan up, and drops this reference, when the time
 * for adoption is over, or when the orphan has neither data nor a writer.  A session that is given
 * up frees its DEAD rings at once, and other rings when their writer's mapping is removed.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "adept.h"
#include "trace.h"

static LIST_HEAD(sessions);
static u64 last_id;
static DEFINE_SPINLOCK(adept_sessions_lock);

static void reap(struct work_struct *work);
static DECLARE_DELAYED_WORK(reaper, reap);

/* Run the reaper now: delayed work that gives orphans (sessions without a consumer) up. */
static void reap_soon(void)
{
	mod_delayed_work(system_unbound_wq, &reaper, 0);
}

static u64 slots_bytes(const struct adept_session_create *c)
{
	return sizeof(struct adept_session) + c->nslots * (u64)sizeof(struct adept_slot);
}

static void free_session(struct adept_session *s)
{
	kvfree(s->slots);
	adept_uncharge(s->user, slots_bytes(&s->create));
	adept_user_put(s->user);
	kfree(s);
}

/* Find the user to charge.  Return: 0 or a negative errno. */
static int charged_user(const struct adept_session_create *c, kuid_t *uid)
{
	*uid = adept_user_self();
	if (!(c->flags & ADEPT_CREATE_CHARGE_UID))
		return c->charge_uid ? -EINVAL : 0;
	if (uid_eq(make_kuid(current_user_ns(), c->charge_uid), current_fsuid()))
		return 0;
	*uid = make_kuid(current_user_ns(), c->charge_uid);
	if (!uid_valid(*uid))
		return -EINVAL;
	return capable(CAP_SETUID) ? 0 : -EPERM;
}

static struct adept_session *new_session(const struct adept_session_create *c, kuid_t charged)
{
	struct adept_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	int err;
	u32 i;

	if (!s)
		return ERR_PTR(-ENOMEM);
	err = adept_geo_init(&s->geo, c->chunk_size, c->nchunks, c->nslots);
	if (err)
		goto free;
	s->user = adept_user_get(charged);
	err = PTR_ERR_OR_ZERO(s->user);
	if (err)
		goto free;
	err = -EDQUOT;
	if (!adept_charge(s->user, slots_bytes(c)))
		goto put_user;
	s->slots = kvcalloc(c->nslots, sizeof(*s->slots), GFP_KERNEL_ACCOUNT);
	if (!s->slots) {
		err = -ENOMEM;
		goto uncharge;
	}
	for (i = 0; i < c->nslots; i++)
		init_waitqueue_head(&s->slots[i].wq);
	s->creator = current_euid();
	s->create = *c;
	s->create.orphan_wait_ms = adept_limit_orphan_ms(c->orphan_wait_ms);
	s->create.orphan_keep_ms = adept_limit_orphan_ms(c->orphan_keep_ms);
	s->policy = c->policy;
	mutex_init(&s->consumer_lock);
	init_rwsem(&s->view_lock);
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->node);
	INIT_LIST_HEAD(&s->rings);
	INIT_LIST_HEAD(&s->ready);
	init_waitqueue_head(&s->wq);
	return s;
uncharge:
	adept_uncharge(s->user, slots_bytes(c));
put_user:
	adept_user_put(s->user);
free:
	kfree(s);
	return ERR_PTR(err);
}

int adept_session_create(const struct adept_session_create *c)
{
	struct adept_session *s;
	struct file *file;
	kuid_t charged;
	int fd, err;

	if (c->version != ADEPT_ABI_VERSION)
		return -EPROTONOSUPPORT;
	if (c->flags & ~ADEPT_CREATE_CHARGE_UID || c->reserved0 ||
	    memchr_inv(c->reserved, 0, sizeof(c->reserved)) || c->policy > ADEPT_POLICY_DISCARD)
		return -EINVAL;
	err = charged_user(c, &charged);
	if (err)
		return err;
	s = new_session(c, charged);
	if (IS_ERR(s))
		return PTR_ERR(s);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		free_session(s);
		return fd;
	}
	file = adept_fs_file(s);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		free_session(s);
		return PTR_ERR(file);
	}
	spin_lock(&adept_sessions_lock);
	s->id = ++last_id;
	s->consumer = file;
	list_add_tail(&s->node, &sessions);
	spin_unlock(&adept_sessions_lock);
	adept_count(ADEPT_N_SESSIONS, 1);
	trace_adept_session(s, "create");
	fd_install(fd, file);
	return fd;
}

static void session_destroy(struct adept_session *s)
{
	u32 i;

	trace_adept_session(s, "destroy");
	spin_lock(&adept_sessions_lock);
	list_del(&s->node);
	spin_unlock(&adept_sessions_lock);
	for (i = 0; i < s->geo.nslots; i++) {
		if (s->slots[i].ring)
			adept_ring_free(s, i, s->slots[i].ring->id);
		if (s->slots[i].spare)
			adept_ring_put(s, s->slots[i].spare);
	}
	free_session(s);
	adept_count(ADEPT_N_SESSIONS, -1);
}

/* ---- orphans ---- */

static void unorphan(struct adept_session *s)
{
	s->orphan = false;
	adept_user_unorphan(s->user);
	adept_count(ADEPT_N_ORPHANS, -1);
}

static int session_release(struct inode *inode, struct file *file)
{
	struct adept_session *s = inode->i_private;
	bool keep;

	if (file != READ_ONCE(s->consumer))
		return 0;
	spin_lock(&adept_sessions_lock);
	keep = s->create.orphan_keep_ms && adept_user_orphan(s->user);
	spin_lock(&s->lock);
	s->orphan_ns = ktime_get_ns();
	s->given_up = !keep;
	s->consumer = NULL;
	spin_unlock(&s->lock);
	if (keep) {
		s->orphan = true;
		s->path = file->f_path;
		path_get(&s->path);
		adept_count(ADEPT_N_ORPHANS, 1);
	}
	trace_adept_session(s, keep ? "orphan" : "close");
	spin_unlock(&adept_sessions_lock);
	adept_ring_wake_writers(s);
	if (keep)
		reap_soon();
	else
		adept_ring_free_dead(s);
	return 0;
}

/* True if an orphan must be given up now; otherwise lower *@left to the time until then, in ns. */
static bool is_over(struct adept_session *s, u64 *left)
{
	u64 keep = s->create.orphan_keep_ms * (u64)NSEC_PER_MSEC, age;
	bool idle;

	spin_lock(&s->lock);
	age = ktime_get_ns() - s->orphan_ns;
	idle = !s->writers && !s->unread;
	spin_unlock(&s->lock);
	if (idle || age >= keep)
		return true;
	*left = min(*left, keep - age);
	return false;
}

static void reap(struct work_struct *work)
{
	struct adept_session *s, *next;
	u64 left = U64_MAX;
	LIST_HEAD(over);

	spin_lock(&adept_sessions_lock);
	list_for_each_entry_safe(s, next, &sessions, node) {
		if (s->orphan && is_over(s, &left)) {
			spin_lock(&s->lock);
			s->given_up = true;
			spin_unlock(&s->lock);
			unorphan(s);
			trace_adept_session(s, "given up");
			list_move(&s->node, &over);
		}
	}
	/*
	 * Move each session back into the list, where session_destroy() expects it, and drop its
	 * reference to itself.
	 */
	while (!list_empty(&over)) {
		struct path path;

		s = list_first_entry(&over, struct adept_session, node);
		list_move(&s->node, &sessions);
		path = s->path;
		spin_unlock(&adept_sessions_lock);
		adept_ring_wake_writers(s);
		adept_ring_free_dead(s);
		path_put(&path);
		spin_lock(&adept_sessions_lock);
	}
	spin_unlock(&adept_sessions_lock);
	if (left != U64_MAX)
		queue_delayed_work(system_unbound_wq, &reaper, nsecs_to_jiffies(left) + 1);
}

static bool may_adopt(const struct adept_session *s)
{
	return uid_eq(current_euid(), s->creator) || capable(CAP_SYS_ADMIN);
}

static struct adept_session *find(u64 id)
{
	struct adept_session *s;

	list_for_each_entry(s, &sessions, node)
		if (s->id == id)
			return s;
	return NULL;
}

static struct file *open_again(const struct path *path)
{
	return dentry_open(path, O_RDWR | O_CLOEXEC | O_LARGEFILE, current_cred());
}

/* Set a new consumer.  Chunks that the old one took and did not give back can be taken again. */
static void change_consumer(struct adept_session *s, struct file *file)
{
	struct adept_ring *r;
	u32 i;

	spin_lock(&s->lock);
	s->consumer = file;
	list_for_each_entry(r, &s->rings, all) {
		if (adept_core_redeliver(&r->core) && list_empty(&r->ready))
			list_add_tail(&r->ready, &s->ready);
		for (i = 0; i < r->core.nchunks; i++)
			if (r->core.chunk[i] == ADEPT_C_FILLED)
				r->info[i].flags = r->core.flags[i];
	}
	spin_unlock(&s->lock);
}

/* Check that @s can be adopted.  The caller holds adept_sessions_lock.  Return: 0 or -errno. */
static int check_adopt(const struct adept_session *s)
{
	if (!s)
		return -ENOENT;
	if (!may_adopt(s))
		return -EPERM;
	if (!s->orphan)
		return s->consumer ? -EBUSY : -ENOENT;
	return 0;
}

/* Open a file of an orphan for a new consumer, without spinlocks, since opening can sleep. */
static struct file *open_orphan(u64 id)
{
	struct adept_session *s;
	struct file *file;
	struct path path;
	int err;

	spin_lock(&adept_sessions_lock);
	s = find(id);
	err = check_adopt(s);
	if (!err) {
		path = s->path;
		path_get(&path);
	}
	spin_unlock(&adept_sessions_lock);
	if (err)
		return ERR_PTR(err);
	file = open_again(&path);
	path_put(&path);
	return file;
}

static struct file *adopt(u64 id)
{
	struct file *file = open_orphan(id);
	struct adept_session *s;
	struct path path;
	int err;

	if (IS_ERR(file))
		return file;
	s = adept_session_of(file);
	spin_lock(&adept_sessions_lock);
	/* Check again: another process can have adopted the session meanwhile. */
	err = check_adopt(s);
	if (!err) {
		path = s->path;
		unorphan(s);
		change_consumer(s, file);
		trace_adept_session(s, "adopt");
	}
	spin_unlock(&adept_sessions_lock);
	if (err) {
		fput(file);
		return ERR_PTR(err);
	}
	path_put(&path);
	return file;
}

int adept_session_adopt(const struct adept_session_adopt *a)
{
	struct file *file;
	int fd;

	if (a->flags || a->reserved)
		return -EINVAL;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = adopt(a->id);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	/* Writers check again: the session now has a consumer. */
	adept_ring_wake_writers(adept_session_of(file));
	fd_install(fd, file);
	return fd;
}

/* ---- list of sessions ---- */

void adept_session_info(struct adept_session *s, struct adept_session_info *i)
{
	*i = (struct adept_session_info){
		.id = s->id,
		.version = ADEPT_ABI_VERSION,
		.uid = from_kuid_munged(current_user_ns(), s->creator),
		.charge_uid = from_kuid_munged(current_user_ns(), adept_user_uid(s->user)),
		.chunk_size = s->geo.chunk_size,
		.nchunks = s->geo.nchunks,
		.nslots = s->geo.nslots,
		.orphan_wait_ms = s->create.orphan_wait_ms,
		.orphan_keep_ms = s->create.orphan_keep_ms,
		.chunk_stride = s->geo.chunk_stride,
		.slot_stride = s->geo.slot_stride,
		.area_size = s->geo.area_size,
		.data_off = ADEPT_DATA_OFF,
		.info_off = ADEPT_INFO_OFF,
		.info_size = s->geo.info_size,
		.info_stride = s->geo.info_stride,
	};
	memcpy(i->label, s->create.label, sizeof(i->label));
	spin_lock(&s->lock);
	i->policy = s->policy;
	i->writers = s->writers;
	i->rings = s->stats.rings;
	i->unread = s->unread;
	if (s->consumer) {
		i->state = ADEPT_SESSION_CONSUMED;
	} else {
		i->state = s->given_up ? 0 : ADEPT_SESSION_ORPHAN;
		i->orphan_ns = ktime_get_ns() - s->orphan_ns;
	}
	spin_unlock(&s->lock);
}

/* List sessions into a buffer first: copy_to_user() must not be called under a spinlock. */
int adept_session_list(struct adept_session_list *l)
{
	struct adept_session_info *i;
	struct adept_session *s;
	bool all = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	int err = 0;

	if (l->room > ADEPT_LIST_MAX || memchr_inv(l->reserved, 0, sizeof(l->reserved)))
		return -EINVAL;
	i = kvcalloc(l->room + 1, sizeof(*i), GFP_KERNEL_ACCOUNT);
	if (!i)
		return -ENOMEM;
	l->count = 0;
	spin_lock(&adept_sessions_lock);
	list_for_each_entry(s, &sessions, node) {
		if (!all && !uid_eq(current_euid(), s->creator))
			continue;
		if (l->count < l->room)
			adept_session_info(s, &i[l->count]);
		l->count++;
	}
	spin_unlock(&adept_sessions_lock);
	if (copy_to_user(u64_to_user_ptr(l->sessions), i, min(l->count, l->room) * sizeof(*i)))
		err = -EFAULT;
	kvfree(i);
	return err;
}

/* ---- the session's file ---- */

static int writer_fd(struct file *file)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *writer;

	if (fd < 0)
		return fd;
	writer = open_again(&file->f_path);
	if (IS_ERR(writer)) {
		put_unused_fd(fd);
		return PTR_ERR(writer);
	}
	fd_install(fd, writer);
	return fd;
}

static long session_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct adept_session *s = adept_session_of(file);
	struct adept_session_info info;

	if (cmd == ADEPT_IOC_SESSION_INFO) {
		adept_session_info(s, &info);
		return copy_to_user((void __user *)arg, &info, sizeof(info)) ? -EFAULT : 0;
	}
	if (file != READ_ONCE(s->consumer))
		return -EACCES;
	if (cmd == ADEPT_IOC_WRITER_FD)
		return arg ? -EINVAL : writer_fd(file);
	return adept_consumer_ioctl(file, cmd, arg);
}

/*
 * Only the consumer's open file can map views, and only other open files can map the writer area.
 * So a writer's mapping does not keep the consumer's file open, and writers cannot map the chunks
 * of other writers.
 */
static int session_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(file);
	bool consumer = file == READ_ONCE(s->consumer);
	bool view = vma->vm_pgoff >= ADEPT_DATA_OFF >> PAGE_SHIFT;

	if (view != consumer)
		return -EACCES;
	return view ? adept_view_mmap(s, vma) : adept_writer_mmap(s, vma);
}

static const struct file_operations session_fops = {
	.owner = THIS_MODULE,
	.release = session_release,
	.unlocked_ioctl = session_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = session_mmap,
	.poll = adept_consumer_poll,
	.uring_cmd = adept_consumer_uring,
};

int __init adept_session_init(void)
{
	adept_writer_init(reap_soon);
	return adept_fs_init(&session_fops, session_destroy);
}

void adept_session_exit(void)
{
	cancel_delayed_work_sync(&reaper);
	adept_fs_exit();
}
