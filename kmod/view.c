// SPDX-License-Identifier: GPL-2.0-only
/* The consumer's read-only mappings: chunks, and what is known of them. */
#include <linux/mm.h>

#include "adept.h"

/* The page at @off of the data area; its chunk's others with it, if they have room. */
static struct page *data_page(struct adept_session *s, struct vm_fault *vmf, u64 off)
{
	struct adept_place at;
	struct adept_ring *r;

	if (!adept_geo_place(&s->geo, off, &at) || at.off >= s->geo.chunk_size)
		return NULL;
	r = s->slots[at.slot].ring;
	if (!r || !r->pages[at.chunk])
		return NULL;
	adept_ring_map(s, r, at.chunk, vmf->vma, vmf->address - (at.off & PAGE_MASK));
	return r->pages[at.chunk][at.off >> PAGE_SHIFT];
}

static struct page *info_page(struct adept_session *s, u64 off)
{
	u32 slot = div64_u64(off, s->geo.info_stride);
	struct adept_ring *r = s->slots[slot].ring;

	if (!r)
		return NULL;
	return virt_to_page((void *)r->info + (off - slot * s->geo.info_stride));
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct adept_session *s = adept_session_of(vmf->vma->vm_file);
	u64 off = (u64)vmf->pgoff << PAGE_SHIFT;
	bool info = off >= ADEPT_INFO_OFF;
	struct adept_slot *slot;
	struct page *page;
	int err;

	off -= info ? ADEPT_INFO_OFF : ADEPT_DATA_OFF;
	slot = &s->slots[div64_u64(off, info ? s->geo.info_stride : s->geo.slot_stride)];
	mutex_lock(&slot->lock);
	page = info ? info_page(s, off) : data_page(s, vmf, off);
	err = page ? vm_insert_page(vmf->vma, vmf->address, page) : -ENOENT;
	mutex_unlock(&slot->lock);
	if (!err || err == -EBUSY)
		return VM_FAULT_NOPAGE;
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct view_ops = {
	.fault = view_fault,
};

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
	vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_ops = &view_ops;
	return 0;
}
