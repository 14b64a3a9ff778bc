// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writers' mappings, and the page fault that gives a writer its next chunk.
 *
 * Normally only the writer of a slot faults in the slot's range, but the code does not rely on it.
 * Rings are changed under session.lock.  After taking that lock again, a function checks that the
 * ring is still on its slot.  Memory is allocated without any lock, not even that of the address
 * space: the fault then returns VM_FAULT_RETRY, and the kernel's next attempt uses the memory.
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
 * struct turn - state of one page fault
 * @vmf: the kernel's description of the fault
 * @s: the session
 * @slot: the slot in whose range the fault is
 * @r: the slot's ring, with a reference, or NULL
 * @at: position of the fault in the writer area
 * @file: reference that keeps the session after the mapping's lock was dropped, or NULL
 * @fetch: after the locks are dropped, fault in the words at the writer's gs base, for
 *	adept_context.gs_words
 */
struct turn {
	struct vm_fault *vmf;
	struct adept_session *s;
	struct adept_slot *slot;
	struct adept_ring *r;
	struct adept_place at;
	struct file *file;
	bool fetch;
};

/* Callback after a writer's mapping of an orphan was removed; does not sleep. */
static void (*orphan_unmapped)(void) __ro_after_init;

/* Count and refuse an invalid access.  @how: fault result; the task gets SIGSEGV or SIGBUS. */
static vm_fault_t refuse(struct adept_session *s, vm_fault_t how)
{
	spin_lock(&s->lock);
	s->stats.refused++;
	spin_unlock(&s->lock);
	adept_count(ADEPT_N_REFUSED, 1);
	return how;
}

/* True if the current task did the store itself, in 64-bit code: its registers can be read. */
static bool own_store(const struct vm_fault *vmf)
{
	const unsigned int want = FAULT_FLAG_USER | FAULT_FLAG_WRITE;

	return (vmf->flags & want) == want && !(vmf->flags & FAULT_FLAG_REMOTE) &&
	       current->mm == vmf->vma->vm_mm && user_mode(current_pt_regs()) &&
	       user_64bit_mode(current_pt_regs());
}

/* True if the ring was created through this mapping, which cannot be removed during the fault. */
static bool own_ring(const struct turn *t)
{
	return t->r && READ_ONCE(t->r->mm) == t->vmf->vma->vm_mm &&
	       t->r->start == t->vmf->vma->vm_start;
}

static u64 chunk_off(const struct turn *t, u32 chunk)
{
	return adept_geo_chunk(&t->s->geo, t->at.slot, chunk);
}

static unsigned long chunk_addr(const struct turn *t, u32 chunk)
{
	return t->vmf->vma->vm_start + chunk_off(t, chunk);
}

/* True if the fault handler can return VM_FAULT_RETRY: allowed, and this is the first attempt. */
static bool may_retry(const struct turn *t)
{
	const unsigned int how = FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_TRIED;

	return (t->vmf->flags & how) == FAULT_FLAG_ALLOW_RETRY;
}

/* Drop the mapping's lock.  The mapping can then be removed: return VM_FAULT_RETRY afterwards. */
static void let_go_of_mapping(struct turn *t)
{
	t->file = get_file(t->vmf->vma->vm_file);
	adept_fault_unlock(t->vmf);
}

/*
 * Complete the mapping of pages.  If the ring was removed from its slot meanwhile, it was unmapped
 * too early for these pages: unmap them again.  This can only happen with a store to a slot that
 * its thread has left.
 */
static vm_fault_t mapped(struct turn *t, u64 off, u64 size)
{
	if (unlikely(READ_ONCE(t->slot->ring) != t->r))
		unmap_mapping_range(t->s->inode->i_mapping, off, size, 1);
	return VM_FAULT_NOPAGE;
}

/*
 * Allocate the spare ring of a slot.  The next attempt of the fault makes it the slot's ring.  If
 * no memory is free, the store faults again and again, until there is some or the writer is killed.
 */
static vm_fault_t get_spare(struct turn *t)
{
	struct adept_session *s = t->s;
	struct adept_ring *r;

	if (!may_retry(t))
		return VM_FAULT_NOPAGE;
	if (!adept_charge(s->user, adept_geo_ring_bytes(&s->geo)))
		return refuse(s, VM_FAULT_SIGBUS);
	let_go_of_mapping(t);
	r = adept_ring_prepare(s);
	spin_lock(&s->lock);
	if (!t->slot->ring && !t->slot->spare && !fatal_signal_pending(current))
		swap(t->slot->spare, r);
	spin_unlock(&s->lock);
	if (r)
		adept_ring_put(s, r);
	return VM_FAULT_RETRY;
}

/* Make the ring of a slot at the first store to the slot. */
static vm_fault_t make_ring(struct turn *t)
{
	struct adept_session *s = t->s;
	struct adept_context ctx;

	if (t->at.chunk || t->at.off >= PAGE_SIZE || !own_store(t->vmf))
		return refuse(s, VM_FAULT_SIGSEGV);
	adept_context_take(&ctx);
	spin_lock(&s->lock);
	if (!t->slot->ring && t->slot->spare) {
		t->r = adept_ring_install(s, t->at.slot, t->vmf->vma, &ctx);
		refcount_inc(&t->r->refs);
	}
	spin_unlock(&s->lock);
	if (!t->r)
		return get_spare(t);
	adept_ring_map(s, t->r, 0, t->vmf->vma, chunk_off(t, 0));
	return mapped(t, chunk_off(t, 0), s->geo.chunk_size);
}

/* Map one page of a chunk that has pages, or make the ring if the slot has none. */
static vm_fault_t map_page(struct turn *t)
{
	struct vm_fault *vmf = t->vmf;
	struct page **pages;
	int err;

	if (!t->r)
		return make_ring(t);
	pages = smp_load_acquire(&t->r->pages[t->at.chunk]);
	if (!own_ring(t) || !pages)
		return refuse(t->s, VM_FAULT_SIGSEGV);
	err = vm_insert_page(vmf->vma, vmf->address, pages[t->at.off >> PAGE_SHIFT]);
	if (err && err != -EBUSY)
		return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	return mapped(t, chunk_off(t, t->at.chunk) + (t->at.off & PAGE_MASK), PAGE_SIZE);
}

/*
 * Publish the current chunk and begin the next one.  The caller holds session.lock.
 * Return: true: wake the consumer.
 */
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
	return adept_ring_chunk_filled(t->s, t->r);
}

/* Count a lost chunk in @i, the info of the chunk after it.  The caller holds session.lock. */
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
 * Drop the oldest FILLED chunk, and record this loss and earlier ones in the chunk after it.  The
 * caller holds session.lock, which is dropped while the chunk is zeroed: no other code accesses a
 * CLEANING chunk.  If the ring is removed from its slot meanwhile, take_off() has subtracted this
 * chunk from session.unread.
 */
static void make_room(struct turn *t, u32 cause)
	__must_hold(&t->s->lock)
{
	struct adept_session *s = t->s;
	struct adept_core *c = &t->r->core;
	u32 i = adept_core_oldest(c);
	struct adept_chunk_info *old = &t->r->info[i], *after;
	int next;

	adept_core_oust(c, i, old->end);
	next = adept_core_oldest(c);
	after = &t->r->info[next < 0 ? c->cur : next];
	after->loss_causes |= old->loss_causes;
	after->lost_chunks += old->lost_chunks;
	after->lost_bytes += old->lost_bytes;
	count_loss(t, after, old->end, cause);
	s->stats.lost_published++;
	s->stats.bytes -= old->end;
	if (next < 0)
		list_del_init(&t->r->ready);
	spin_unlock(&s->lock);
	adept_count(ADEPT_N_LOST_CHUNKS, 1);
	adept_count(ADEPT_N_LOST_BYTES, old->end);
	adept_ring_zero(s, t->r, i, 0);
	spin_lock(&s->lock);
	if (t->slot->ring != t->r)
		return;
	adept_core_cleaned(c, i);
	s->unread--;
}

/*
 * Drop the content of the current chunk, except the unfinished record, which is moved to its start.
 * The caller holds session.lock.  Return: the size of that record; the caller zeroes the rest.
 */
static u32 drop_current_chunk(struct turn *t, const struct adept_hit *hit,
			      const struct adept_context *ctx, u32 cause)
{
	struct adept_core *c = &t->r->core;
	u32 carried = t->s->geo.chunk_size - hit->record_at;

	adept_core_anew(c, hit->record_at);
	count_loss(t, &t->r->info[c->cur], hit->record_at, cause);
	adept_ring_move(t->r, c->cur, hit->record_at, carried, c->cur);
	t->r->info[c->cur].carried = carried;
	t->r->info[c->cur].head = *ctx;
	return carried;
}

static bool must_wait(struct turn *t)
{
	struct adept_session *s = t->s;
	bool wait = false;
	u32 cause;

	spin_lock(&s->lock);
	if (t->slot->ring == t->r)
		wait = adept_core_step(&t->r->core, s->policy, adept_ring_consumer(s),
				       &cause) == ADEPT_STEP_WAIT;
	spin_unlock(&s->lock);
	return wait;
}

static long wait_timeout(const struct adept_session *s)
{
	u64 now = ktime_get_ns(), end;

	if (READ_ONCE(s->consumer))
		return MAX_SCHEDULE_TIMEOUT;
	end = READ_ONCE(s->orphan_ns) + s->create.orphan_wait_ms * (u64)NSEC_PER_MSEC;
	return end > now ? nsecs_to_jiffies(end - now) + 1 : 1;
}

/*
 * Wake a writer, but first remove its entry from the queue.  Otherwise the woken writer would spin
 * on the queue's lock, which is held while the wakeup interrupt is sent.
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

/* Sleep, without any lock, until a chunk may be free; the store then faults again. */
static vm_fault_t wait_for_chunk(struct turn *t)
{
	struct adept_session *s = t->s;
	struct adept_slot *slot = t->slot;
	u64 began = ktime_get_ns();
	DEFINE_WAIT_FUNC(wait, wake_writer);

	let_go_of_mapping(t);
	prepare_to_wait(&slot->wq, &wait, t->vmf->flags & FAULT_FLAG_INTERRUPTIBLE ?
			TASK_INTERRUPTIBLE : TASK_KILLABLE);
	if (must_wait(t))
		schedule_timeout(wait_timeout(s));
	finish_wait(&slot->wq, &wait);
	adept_count(ADEPT_N_WRITER_WAITS, 1);
	spin_lock(&s->lock);
	s->stats.waits++;
	s->stats.wait_ns += ktime_get_ns() - began;
	t->r->waiting = false;
	spin_unlock(&s->lock);
	t->fetch = true;
	return VM_FAULT_RETRY;
}

/* Allocate the pages of a chunk without any lock; the store then faults again. */
static vm_fault_t get_chunk(struct turn *t, u32 chunk)
{
	if (!may_retry(t))
		return VM_FAULT_NOPAGE;
	let_go_of_mapping(t);
	adept_ring_chunk(t->s, t->r, chunk);
	return VM_FAULT_RETRY;
}

/**
 * struct move - what to do, and what was done, at the end of a chunk
 * @hit: the store that ends the chunk
 * @step: the action
 * @ctx: the writer's registers, unless @step is ADEPT_STEP_WAIT
 * @gone: the ring is no longer on its slot
 * @wild: the store does not end the current chunk; it is refused
 * @next: for ADEPT_STEP_ADVANCE: index of the chunk to begin
 * @carried: for ADEPT_STEP_ANEW: bytes of the unfinished record, at the chunk's beginning
 * @cur: index of the chunk that the writer fills afterwards
 * @wake: the consumer must be woken
 * @no_pages: nothing was done, since chunk @next has no pages yet
 * @no_words: nothing was done, since the words at gs are not in memory
 */
struct move {
	struct adept_hit hit;
	enum adept_step step;
	struct adept_context ctx;
	int next;
	u32 carried;
	u32 cur;
	bool gone;
	bool wild;
	bool wake;
	bool no_pages;
	bool no_words;
};

/* Choose the action at the end of a chunk.  The caller holds session.lock; make_room() drops it. */
static void decide(struct turn *t, const struct pt_regs *regs, struct move *m, u32 *cause)
	__must_hold(&t->s->lock)
{
	unsigned long start = t->vmf->vma->vm_start;
	struct adept_session *s = t->s;
	struct adept_core *c = &t->r->core;

	for (;;) {
		m->gone = t->slot->ring != t->r;
		if (m->gone)
			return;
		m->wild = t->at.chunk != c->cur ||
			  !adept_geo_hit(&s->geo, t->at.slot, c->cur,
					 t->vmf->real_address - start, regs->r15 - start, &m->hit);
		if (m->wild)
			return;
		m->step = adept_core_step(c, s->policy, adept_ring_consumer(s), cause);
		if (m->step != ADEPT_STEP_OUST)
			return;
		make_room(t, *cause);
	}
}

/* Do the part of the action @m->step that needs session.lock, which the caller holds. */
static void act(struct turn *t, struct move *m, u32 cause)
{
	struct adept_core *c = &t->r->core;

	if (m->step == ADEPT_STEP_ADVANCE) {
		m->next = adept_core_free(c);
		m->no_pages = !t->r->pages[m->next];
		if (m->no_pages)
			return;
	}
	if (m->step == ADEPT_STEP_WAIT) {
		t->r->waiting = true;
		trace_adept_wait(t->s, t->r, c->cur, c->seq[c->cur]);
		return;
	}
	adept_context_take(&m->ctx);
	m->ctx.record_at = m->hit.record_at;
	m->ctx.fault_at = m->hit.fault_at;
	m->no_words = !(m->ctx.flags & ADEPT_CTX_GS_WORDS) && may_retry(t);
	if (m->no_words)
		return;
	if (m->step == ADEPT_STEP_ADVANCE)
		m->wake = advance(t, &m->hit, &m->ctx);
	else if (m->step == ADEPT_STEP_ANEW)
		m->carried = drop_current_chunk(t, &m->hit, &m->ctx, cause);
	else
		t->s->stats.after_end++;
	m->cur = c->cur;
}

/* Do the part of the action that needs no lock: wake the consumer, count, map, zero. */
static vm_fault_t follow_up(struct turn *t, const struct move *m)
{
	struct adept_session *s = t->s;

	if (m->step == ADEPT_STEP_ADVANCE) {
		adept_count(ADEPT_N_PUBLISHED, 1);
		if (m->wake && wq_has_sleeper(&s->wq))
			wake_up_interruptible_poll(&s->wq, EPOLLIN | EPOLLRDNORM);
		if (!(t->r->mapped & BIT(m->cur))) {
			t->r->mapped |= BIT(m->cur);
			adept_ring_map(s, t->r, m->cur, t->vmf->vma, chunk_off(t, m->cur));
			return mapped(t, chunk_off(t, m->cur), s->geo.chunk_size);
		}
	} else if (m->step == ADEPT_STEP_ANEW) {
		adept_count(ADEPT_N_LOST_CHUNKS, 1);
		adept_count(ADEPT_N_LOST_BYTES, m->hit.record_at);
		/* No other code uses a FILLING chunk; at most, the ring can end meanwhile. */
		adept_ring_zero(s, t->r, m->cur, m->carried);
	}
	return VM_FAULT_NOPAGE;
}

/* Handle a store into the gap after a chunk. */
static vm_fault_t move_on(struct turn *t, struct pt_regs *regs)
{
	struct move m = { .step = ADEPT_STEP_ENDED };
	u32 cause = 0;

	if (!own_store(t->vmf) || !own_ring(t))
		return refuse(t->s, VM_FAULT_SIGSEGV);
	spin_lock(&t->s->lock);
	decide(t, regs, &m, &cause);
	if (!m.gone && !m.wild)
		act(t, &m, cause);
	spin_unlock(&t->s->lock);

	if (m.gone)
		return VM_FAULT_NOPAGE;
	if (m.wild)
		return refuse(t->s, VM_FAULT_SIGSEGV);
	if (m.no_pages)
		return get_chunk(t, m.next);
	if (m.no_words) {
		let_go_of_mapping(t);
		t->fetch = true;
		return VM_FAULT_RETRY;
	}
	if (m.step == ADEPT_STEP_WAIT)
		return t->vmf->flags & FAULT_FLAG_ALLOW_RETRY ? wait_for_chunk(t) : VM_FAULT_NOPAGE;
	regs->r15 = chunk_addr(t, m.cur);
	return follow_up(t, &m);
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
	t.r = adept_ring_get(t.s, t.at.slot);
	if (t.at.off < t.s->geo.chunk_size)
		ret = map_page(&t);
	else if (t.r)
		ret = move_on(&t, regs);
	else
		ret = refuse(t.s, VM_FAULT_SIGSEGV);
	if (t.r)
		adept_ring_put(t.s, t.r);
	if (t.file)
		fput(t.file);
	/* Access to user memory can block for a long time, so do it without locks. */
	if (t.fetch)
		adept_context_fault_in();
	return ret;
}

static void writer_open(struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(vma->vm_file);

	spin_lock(&s->lock);
	s->writers++;
	spin_unlock(&s->lock);
}

/*
 * A writer's mapping was removed, so no thread can write to its rings any more: they are DEAD.
 * Clear ring.mm, since a later mm_struct can be at the same kernel address.
 */
static void writer_close(struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(vma->vm_file);
	bool wake = false, orphan, given_up;
	struct adept_ring *r;

	spin_lock(&s->lock);
	s->writers--;
	list_for_each_entry(r, &s->rings, all)
		if (r->mm == vma->vm_mm && r->start == vma->vm_start) {
			WRITE_ONCE(r->mm, NULL);
			wake |= adept_ring_end(s, r, ADEPT_RING_DEAD);
		}
	given_up = s->given_up;
	orphan = !s->consumer && !given_up;
	spin_unlock(&s->lock);
	if (wake)
		wake_up_interruptible_poll(&s->wq, EPOLLIN | EPOLLRDNORM);
	if (given_up)
		adept_ring_free_dead(s);
	else if (orphan)
		orphan_unmapped();
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

/*
 * True if the address space of @new already maps the writer area elsewhere.  A mapping that @new
 * replaces does not count: some kernels still have it in the list at this time.
 */
static bool mapped_elsewhere(const struct adept_session *s, const struct vm_area_struct *new)
{
	VMA_ITERATOR(vmi, new->vm_mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma)
		if (vma->vm_ops == &writer_ops && adept_session_of(vma->vm_file) == s &&
		    (vma->vm_end <= new->vm_start || vma->vm_start >= new->vm_end))
			return true;
	return false;
}

/*
 * Map the writer area, only once for each address space.  The number of mappings must stay small,
 * since freeing a ring visits all of them, and each fork() would double their number.
 */
int adept_writer_mmap(struct adept_session *s, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != s->geo.area_size ||
	    !(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (!(vma->vm_flags & VM_MAYWRITE))
		return -EACCES;
	if (mapped_elsewhere(s, vma))
		return -EBUSY;
	vm_flags_clear(vma, VM_MAYEXEC);
	/* After fork(), the child has the mapping, but none of its pages. */
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_WIPEONFORK);
	vma->vm_ops = &writer_ops;
	writer_open(vma);
	return 0;
}

void __init adept_writer_init(void (*unmapped)(void))
{
	orphan_unmapped = unmapped;
}
