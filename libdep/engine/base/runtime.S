/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions whose instruction addresses the signal handler and seccomp filters check. */
	.text

/*
 * s64 filtered_syscall(u64 nr, const u64 args[6])
 *
 * Make a system call that the program's seccomp filter checks like a call of the program
 * (os/seccomp.c).
 */
	.globl	filtered_syscall
	.globl	filtered_syscall_done
filtered_syscall:
	push	%rbx
	mov	%rdi, %rax
	mov	%rsi, %rbx
	mov	0(%rbx), %rdi
	mov	8(%rbx), %rsi
	mov	16(%rbx), %rdx
	mov	24(%rbx), %r10
	mov	32(%rbx), %r8
	mov	40(%rbx), %r9
	syscall
filtered_syscall_done:
	pop	%rbx
	ret

/*
 * size_t rt_copy_in(void *dst, const void *src, size_t n)
 *
 * After a fault in this function, the signal handler continues at rt_copy_in_fault, which returns
 * the number of bytes copied.
 */
	.globl	rt_copy_in
	.globl	rt_copy_in_end
	.globl	rt_copy_in_fault
rt_copy_in:
	mov	%rdx, %rcx
	mov	%rdx, %rax
	rep movsb
rt_copy_in_fault:
	sub	%rcx, %rax
	ret
rt_copy_in_end:

	.section .note.GNU-stack, "", @progbits
