// SPDX-License-Identifier: GPL-2.0-only
/* Rings and their memory.  The caller holds the slot's lock unless said otherwise. */
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

int adept_ring_chunk(struct adept_session *s, struct adept_ring *r, u32 chunk)
{
	unsigned long i, n = chunk_pages(s);
	struct page **pages;

	if (r->pages[chunk])
		return 0;
	pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		pages[i] = fatal_signal_pending(current) ?
			NULL : alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[i]) {
			free_pages_of(pages, i);
			return -ENOMEM;
		}
		cond_resched();
	}
	/* Views read it without the lock of who fills in the content. */
	smp_store_release(&r->pages[chunk], pages);
	count_pages(s, n);
	return 0;
}

static void free_ring(struct adept_session *s, struct adept_ring *r)
{
	u32 i;

	for (i = 0; i < s->geo.nchunks; i++) {
		if (!r->pages[i])
			continue;
		free_pages_of(r->pages[i], chunk_pages(s));
		count_pages(s, -(long)chunk_pages(s));
	}
	if (r->info) {
		free_pages_exact(r->info, s->geo.info_stride);
		count_pages(s, -(long)(s->geo.info_stride >> PAGE_SHIFT));
	}
	put_pid(r->pid);
	kfree(r);
}

struct adept_ring *adept_ring_make(struct adept_session *s, u32 slot, struct vm_area_struct *vma,
				   const struct adept_context *ctx)
{
	struct adept_ring *r;
	int err = -ENOMEM;

	if (!adept_charge(s->user, adept_geo_ring_bytes(&s->geo)))
		return ERR_PTR(-EDQUOT);
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		goto uncharge;
	r->slot = slot;
	r->mm = vma->vm_mm;
	r->start = vma->vm_start;
	r->pid = get_pid(task_tgid(current));
	INIT_LIST_HEAD(&r->ready);
	r->info = alloc_pages_exact(s->geo.info_stride, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!r->info)
		goto free;
	count_pages(s, s->geo.info_stride >> PAGE_SHIFT);
	err = adept_ring_chunk(s, r, 0);
	if (err)
		goto free;
	adept_core_start(&r->core, s->geo.nchunks);
	r->info[0].head = *ctx;
	spin_lock(&s->lock);
	r->id = s->next_ring++;
	r->info[0].ring = r->id;
	list_add_tail(&r->all, &s->rings);
	s->slots[slot].ring = r;
	s->stats.rings++;
	s->stats.rings_made++;
	spin_unlock(&s->lock);
	adept_count(ADEPT_N_RINGS, 1);
	trace_adept_ring(s, r, ADEPT_RING_LIVE);
	return r;
free:
	free_ring(s, r);
uncharge:
	adept_uncharge(s->user, adept_geo_ring_bytes(&s->geo));
	return ERR_PTR(err);
}

static void unmap_ring(struct adept_session *s, u32 slot)
{
	const struct adept_geo *g = &s->geo;
	struct address_space *m = s->inode->i_mapping;

	unmap_mapping_range(m, slot * g->slot_stride, g->slot_stride, 1);
	unmap_mapping_range(m, ADEPT_DATA_OFF + slot * g->slot_stride, g->slot_stride, 1);
	unmap_mapping_range(m, ADEPT_INFO_OFF + slot * g->info_stride, g->info_stride, 1);
}

void adept_ring_free(struct adept_session *s, u32 slot)
{
	struct adept_ring *r = s->slots[slot].ring;
	u64 lost = 0, bytes = 0;
	u32 i;

	spin_lock(&s->lock);
	for (i = 0; i < s->geo.nchunks; i++) {
		if (r->core.chunk[i] != ADEPT_C_FILLED && r->core.chunk[i] != ADEPT_C_TAKEN)
			continue;
		lost++;
		bytes += r->info[i].end;
	}
	s->stats.lost_reset += lost;
	s->stats.lost_chunks += lost;
	s->stats.lost_bytes += bytes;
	s->unread -= adept_core_unread(&r->core);
	s->slots[slot].ring = NULL;
	s->stats.rings--;
	list_del(&r->all);
	list_del(&r->ready);
	spin_unlock(&s->lock);
	trace_adept_ring(s, r, ADEPT_RING_NONE);
	if (lost) {
		trace_adept_drop(s, r, bytes, ADEPT_LOSS_RESET);
		adept_count(ADEPT_N_LOST_CHUNKS, lost);
		adept_count(ADEPT_N_LOST_BYTES, bytes);
	}
	adept_count(ADEPT_N_RINGS, -1);
	/* Nothing maps them again: that takes the slot's lock, and finds no ring. */
	unmap_ring(s, slot);
	free_ring(s, r);
	adept_uncharge(s->user, adept_geo_ring_bytes(&s->geo));
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

bool adept_ring_filled(struct adept_session *s, struct adept_ring *r)
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
	return adept_ring_filled(s, r);
}

void adept_ring_map(struct adept_session *s, struct adept_ring *r, u32 chunk,
		    struct vm_area_struct *vma, unsigned long addr)
{
	unsigned long n = chunk_pages(s);

	/* What fails comes page by page, in faults of its own. */
	if (addr >= vma->vm_start && addr + (n << PAGE_SHIFT) <= vma->vm_end)
		vm_insert_pages(vma, addr, r->pages[chunk], &n);
}
