// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pseudo file system for the inodes of sessions.  Each session has an inode of its own, so that
 * unmapping a ring visits only the mappings of that session.
 */
#include <linux/file.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "adept.h"

#define ADEPT_FS_MAGIC	0x61647074	/* "adpt" in ASCII */

static struct vfsmount *mount;
static int mount_count;
static const struct file_operations *session_fops __ro_after_init;
static void (*destroy_session)(struct adept_session *s) __ro_after_init;

static void evict_inode(struct inode *inode)
{
	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	if (inode->i_private)
		destroy_session(inode->i_private);
}

static const struct super_operations super_ops = {
	.statfs = simple_statfs,
	.evict_inode = evict_inode,
};

static int init_fs_context(struct fs_context *fc)
{
	struct pseudo_fs_context *ctx = init_pseudo(fc, ADEPT_FS_MAGIC);

	if (!ctx)
		return -ENOMEM;
	ctx->ops = &super_ops;
	return 0;
}

static struct file_system_type fs_type = {
	.name = "adept",
	.owner = THIS_MODULE,
	.init_fs_context = init_fs_context,
	.kill_sb = kill_anon_super,
};

/* Owner, mode and size of a session's inode cannot be changed. */
static int refuse_setattr(struct adept_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	return -EPERM;
}

static const struct inode_operations inode_ops = {
	.setattr = refuse_setattr,
};

struct file *adept_fs_file(struct adept_session *s)
{
	struct inode *inode;
	struct file *file;
	int err = simple_pin_fs(&fs_type, &mount, &mount_count);

	if (err)
		return ERR_PTR(err);
	inode = alloc_anon_inode(mount->mnt_sb);
	if (IS_ERR(inode)) {
		file = ERR_CAST(inode);
		goto out;
	}
	inode->i_mode |= S_IFREG;
	inode->i_uid = current_euid();
	inode->i_gid = current_egid();
	inode->i_op = &inode_ops;
	inode->i_fop = session_fops;
	/* alloc_file_pseudo() takes no reference to the module, but closing the file drops one. */
	__module_get(THIS_MODULE);
	file = alloc_file_pseudo(inode, mount, "adept", O_RDWR | O_CLOEXEC, session_fops);
	if (IS_ERR(file)) {
		module_put(THIS_MODULE);
		iput(inode);
		goto out;
	}
	s->inode = inode;
	inode->i_private = s;
out:
	/* Release the reference to the mount: the file has one of its own. */
	simple_release_fs(&mount, &mount_count);
	return file;
}

int __init adept_fs_init(const struct file_operations *fops,
			 void (*destroy)(struct adept_session *s))
{
	session_fops = fops;
	destroy_session = destroy;
	return register_filesystem(&fs_type);
}

void adept_fs_exit(void)
{
	unregister_filesystem(&fs_type);
}
