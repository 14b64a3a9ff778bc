// SPDX-License-Identifier: GPL-2.0-only
/* The device /dev/adept of adept.ko, which creates, lists and adopts sessions. */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "adept.h"

static long version(void __user *arg)
{
	static const struct adept_version v = {
		.version = ADEPT_ABI_VERSION,
		.features = (IS_ENABLED(CONFIG_IO_URING) ? ADEPT_FEAT_URING : 0) |
			    ADEPT_FEAT_ADOPT | ADEPT_FEAT_DROP,
	};

	return copy_to_user(arg, &v, sizeof(v)) ? -EFAULT : 0;
}

static long list(void __user *arg)
{
	struct adept_session_list l;
	long err;

	if (copy_from_user(&l, arg, sizeof(l)))
		return -EFAULT;
	err = adept_session_list(&l);
	if (err)
		return err;
	return copy_to_user(arg, &l, sizeof(l)) ? -EFAULT : 0;
}

static long control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *p = (void __user *)arg;
	struct adept_session_create c;
	struct adept_session_adopt a;

	switch (cmd) {
	case ADEPT_IOC_VERSION:
		return version(p);
	case ADEPT_IOC_SESSION_CREATE:
		if (copy_from_user(&c, p, sizeof(c)))
			return -EFAULT;
		return adept_session_create(&c);
	case ADEPT_IOC_SESSION_LIST:
		return list(p);
	case ADEPT_IOC_SESSION_ADOPT:
		if (copy_from_user(&a, p, sizeof(a)))
			return -EFAULT;
		return adept_session_adopt(&a);
	}
	return -ENOTTY;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "adept",
	.mode = 0660,
	.fops = &control_fops,
	.groups = adept_count_groups,
};

#define AREA_MAX	((u64)ADEPT_SLOTS_MAX * ADEPT_CHUNKS_MAX * \
			 (ADEPT_CHUNK_SIZE_MAX + ADEPT_RING_GAP))
#define INFO_MAX	((u64)ADEPT_SLOTS_MAX * \
			 ALIGN(ADEPT_CHUNKS_MAX * sizeof(struct adept_chunk_info), PAGE_SIZE))

static int __init adept_init(void)
{
	int err;

	BUILD_BUG_ON(PAGE_SIZE != ADEPT_CORE_PAGE);
	BUILD_BUG_ON(sizeof(struct adept_context) != 256);
	BUILD_BUG_ON(sizeof(struct adept_chunk_info) != 640);
	BUILD_BUG_ON(AREA_MAX > ADEPT_DATA_OFF || ADEPT_DATA_OFF + AREA_MAX > ADEPT_INFO_OFF);
	BUILD_BUG_ON(ADEPT_INFO_OFF + INFO_MAX > BIT_ULL(32 + 12));
	adept_limit_init();
	err = adept_session_init();
	if (err)
		return err;
	err = misc_register(&control);
	if (err)
		adept_session_exit();
	return err;
}

static void __exit adept_exit(void)
{
	misc_deregister(&control);
	/* No session exists any more: every session holds a reference to the module. */
	adept_session_exit();
}

module_init(adept_init);
module_exit(adept_exit);

MODULE_DESCRIPTION("Rings of recorded threads, for the Adept profiler");
MODULE_AUTHOR("The Adept authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
