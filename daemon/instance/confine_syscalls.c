// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Seccomp filter against system calls that no instance needs: those that change the machine, mounts
 * or namespaces, and those that are most often used to attack the kernel.
 *
 * The tracer, the fd store's holder and live analyses inherit the filter.  So it allows ptrace(2)
 * and /proc/PID/mem, which without capabilities reach only the user's own processes.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "confine.h"

static const unsigned short refused[] = {
	/* kernel modules, kexec, settings of the machine */
	SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
	SYS_kexec_file_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_iopl, SYS_ioperm,
	SYS_syslog, SYS_acct, SYS_quotactl, SYS_quotactl_fd, SYS_settimeofday, SYS_clock_settime,
	SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
	/* BPF, perf events and other large kernel interfaces */
	SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_lookup_dcookie,
	SYS_add_key, SYS_request_key, SYS_keyctl, SYS_modify_ldt,
	/* mounts, namespaces */
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree,
	SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_setns,
	SYS_unshare, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_fanotify_init,
	SYS_fanotify_mark,
	/* credentials */
	SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
	SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capset,
};

#define NAMESPACES	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define COUNT		(sizeof(refused) / sizeof(refused[0]))
#define X32		0x40000000u

#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)	BPF_STMT(BPF_RET | BPF_K, (what))
#define UNLESS(op, k, skip) BPF_JUMP(BPF_JMP | (op) | BPF_K, (k), 0, (skip))
#define IF(op, k, skip)	BPF_JUMP(BPF_JMP | (op) | BPF_K, (k), (skip), 0)
#define REFUSE(err)	RETURN(SECCOMP_RET_ERRNO | (err))

int confine_calls(void)
{
	static const struct sock_filter head[] = {
		LOAD(arch),
		IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1),
		REFUSE(EPERM),
		LOAD(nr),
		UNLESS(BPF_JGE, X32, 1),
		REFUSE(EPERM),
		/* clone3: its flags are in memory, unreadable here; callers fall back to clone. */
		UNLESS(BPF_JEQ, SYS_clone3, 1),
		REFUSE(ENOSYS),
		UNLESS(BPF_JEQ, SYS_clone, 4),
		LOAD(args[0]),
		UNLESS(BPF_JSET, NAMESPACES, 1),
		REFUSE(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const unsigned short nhead = sizeof(head) / sizeof(head[0]);
	struct sock_filter f[sizeof(head) / sizeof(head[0]) + COUNT + 2];
	struct sock_fprog p = { .len = nhead + COUNT + 2, .filter = f };
	unsigned int i;

	for (i = 0; i < nhead; i++)
		f[i] = head[i];
	for (i = 0; i < COUNT; i++)
		f[nhead + i] = (struct sock_filter)IF(BPF_JEQ, refused[i],
						      (unsigned char)(COUNT - i));
	f[nhead + COUNT] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	f[nhead + COUNT + 1] = (struct sock_filter)REFUSE(EPERM);
	_Static_assert(COUNT < 255, "BPF jump offsets have 8 bits");
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) ? -errno : 0;
}
