// SPDX-License-Identifier: GPL-2.0-only
/* Allocation, mapping and removal of rings. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "adept.h"
#include "trace.h"

static unsigned long chunk_pages(const struct adept_session *s)
{
	return s->geo.chunk_size >> PAGE_SHIFT;
}

static void count_pages(struct adept_session *s, long n)
{
	adept_count(ADEPT_N_PAGES, n);
	spin_lock(&s->lock);
	s->stats.pages += n;
	spin_unlock(&s->lock);
}

static void free_pages_of(struct page **pages, unsigned long n)
{
	while (n)
		__free_page(pages[--n]);
	kvfree(pages);
}

/* Allocate a chunk's pages, charged to the caller's memory cgroup.  This can sleep for long. */
static struct page **alloc_chunk(struct adept_session *s)
{
	unsigned long i, n = chunk_pages(s);
	struct page **pages;

	pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	for (i = 0; i < n; i++) {
		pages[i] = fatal_signal_pending(current) ?
			NULL : alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[i]) {
			free_pages_of(pages, i);
			return NULL;
		}
		cond_resched();
	}
	count_pages(s, n);
	return pages;
}

static void free_chunk(struct adept_session *s, struct page **pages)
{
	if (!pages)
		return;
	free_pages_of(pages, chunk_pages(s));
	count_pages(s, -(long)chunk_pages(s));
}

bool adept_ring_chunk(struct adept_session *s, struct adept_ring *r, u32 chunk)
{
	struct page **pages = alloc_chunk(s);

	if (!pages)
		return false;
	spin_lock(&s->lock);
	if (!r->pages[chunk]) {
		/* Faults of views and writers read this pointer without session.lock. */
		smp_store_release(&r->pages[chunk], pages);
		pages = NULL;
	}
	spin_unlock(&s->lock);
	free_chunk(s, pages);
	return true;
}

static void free_ring(struct adept_session *s, struct adept_ring *r)
{
	u32 i;

	for (i = 0; i < s->geo.nchunks; i++)
		free_chunk(s, r->pages[i]);
	if (r->info) {
		free_pages_exact(r->info, s->geo.info_stride);
		count_pages(s, -(long)(s->geo.info_stride >> PAGE_SHIFT));
	}
	put_pid(r->pid);
	kfree(r);
	adept_uncharge(s->user, adept_geo_ring_bytes(&s->geo));
}

struct adept_ring *adept_ring_prepare(struct adept_session *s)
{
	struct adept_ring *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r) {
		adept_uncharge(s->user, adept_geo_ring_bytes(&s->geo));
		return NULL;
	}
	refcount_set(&r->refs, 1);
	INIT_LIST_HEAD(&r->ready);
	r->info = alloc_pages_exact(s->geo.info_stride, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (r->info) {
		count_pages(s, s->geo.info_stride >> PAGE_SHIFT);
		if (adept_ring_chunk(s, r, 0))
			return r;
	}
	free_ring(s, r);
	return NULL;
}

struct adept_ring *adept_ring_install(struct adept_session *s, u32 slot,
				      struct vm_area_struct *vma, const struct adept_context *ctx)
{
	struct adept_ring *r = s->slots[slot].spare;

	s->slots[slot].spare = NULL;
	r->slot = slot;
	r->mm = vma->vm_mm;
	r->start = vma->vm_start;
	r->pid = get_pid(task_tgid(current));
	r->mapped = BIT(0);
	adept_core_start(&r->core, s->geo.nchunks);
	r->info[0].head = *ctx;
	r->id = s->next_ring++;
	r->info[0].ring = r->id;
	list_add_tail(&r->all, &s->rings);
	WRITE_ONCE(s->slots[slot].ring, r);
	s->stats.rings++;
	s->stats.rings_made++;
	adept_count(ADEPT_N_RINGS, 1);
	trace_adept_ring(s, r, ADEPT_RING_LIVE);
	return r;
}

struct adept_ring *adept_ring_get(struct adept_session *s, u32 slot)
{
	struct adept_ring *r;

	spin_lock(&s->lock);
	r = s->slots[slot].ring;
	if (r)
		refcount_inc(&r->refs);
	spin_unlock(&s->lock);
	return r;
}

void adept_ring_put(struct adept_session *s, struct adept_ring *r)
{
	if (refcount_dec_and_test(&r->refs))
		free_ring(s, r);
}

static void unmap_ring(struct adept_session *s, u32 slot)
{
	const struct adept_geo *g = &s->geo;
	struct address_space *m = s->inode->i_mapping;

	unmap_mapping_range(m, slot * g->slot_stride, g->slot_stride, 1);
	unmap_mapping_range(m, ADEPT_DATA_OFF + slot * g->slot_stride, g->slot_stride, 1);
	unmap_mapping_range(m, ADEPT_INFO_OFF + slot * g->info_stride, g->info_stride, 1);
}

/*
 * Remove a ring from its slot and count its FILLED and TAKEN chunks as lost.  The caller holds
 * s->lock.  Return: the number of lost chunks; @bytes: receives their bytes
 */
static u64 take_off(struct adept_session *s, struct adept_ring *r, u64 *bytes)
{
	u64 lost = 0;
	u32 i;

	*bytes = 0;
	for (i = 0; i < s->geo.nchunks; i++) {
		if (r->core.chunk[i] != ADEPT_C_FILLED && r->core.chunk[i] != ADEPT_C_TAKEN)
			continue;
		lost++;
		*bytes += r->info[i].end;
	}
	s->stats.lost_reset += lost;
	s->stats.lost_chunks += lost;
	s->stats.lost_bytes += *bytes;
	s->unread -= adept_core_unread(&r->core);
	WRITE_ONCE(s->slots[r->slot].ring, NULL);
	s->stats.rings--;
	list_del(&r->all);
	list_del(&r->ready);
	trace_adept_ring(s, r, ADEPT_RING_NONE);
	if (lost)
		trace_adept_drop(s, r, *bytes, ADEPT_LOSS_RESET);
	return lost;
}

void adept_ring_free(struct adept_session *s, u32 slot, u32 id)
{
	u64 lost = 0, bytes = 0;
	struct adept_ring *r;

	/* So a fault in a view either maps its page before the unmapping, or finds no ring. */
	down_write(&s->view_lock);
	spin_lock(&s->lock);
	r = s->slots[slot].ring;
	if (r && r->id != id)
		r = NULL;
	if (r)
		lost = take_off(s, r, &bytes);
	spin_unlock(&s->lock);
	if (r)
		unmap_ring(s, slot);
	up_write(&s->view_lock);
	if (!r)
		return;
	if (lost) {
		adept_count(ADEPT_N_LOST_CHUNKS, lost);
		adept_count(ADEPT_N_LOST_BYTES, bytes);
	}
	adept_count(ADEPT_N_RINGS, -1);
	adept_ring_put(s, r);
}

void adept_ring_move(struct adept_ring *r, u32 from, u32 off, u32 len, u32 to)
{
	u8 *dst = page_address(r->pages[to][0]);
	u32 n;

	for (; len; off += n, len -= n, dst += n) {
		n = min_t(u32, len, PAGE_SIZE - offset_in_page(off));
		memcpy(dst, page_address(r->pages[from][off >> PAGE_SHIFT]) + offset_in_page(off),
		       n);
	}
}

void adept_ring_zero(const struct adept_session *s, struct adept_ring *r, u32 chunk, u32 off)
{
	unsigned long i = off >> PAGE_SHIFT, n = chunk_pages(s);

	if (offset_in_page(off)) {
		memset(page_address(r->pages[chunk][i]) + offset_in_page(off), 0,
		       PAGE_SIZE - offset_in_page(off));
		i++;
	}
	for (; i < n; i++) {
		clear_highpage(r->pages[chunk][i]);
		if (i % 64 == 0)
			cond_resched();
	}
}

bool adept_ring_chunk_filled(struct adept_session *s, struct adept_ring *r)
{
	bool first = list_empty(&s->ready);

	s->unread++;
	s->stats.published++;
	if (list_empty(&r->ready))
		list_add_tail(&r->ready, &s->ready);
	return first;
}

bool adept_ring_end(struct adept_session *s, struct adept_ring *r, u32 state)
{
	u32 i = r->core.cur;

	if (r->core.state == state)
		return false;
	trace_adept_ring(s, r, state);
	if (!adept_core_end(&r->core, state))
		return false;
	r->info[i].seq = r->core.seq[i];
	r->info[i].flags = r->core.flags[i];
	r->info[i].end = s->geo.chunk_size;
	trace_adept_publish(s, r, i, r->core.seq[i]);
	adept_count(ADEPT_N_PUBLISHED, 1);
	return adept_ring_chunk_filled(s, r);
}

void adept_ring_map(struct adept_session *s, struct adept_ring *r, u32 chunk,
		    struct vm_area_struct *vma, u64 off)
{
	u64 begin = off >> PAGE_SHIFT;
	u64 first = max_t(u64, begin, vma->vm_pgoff);
	u64 end = min_t(u64, begin + chunk_pages(s), vma->vm_pgoff + vma_pages(vma));
	unsigned long n;

	if (first >= end)
		return;
	n = end - first;
	/* On failure, later faults map the remaining pages one by one. */
	vm_insert_pages(vma, vma->vm_start + ((first - vma->vm_pgoff) << PAGE_SHIFT),
			r->pages[chunk] + (first - begin), &n);
}

enum adept_consumer adept_ring_consumer(const struct adept_session *s)
{
	if (s->consumer)
		return ADEPT_CONSUMER_THERE;
	return adept_consumer_state(false, s->given_up, ktime_get_ns(), s->orphan_ns,
				    s->create.orphan_wait_ms);
}

void adept_ring_wake_writers(struct adept_session *s)
{
	struct adept_ring *r;

	spin_lock(&s->lock);
	list_for_each_entry(r, &s->rings, all)
		if (r->waiting)
			wake_up(&s->slots[r->slot].wq);
	spin_unlock(&s->lock);
}

void adept_ring_free_dead(struct adept_session *s)
{
	struct adept_ring *r;
	u32 slot = 0, id = 0;
	bool found;

	do {
		found = false;
		spin_lock(&s->lock);
		list_for_each_entry(r, &s->rings, all) {
			found = r->core.state == ADEPT_RING_DEAD;
			slot = r->slot;
			id = r->id;
			if (found)
				break;
		}
		spin_unlock(&s->lock);
		if (found)
			adept_ring_free(s, slot, id);
		cond_resched();
	} while (found);
}
