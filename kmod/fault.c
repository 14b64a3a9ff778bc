// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writers' side: their mappings, and the fault that moves a writer on.
 *
 * Only the slot's own writer comes here as a rule, so its lock is not contended; what
 * the consumer and a mapping's end may do to the ring meanwhile is under the session's
 * lock.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>

#include "adept.h"
#include "trace.h"

/**
 * struct turn - one fault on its way
 * @vmf: as the kernel has it
 * @s: the session
 * @slot: the slot, locked
 * @r: its ring
 * @at: where it faulted
 */
struct turn {
	struct vm_fault *vmf;
	struct adept_session *s;
	struct adept_slot *slot;
	struct adept_ring *r;
	struct adept_place at;
};

/* A wild access ends as it would with no mapping there. */
static vm_fault_t refuse(struct adept_session *s, vm_fault_t how)
{
	spin_lock(&s->lock);
	s->stats.refused++;
	spin_unlock(&s->lock);
	adept_count(ADEPT_N_REFUSED, 1);
	return how;
}

/* Was it a store of this task in 64-bit code, whose registers are on its stack? */
static bool own_store(const struct vm_fault *vmf)
{
	const unsigned int want = FAULT_FLAG_USER | FAULT_FLAG_WRITE;

	return (vmf->flags & want) == want && !(vmf->flags & FAULT_FLAG_REMOTE) &&
	       current->mm == vmf->vma->vm_mm && user_mode(current_pt_regs()) &&
	       user_64bit_mode(current_pt_regs());
}

static bool own_ring(const struct turn *t)
{
	return t->r && t->r->mm == t->vmf->vma->vm_mm && t->r->start == t->vmf->vma->vm_start;
}

static unsigned long chunk_addr(const struct turn *t, u32 chunk)
{
	return t->vmf->vma->vm_start + adept_geo_chunk(&t->s->geo, t->at.slot, chunk);
}

/* A page in a chunk: the first of all makes the ring, others come back. */
static vm_fault_t map_page(struct turn *t)
{
	struct vm_fault *vmf = t->vmf;
	struct adept_context ctx;
	int err;

	if (!t->r) {
		if (t->at.chunk || t->at.off >= PAGE_SIZE || !own_store(vmf))
			return refuse(t->s, VM_FAULT_SIGSEGV);
		adept_context_take(&ctx);
		t->r = adept_ring_make(t->s, t->at.slot, vmf->vma, &ctx);
		if (IS_ERR(t->r))
			return PTR_ERR(t->r) == -ENOMEM ? VM_FAULT_OOM :
			       refuse(t->s, VM_FAULT_SIGBUS);
		adept_ring_map(t->s, t->r, 0, vmf->vma, chunk_addr(t, 0));
	}
	if (!own_ring(t) || !t->r->pages[t->at.chunk])
		return refuse(t->s, VM_FAULT_SIGSEGV);
	err = vm_insert_page(vmf->vma, vmf->address,
			     t->r->pages[t->at.chunk][t->at.off >> PAGE_SHIFT]);
	if (err && err != -EBUSY)
		return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	return VM_FAULT_NOPAGE;
}

/* Publish this chunk, begin the next.  Under the session's lock. */
static bool advance(struct turn *t, const struct adept_hit *hit, struct adept_context *ctx)
{
	struct adept_core *c = &t->r->core;
	struct adept_chunk_info *old = &t->r->info[c->cur], *new;
	u32 carried = t->s->geo.chunk_size - hit->record_at;
	u32 next = adept_core_free(c), cur = c->cur;

	new = &t->r->info[next];
	adept_ring_move(t->r, cur, hit->record_at, carried, next);
	old->seq = c->seq[cur];
	old->flags = 0;
	old->end = hit->record_at;
	old->tail = *ctx;
	memset(new, 0, sizeof(*new));
	new->ring = t->r->id;
	new->carried = carried;
	new->head = *ctx;
	adept_core_advance(c);
	t->s->stats.bytes += hit->record_at;
	trace_adept_publish(t->s, t->r, cur, old->seq);
	return adept_ring_filled(t->s, t->r);
}

/* Count a chunk lost directly before that of @i.  Under the session's lock. */
static void count_loss(struct turn *t, struct adept_chunk_info *i, u64 bytes, u32 cause)
{
	struct adept_stats *st = &t->s->stats;

	i->loss_causes |= cause;
	i->lost_chunks++;
	i->lost_bytes += bytes;
	st->lost_chunks++;
	st->lost_bytes += bytes;
	st->lost_full += cause == ADEPT_LOSS_FULL;
	st->lost_no_consumer += cause == ADEPT_LOSS_NO_CONSUMER;
	st->lost_discard += cause == ADEPT_LOSS_DISCARD;
	trace_adept_drop(t->s, t->r, bytes, cause);
}

/*
 * Give up the oldest chunk that nobody took, with what was lost before it.  Under the
 * session's lock, but while zeroing: nobody else touches what is CLEANING.
 */
static void make_room(struct turn *t, u32 cause)
	__must_hold(&t->s->lock)
{
	struct adept_session *s = t->s;
	struct adept_core *c = &t->r->core;
	u32 i = adept_core_oldest(c);
	struct adept_chunk_info *old = &t->r->info[i], *behind;
	int next;

	adept_core_oust(c, i, old->end);
	next = adept_core_oldest(c);
	behind = &t->r->info[next < 0 ? c->cur : next];
	behind->loss_causes |= old->loss_causes;
	behind->lost_chunks += old->lost_chunks;
	behind->lost_bytes += old->lost_bytes;
	count_loss(t, behind, old->end, cause);
	s->stats.lost_published++;
	s->stats.bytes -= old->end;
	if (next < 0)
		list_del_init(&t->r->ready);
	spin_unlock(&s->lock);
	adept_count(ADEPT_N_LOST_CHUNKS, 1);
	adept_count(ADEPT_N_LOST_BYTES, old->end);
	adept_ring_zero(s, t->r, i, 0);
	spin_lock(&s->lock);
	adept_core_cleaned(c, i);
	s->unread--;
}

/* Under the session's lock; the chunk's content follows. */
static void lose_own(struct turn *t, const struct adept_hit *hit, u32 cause)
{
	struct adept_core *c = &t->r->core;

	adept_core_anew(c, hit->record_at);
	count_loss(t, &t->r->info[c->cur], hit->record_at, cause);
}

/* The chunk is FILLING, so nobody else looks at it; only its end may come meanwhile. */
static void begin_anew(struct turn *t, const struct adept_hit *hit,
		       const struct adept_context *ctx)
{
	u32 cur = t->r->core.cur, carried = t->s->geo.chunk_size - hit->record_at;

	adept_ring_move(t->r, cur, hit->record_at, carried, cur);
	adept_ring_zero(t->s, t->r, cur, carried);
	t->r->info[cur].carried = carried;
	t->r->info[cur].head = *ctx;
}

static bool must_wait(struct adept_session *s, struct adept_slot *slot, u32 id)
{
	struct adept_ring *r;
	bool wait = false;
	u32 cause;

	spin_lock(&s->lock);
	r = slot->ring;
	if (r && r->id == id)
		wait = adept_core_step(&r->core, s->policy, adept_session_who(s), &cause) ==
		       ADEPT_STEP_WAIT;
	spin_unlock(&s->lock);
	return wait;
}

static long patience(const struct adept_session *s)
{
	u64 now = ktime_get_ns(), end;

	if (READ_ONCE(s->consumer))
		return MAX_SCHEDULE_TIMEOUT;
	end = READ_ONCE(s->orphan_ns) + s->create.orphan_wait_ms * (u64)NSEC_PER_MSEC;
	return end > now ? nsecs_to_jiffies(end - now) + 1 : 1;
}

/*
 * Off the queue first: who wakes up and is still on it spins for the queue's lock, which is
 * held while the interrupt that wakes it is sent.
 */
static int wake_writer(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	struct task_struct *writer = wait->private;
	int woken;

	get_task_struct(writer);
	list_del_init_careful(&wait->entry);
	woken = wake_up_process(writer);
	put_task_struct(writer);
	return woken;
}

/* Sleep outside of all locks until the next chunk may be free, then fault again. */
static vm_fault_t wait_for_chunk(struct turn *t)
{
	struct adept_session *s = t->s;
	struct adept_slot *slot = t->slot;
	unsigned int flags = t->vmf->flags;
	struct file *file = get_file(t->vmf->vma->vm_file);
	u32 id = t->r->id;
	u64 began = ktime_get_ns();
	DEFINE_WAIT_FUNC(wait, wake_writer);

	trace_adept_wait(s, t->r, t->r->core.cur, t->r->core.seq[t->r->core.cur]);
	mutex_unlock(&slot->lock);
	adept_fault_unlock(t->vmf);
	prepare_to_wait(&slot->wq, &wait,
			flags & FAULT_FLAG_INTERRUPTIBLE ? TASK_INTERRUPTIBLE : TASK_KILLABLE);
	if (must_wait(s, slot, id))
		schedule_timeout(patience(s));
	finish_wait(&slot->wq, &wait);
	adept_count(ADEPT_N_WAITS, 1);
	spin_lock(&s->lock);
	s->stats.waits++;
	s->stats.wait_ns += ktime_get_ns() - began;
	if (slot->ring && slot->ring->id == id)
		slot->ring->waiting = false;
	spin_unlock(&s->lock);
	fput(file);
	adept_context_fault_in();
	return VM_FAULT_RETRY;
}

/* The words that tell where registers are were not in memory: get them, then fault again. */
static vm_fault_t fetch_words(struct turn *t)
{
	mutex_unlock(&t->slot->lock);
	adept_fault_unlock(t->vmf);
	adept_context_fault_in();
	return VM_FAULT_RETRY;
}

static bool may_fetch(const struct turn *t)
{
	const unsigned int how = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_TRIED;

	return (t->vmf->flags & how) == FAULT_FLAG_ALLOW_RETRY;
}

/* The store met the gap behind its chunk. */
static vm_fault_t move_on(struct turn *t, struct pt_regs *regs)
{
	struct vm_area_struct *vma = t->vmf->vma;
	struct adept_session *s = t->s;
	struct adept_core *c = &t->r->core;
	struct adept_context ctx;
	struct adept_hit hit;
	enum adept_step step;
	bool wake = false, fresh = false;
	int next = 0;
	u32 cause;

	if (!own_store(t->vmf) || !own_ring(t) || t->at.chunk != c->cur ||
	    !adept_geo_hit(&s->geo, t->at.slot, c->cur, t->vmf->real_address - vma->vm_start,
			   regs->r15 - vma->vm_start, &hit))
		return refuse(s, VM_FAULT_SIGSEGV);
again:
	spin_lock(&s->lock);
	while ((step = adept_core_step(c, s->policy, adept_session_who(s), &cause)) ==
	       ADEPT_STEP_OUST)
		make_room(t, cause);
	if (step == ADEPT_STEP_ADVANCE)
		next = adept_core_free(c);
	if (step == ADEPT_STEP_ADVANCE && !t->r->pages[next]) {
		spin_unlock(&s->lock);
		if (adept_ring_chunk(s, t->r, next))
			return VM_FAULT_OOM;
		fresh = true;
		goto again;
	}
	if (step != ADEPT_STEP_WAIT) {
		adept_context_take(&ctx);
		ctx.record_at = hit.record_at;
		ctx.fault_at = hit.fault_at;
		if (!(ctx.flags & ADEPT_CTX_GS_WORDS) && may_fetch(t)) {
			spin_unlock(&s->lock);
			return fetch_words(t);
		}
	}
	if (step == ADEPT_STEP_ADVANCE)
		wake = advance(t, &hit, &ctx);
	else if (step == ADEPT_STEP_ANEW)
		lose_own(t, &hit, cause);
	else if (step == ADEPT_STEP_WAIT)
		t->r->waiting = true;
	else
		s->stats.after_end++;
	spin_unlock(&s->lock);

	switch (step) {
	case ADEPT_STEP_WAIT:
		if (t->vmf->flags & FAULT_FLAG_ALLOW_RETRY)
			return wait_for_chunk(t);
		return VM_FAULT_NOPAGE;
	case ADEPT_STEP_ADVANCE:
		adept_count(ADEPT_N_PUBLISHED, 1);
		if (wake && wq_has_sleeper(&s->wq))
			wake_up_interruptible_poll(&s->wq, EPOLLIN | EPOLLRDNORM);
		if (fresh)
			adept_ring_map(s, t->r, next, vma, chunk_addr(t, next));
		break;
	case ADEPT_STEP_ANEW:
		adept_count(ADEPT_N_LOST_CHUNKS, 1);
		adept_count(ADEPT_N_LOST_BYTES, hit.record_at);
		begin_anew(t, &hit, &ctx);
		break;
	case ADEPT_STEP_OUST:
	case ADEPT_STEP_ENDED:
		break;
	}
	regs->r15 = chunk_addr(t, c->cur);
	return VM_FAULT_NOPAGE;
}

static vm_fault_t writer_fault(struct vm_fault *vmf)
{
	struct pt_regs *regs = current_pt_regs();
	struct turn t = { .vmf = vmf, .s = adept_session_of(vmf->vma->vm_file) };
	vm_fault_t ret;

	if (!adept_geo_place(&t.s->geo, vmf->real_address - vmf->vma->vm_start, &t.at))
		return refuse(t.s, VM_FAULT_SIGSEGV);
	if (trace_adept_fault_enabled())
		trace_adept_fault(t.s, &t.at, own_store(vmf) ? regs->r15 : 0, vmf->flags);
	t.slot = &t.s->slots[t.at.slot];
	mutex_lock(&t.slot->lock);
	t.r = t.slot->ring;
	if (t.at.off < t.s->geo.chunk_size)
		ret = map_page(&t);
	else if (t.r)
		ret = move_on(&t, regs);
	else
		ret = refuse(t.s, VM_FAULT_SIGSEGV);
	/* Who waited has let go of it. */
	if (!(ret & VM_FAULT_RETRY))
		mutex_unlock(&t.slot->lock);
	return ret;
}

static void writer_open(struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(vma->vm_file);

	spin_lock(&s->lock);
	s->writers++;
	spin_unlock(&s->lock);
}

/* The mapping is gone, and with it all who wrote through it. */
static void writer_close(struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(vma->vm_file);
	bool wake = false, reap;
	struct adept_ring *r;

	spin_lock(&s->lock);
	s->writers--;
	list_for_each_entry(r, &s->rings, all)
		if (r->mm == vma->vm_mm && r->start == vma->vm_start)
			wake |= adept_ring_end(s, r, ADEPT_RING_DEAD);
	reap = !s->consumer;
	spin_unlock(&s->lock);
	if (wake)
		wake_up_interruptible_poll(&s->wq, EPOLLIN | EPOLLRDNORM);
	if (reap)
		adept_session_reap();
}

static int refuse_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static int refuse_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct writer_ops = {
	.open = writer_open,
	.close = writer_close,
	.fault = writer_fault,
	.may_split = refuse_split,
	.mremap = refuse_mremap,
};

int adept_writer_mmap(struct adept_session *s, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != s->geo.area_size ||
	    !(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (!(vma->vm_flags & VM_MAYWRITE))
		return -EACCES;
	vm_flags_clear(vma, VM_MAYEXEC);
	/* A child gets the mapping, but none of its pages. */
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_WIPEONFORK);
	vma->vm_ops = &writer_ops;
	writer_open(vma);
	return 0;
}

void adept_wake_writers(struct adept_session *s)
{
	struct adept_ring *r;

	spin_lock(&s->lock);
	list_for_each_entry(r, &s->rings, all)
		if (r->waiting)
			wake_up(&s->slots[r->slot].wq);
	spin_unlock(&s->lock);
}
