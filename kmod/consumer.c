// SPDX-License-Identifier: GPL-2.0-only
/* The consumer's commands, which come by ioctl() or io_uring. */
#include <linux/pid.h>
#include <linux/uaccess.h>

#include "adept.h"
#include "trace.h"

#define BATCH	16

/* ---- exchange ---- */

static struct adept_ring *ring_of(struct adept_session *s, u32 slot, u32 id)
{
	struct adept_ring *r = slot < s->geo.nslots ? s->slots[slot].ring : NULL;

	return r && r->id == id ? r : NULL;
}

/*
 * Give one chunk back to its ring.  The caller holds consumer_lock, so no other command can free
 * the ring meanwhile.
 * Return: 1 if the ring's writer must be woken, else 0; or a negative errno.
 */
static int give_one(struct adept_session *s, const struct adept_give *g)
{
	struct adept_ring *r;
	int i = -ENOENT, wake;

	spin_lock(&s->lock);
	r = ring_of(s, g->slot, g->ring);
	if (r)
		i = adept_core_give(&r->core, g->seq);
	spin_unlock(&s->lock);
	if (i < 0)
		return i;
	trace_adept_give(s, r, i, g->seq);
	adept_ring_zero(s, r, i, 0);
	spin_lock(&s->lock);
	adept_core_cleaned(&r->core, i);
	s->unread--;
	s->stats.given++;
	wake = r->waiting;
	spin_unlock(&s->lock);
	return wake;
}

/*
 * Give back a batch of chunks, then wake the writers.  If a writer were woken after the first of
 * several chunks, it might fill that chunk and sleep again before the next one is given back.
 */
static int give_batch(struct adept_session *s, const struct adept_give *g, u32 n, u32 *given)
{
	DECLARE_BITMAP(wake, BATCH) = { 0 };
	int ret = 0;
	u32 i, k;

	for (i = 0; i < n; i++) {
		ret = give_one(s, &g[i]);
		if (ret < 0)
			break;
		__assign_bit(i, wake, ret);
	}
	adept_count(ADEPT_N_RETURNED, i);
	*given += i;
	for_each_set_bit(k, wake, i)
		if (k + 1 == i || g[k + 1].slot != g[k].slot)
			wake_up(&s->slots[g[k].slot].wq);
	return ret < 0 ? ret : 0;
}

static void give(struct adept_session *s, struct adept_exchange *x)
{
	const struct adept_give __user *from = u64_to_user_ptr(x->give);
	struct adept_give batch[BATCH];
	u32 n;
	int err;

	while (x->given < x->ngive) {
		n = min_t(u32, BATCH, x->ngive - x->given);
		err = copy_from_user(batch, from + x->given, n * sizeof(*batch)) ? -EFAULT :
		      give_batch(s, batch, n, &x->given);
		if (err) {
			x->give_error = -err;
			break;
		}
		cond_resched();
	}
}

/* Take the oldest chunk of a ring.  The caller holds s->lock. */
static void take_one(struct adept_session *s, struct adept_ring *r, struct adept_desc *d)
{
	u32 i = adept_core_oldest(&r->core);
	const struct adept_chunk_info *info = &r->info[i];

	*d = (struct adept_desc){
		.slot = r->slot,
		.ring = r->id,
		.seq = r->core.seq[i],
		.chunk = i,
		.flags = r->core.flags[i],
		.end = info->end,
		.loss_causes = info->loss_causes,
		.lost_bytes = info->lost_bytes,
	};
	adept_core_take(&r->core, i);
	s->stats.taken++;
	/* Serve the rings round robin: the next chunk is taken from another ring. */
	if (r->core.filled)
		list_move_tail(&r->ready, &s->ready);
	else
		list_del_init(&r->ready);
	trace_adept_take(s, r, i, d->seq);
}

static void untake(struct adept_session *s, const struct adept_desc *d)
{
	struct adept_ring *r = s->slots[d->slot].ring;

	adept_core_untake(&r->core, d->chunk);
	s->stats.taken--;
	if (list_empty(&r->ready))
		list_add(&r->ready, &s->ready);
}

static int take(struct adept_session *s, struct adept_exchange *x)
{
	struct adept_desc __user *to = u64_to_user_ptr(x->take);
	struct adept_desc batch[BATCH];
	u32 n;

	do {
		spin_lock(&s->lock);
		for (n = 0; n < BATCH && x->taken + n < x->ntake && !list_empty(&s->ready); n++)
			take_one(s, list_first_entry(&s->ready, struct adept_ring, ready),
				 &batch[n]);
		spin_unlock(&s->lock);
		if (copy_to_user(to + x->taken, batch, n * sizeof(*batch))) {
			spin_lock(&s->lock);
			while (n)
				untake(s, &batch[--n]);
			spin_unlock(&s->lock);
			return -EFAULT;
		}
		x->taken += n;
		adept_count(ADEPT_N_CONSUMED, n);
	} while (n == BATCH);
	return 0;
}

static int exchange(struct file *file, struct adept_exchange __user *arg, bool may_wait)
{
	struct adept_session *s = adept_session_of(file);
	struct adept_exchange x;
	int err;

	if (copy_from_user(&x, arg, sizeof(x)))
		return -EFAULT;
	if (x.flags || x.reserved[0] || x.reserved[1] || x.ngive > ADEPT_GIVE_MAX ||
	    x.ntake > ADEPT_TAKE_MAX)
		return -EINVAL;
	if (!may_wait) {
		if (!mutex_trylock(&s->consumer_lock))
			return -EAGAIN;
	} else if (mutex_lock_killable(&s->consumer_lock)) {
		return -EINTR;
	}
	x.given = 0;
	x.taken = 0;
	x.give_error = 0;
	give(s, &x);
	err = take(s, &x);
	mutex_unlock(&s->consumer_lock);
	if (copy_to_user(arg, &x, sizeof(x)))
		return -EFAULT;
	return err;
}

/*
 * Handle a command of io_uring.  It always completes synchronously.  The result is 0 or an error,
 * never positive: Linux 6.1 treats a positive result as a failure of the request.
 */
int adept_consumer_uring(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct adept_uring_cmd *u = adept_uring_payload(cmd);
	u64 arg = READ_ONCE(u->arg);	/* user space can change it at any time */

	if (READ_ONCE(u->reserved))
		return -EINVAL;
	if (cmd->cmd_op != ADEPT_IOC_EXCHANGE)
		return -ENOTTY;
	if (cmd->file != READ_ONCE(adept_session_of(cmd->file)->consumer))
		return -EACCES;
	return exchange(cmd->file, u64_to_user_ptr(arg), !(issue_flags & IO_URING_F_NONBLOCK));
}

__poll_t adept_consumer_poll(struct file *file, poll_table *wait)
{
	struct adept_session *s = adept_session_of(file);

	if (file != READ_ONCE(s->consumer))
		return EPOLLERR;
	poll_wait(file, &s->wq, wait);
	return list_empty_careful(&s->ready) ? 0 : EPOLLIN | EPOLLRDNORM;
}

/* ---- single rings ---- */

static int flush(struct adept_session *s, const struct adept_slot_cmd *c)
{
	struct adept_ring *r;
	bool wake = false;

	spin_lock(&s->lock);
	r = ring_of(s, c->slot, c->ring);
	if (r && r->core.state == ADEPT_RING_LIVE)
		wake = adept_ring_end(s, r, ADEPT_RING_ENDED);
	spin_unlock(&s->lock);
	if (!r)
		return -ENOENT;
	if (wake)
		wake_up_interruptible_poll(&s->wq, EPOLLIN | EPOLLRDNORM);
	/* Wake a writer that waits for a chunk: its ring is no longer LIVE and gets none. */
	wake_up(&s->slots[c->slot].wq);
	return 0;
}

/*
 * Free a ring that is not LIVE.  session.lock is dropped between check and action: a ring never
 * becomes LIVE again, and consumer_lock excludes other commands.
 */
static int reset(struct adept_session *s, const struct adept_slot_cmd *c)
{
	struct adept_ring *r;
	bool busy = false;

	spin_lock(&s->lock);
	r = ring_of(s, c->slot, c->ring);
	if (r)
		busy = r->core.state == ADEPT_RING_LIVE ||
		       (adept_core_unread(&r->core) && !(c->flags & ADEPT_RESET_FORCE));
	spin_unlock(&s->lock);
	if (!r)
		return -ENOENT;
	if (busy)
		return -EBUSY;
	adept_ring_free(s, c->slot, c->ring);
	return 0;
}

static long slot_command(struct adept_session *s, unsigned int cmd, void __user *arg)
{
	struct adept_slot_cmd c;
	int ret;

	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	if (c.slot >= s->geo.nslots || c.reserved ||
	    c.flags & ~(cmd == ADEPT_IOC_RESET ? ADEPT_RESET_FORCE : 0))
		return -EINVAL;
	if (mutex_lock_killable(&s->consumer_lock))
		return -EINTR;
	ret = cmd == ADEPT_IOC_RESET ? reset(s, &c) : flush(s, &c);
	mutex_unlock(&s->consumer_lock);
	return ret;
}

static long ring_info(struct adept_session *s, struct adept_ring_info __user *arg)
{
	struct adept_ring_info i;
	struct adept_ring *r;
	struct pid *pid = NULL;

	if (copy_from_user(&i, arg, sizeof(i)))
		return -EFAULT;
	if (i.slot >= s->geo.nslots)
		return -EINVAL;
	i = (struct adept_ring_info){ .slot = i.slot };
	spin_lock(&s->lock);
	r = s->slots[i.slot].ring;
	if (r) {
		pid = get_pid(r->pid);
		i.state = r->core.state;
		i.ring = r->id;
		i.seq = r->core.seq[r->core.cur];
		i.chunk = r->core.cur;
		i.filled = r->core.filled;
		i.taken = r->core.taken;
		i.waiting = r->waiting;
		i.lost_chunks = r->core.lost_chunks;
		i.lost_bytes = r->core.lost_bytes;
	}
	spin_unlock(&s->lock);
	i.pid = pid_vnr(pid);
	put_pid(pid);
	return copy_to_user(arg, &i, sizeof(i)) ? -EFAULT : 0;
}

/* ---- the session ---- */

static long set_policy(struct adept_session *s, const void __user *arg)
{
	struct adept_set_policy p;

	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.policy > ADEPT_POLICY_DISCARD || p.reserved)
		return -EINVAL;
	spin_lock(&s->lock);
	s->policy = p.policy;
	spin_unlock(&s->lock);
	adept_ring_wake_writers(s);
	return 0;
}

static long stats(struct adept_session *s, void __user *arg)
{
	struct adept_stats st;

	spin_lock(&s->lock);
	st = s->stats;
	spin_unlock(&s->lock);
	return copy_to_user(arg, &st, sizeof(st)) ? -EFAULT : 0;
}

long adept_consumer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct adept_session *s = adept_session_of(file);
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case ADEPT_IOC_EXCHANGE:
		return exchange(file, p, true);
	case ADEPT_IOC_FLUSH:
	case ADEPT_IOC_RESET:
		return slot_command(s, cmd, p);
	case ADEPT_IOC_RING_INFO:
		return ring_info(s, p);
	case ADEPT_IOC_SET_POLICY:
		return set_policy(s, p);
	case ADEPT_IOC_STATS:
		return stats(s, p);
	}
	return -ENOTTY;
}
