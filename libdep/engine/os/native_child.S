/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page in which a forked child leaves the engine: see native_child.c. */
#include "libdep/engine/base/load_regs.h"

	.section .parting, "awx", @progbits
	.balign	4096
	.globl	parting_page
parting_page:

/*
 * void native_child_go(void)
 *
 * Unmap what parting_state lists, then continue in the program.  A signal can arrive as soon as the
 * mask is set: the stack is the program's by then, and the flags are not changed any more.
 */
	.globl	native_child_go
native_child_go:
	lea	parting_state(%rip), %rbx
	lea	PARTING_UNMAP(%rbx), %rbp
	mov	PARTING_N(%rbx), %r12
1:	mov	$NR_MUNMAP, %eax
	mov	0(%rbp), %rdi
	mov	8(%rbp), %rsi
	syscall
	add	$16, %rbp
	dec	%r12
	jnz	1b
	lea	LEAVER_RFLAGS(%rbx), %rsp
	popfq
	mov	LEAVER_RSP(%rbx), %rsp
	mov	$NR_RT_SIGPROCMASK, %eax
	mov	$SIG_SETMASK, %edi
	lea	LEAVER_MASK(%rbx), %rsi
	mov	$0, %edx
	mov	$8, %r10d
	syscall
	LOAD_LEAVER
	jmp	*parting_state+LEAVER_RIP(%rip)

	.balign	16
	.globl	parting_state
parting_state:
	.zero	PARTING_SIZE
	.org	parting_page + 4096

	.section .note.GNU-stack, "", @progbits
