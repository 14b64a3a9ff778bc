// SPDX-License-Identifier: GPL-2.0-only
/* Views: the consumer's read-only mappings of chunks and of their struct adept_chunk_info. */
#include <linux/mm.h>

#include "adept.h"

/* Get the page at position @at, and map all pages of that chunk that @vma covers. */
static struct page *data_page(struct adept_session *s, struct adept_ring *r,
			      const struct adept_place *at, struct vm_area_struct *vma)
{
	struct page **pages;

	if (at->off >= s->geo.chunk_size)
		return NULL;
	pages = smp_load_acquire(&r->pages[at->chunk]);
	if (!pages)
		return NULL;
	adept_ring_map(s, r, at->chunk, vma,
		       ADEPT_DATA_OFF + adept_geo_chunk(&s->geo, at->slot, at->chunk));
	return pages[at->off >> PAGE_SHIFT];
}

/*
 * Handle a page fault in a view.  view_lock keeps the ring on its slot until the page is mapped.
 * The wait for it need not be killable: only commands of the session's own consumer hold it for
 * long, and their work is bounded.
 */
static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct adept_session *s = adept_session_of(vmf->vma->vm_file);
	u64 off = (u64)vmf->pgoff << PAGE_SHIFT;
	bool info = off >= ADEPT_INFO_OFF;
	struct adept_place at = { 0 };
	struct page *page = NULL;
	struct adept_ring *r;
	int err;

	off -= info ? ADEPT_INFO_OFF : ADEPT_DATA_OFF;
	if (info)
		at.slot = div64_u64(off, s->geo.info_stride);
	else if (!adept_geo_place(&s->geo, off, &at))
		return VM_FAULT_SIGBUS;
	down_read(&s->view_lock);
	r = adept_ring_get(s, at.slot);
	if (r && info)
		page = virt_to_page((void *)r->info + (off - at.slot * s->geo.info_stride));
	else if (r)
		page = data_page(s, r, &at, vmf->vma);
	err = page ? vm_insert_page(vmf->vma, vmf->address, page) : -ENOENT;
	up_read(&s->view_lock);
	if (r)
		adept_ring_put(s, r);
	if (!err || err == -EBUSY)
		return VM_FAULT_NOPAGE;
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static void view_open(struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(vma->vm_file);

	spin_lock(&s->lock);
	s->views++;
	spin_unlock(&s->lock);
}

static void view_close(struct vm_area_struct *vma)
{
	struct adept_session *s = adept_session_of(vma->vm_file);

	spin_lock(&s->lock);
	s->views--;
	spin_unlock(&s->lock);
}

/*
 * Check whether a view can be split, which makes one more view.  No lock is held, so simultaneous
 * splits in several address spaces can each exceed the limit by one.
 */
static int view_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	const struct adept_session *s = adept_session_of(vma->vm_file);

	return READ_ONCE(s->views) < ADEPT_VIEWS_MAX ? 0 : -ENOMEM;
}

static const struct vm_operations_struct view_ops = {
	.open = view_open,
	.close = view_close,
	.may_split = view_may_split,
	.fault = view_fault,
};

/* Count a new view.  Return: false: the session has too many views. */
static bool count_view(struct adept_session *s)
{
	bool ok;

	spin_lock(&s->lock);
	ok = s->views < ADEPT_VIEWS_MAX;
	s->views += ok;
	spin_unlock(&s->lock);
	return ok;
}

int adept_view_mmap(struct adept_session *s, struct vm_area_struct *vma)
{
	u64 off = (u64)vma->vm_pgoff << PAGE_SHIFT, size = vma->vm_end - vma->vm_start, room;

	if (off >= ADEPT_INFO_OFF) {
		off -= ADEPT_INFO_OFF;
		room = s->geo.info_size;
	} else {
		off -= ADEPT_DATA_OFF;
		room = s->geo.area_size;
	}
	if (off > room || size > room - off || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (!count_view(s))
		return -ENOMEM;
	vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_ops = &view_ops;
	return 0;
}
