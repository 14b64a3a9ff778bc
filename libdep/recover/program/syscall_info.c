// SPDX-License-Identifier: LGPL-2.1-or-later
#include <sys/syscall.h>

#include "syscall_info.h"

bool dep_call_receives(u32 nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_mq_timedreceive:
		return true;
	}
	return false;
}
