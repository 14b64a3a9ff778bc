/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that the module is built for, Linux 6.1 to 6.12.
 * ADEPT_LINUX is 601 to 612, see Kbuild.
 */
#ifndef ADEPT_COMPAT_H
#define ADEPT_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>

/* Linux 6.7 moved the declarations of io_uring commands to another header. */
#if ADEPT_LINUX < 607
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/* Linux 6.3 introduced functions to change the flags of a mapping. */
#if ADEPT_LINUX < 603
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Linux 6.3 replaced struct user_namespace by struct mnt_idmap in inode operations. */
#if ADEPT_LINUX < 603
#define adept_idmap user_namespace
#else
#define adept_idmap mnt_idmap
#endif

/* Since Linux 6.6, a fault can hold the lock of the mapping instead of the address space's lock. */
static inline void adept_fault_unlock(struct vm_fault *vmf)
{
#if ADEPT_LINUX < 606
	mmap_read_unlock(vmf->vma->vm_mm);
#else
	release_fault_lock(vmf);
#endif
}

/* Linux 6.6 moved the payload of an io_uring command to the submission queue entry. */
static inline const void *adept_uring_payload(const struct io_uring_cmd *cmd)
{
#if ADEPT_LINUX < 606
	return cmd->cmd;
#else
	return io_uring_sqe_cmd(cmd->sqe);
#endif
}

#endif
