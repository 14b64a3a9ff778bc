/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* System calls of the engine itself.  They return -errno on failure. */
#ifndef ADEPT_ENGINE_BASE_SYS_H
#define ADEPT_ENGINE_BASE_SYS_H

#include <asm/unistd.h>
#include "libdep/abi/types.h"

static inline s64 sys6(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	register u64 r10 __asm__("r10") = d;
	register u64 r8 __asm__("r8") = e;
	register u64 r9 __asm__("r9") = f;
	s64 ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define sys4(nr, a, b, c, d)	sys6(nr, a, b, c, d, 0, 0)
#define sys3(nr, a, b, c)	sys6(nr, a, b, c, 0, 0, 0)
#define sys2(nr, a, b)		sys6(nr, a, b, 0, 0, 0, 0)
#define sys1(nr, a)		sys6(nr, a, 0, 0, 0, 0, 0)
#define sys0(nr)		sys6(nr, 0, 0, 0, 0, 0, 0)

#define SYS_FUTEX_WAIT	0
#define SYS_FUTEX_WAKE	1

static inline s64 futex_wait(u32 *word, u32 val, const s64 timeout[2])
{
	return sys6(__NR_futex, (u64)word, SYS_FUTEX_WAIT, val, (u64)timeout, 0, 0);
}

static inline s64 futex_wake(u32 *word, u32 n)
{
	return sys3(__NR_futex, (u64)word, SYS_FUTEX_WAKE, n);
}

/* Constants of the kernel (asm-generic/mman.h). */
#define K_PROT_NONE	0
#define K_PROT_READ	1
#define K_PROT_WRITE	2
#define K_PROT_EXEC	4
#define K_MADV_DONTNEED	4
#define K_MADV_HUGEPAGE	14
#define K_MADV_NOHUGEPAGE 15
#define K_MADV_DONTDUMP	16
#define K_MADV_POPULATE_WRITE 23
#define K_MADV_COLLAPSE	25
#define K_MAP_SHARED	1
#define K_MAP_PRIVATE	2
#define K_MAP_FIXED	0x10
#define K_MAP_ANON	0x20
#define K_MAP_NORESERVE	0x4000
#define K_MAP_FIXED_NOREPLACE 0x100000

#define E_PERM 1
#define E_NOENT 2
#define E_SRCH 3
#define E_INTR 4
#define E_AGAIN 11
#define E_NOMEM 12
#define E_FAULT 14
#define E_INVAL 22
#define E_NOSYS 38

#endif
