/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls during which the signal handler must know how far the thread has got; it compares
 * the instruction pointer with the labels here.
 */
#include <asm/unistd.h>

#include "libdep/engine/base/load_regs.h"

	.text

/*
 * s64 app_syscall_raw(struct tls *, u64 nr, const u64 args[6])
 *
 * Make a system call of the application.  If a signal arrives before the syscall instruction, or
 * makes the kernel restart the call, the handler continues at app_syscall_abort, which reports
 * that the call did not take place.  The child of a clone returns here on the stack given to clone.
 */
	.globl	app_syscall_raw
	.globl	app_syscall_insn
	.globl	app_syscall_done
	.globl	app_syscall_abort
app_syscall_raw:
	push	%rbx
	mov	%rsi, %rax
	mov	%rdx, %rbx
	cmpq	$0, %gs:TLS_PENDING
	.globl	app_syscall_checked
app_syscall_checked:
	jne	app_syscall_abort
	mov	0(%rbx), %rdi
	mov	8(%rbx), %rsi
	mov	16(%rbx), %rdx
	mov	24(%rbx), %r10
	mov	32(%rbx), %r8
	mov	40(%rbx), %r9
app_syscall_insn:
	syscall
app_syscall_done:
	pop	%rbx
	ret
app_syscall_abort:
	mov	$SYS_ABORTED, %rax
	pop	%rbx
	ret

/* void sigmask_send(s64 pid, u32 tid, u32 signo, const void *info) */
	.globl	sigmask_send
	.globl	sigmask_sent
sigmask_send:
	mov	%rcx, %r10
	mov	$__NR_rt_tgsigqueueinfo, %eax
	syscall
sigmask_sent:
	ret

/*
 * s64 thread_clone(u64 nr, const u64 args[6], struct tls *child)
 *
 * clone or clone3 of a child that shares memory.  The child starts in thread_main(child) on its own
 * runtime stack.
 */
	.globl	thread_clone
thread_clone:
	push	%rbx
	push	%r12
	mov	%rdi, %rax
	mov	%rsi, %rbx
	mov	%rdx, %r12
	mov	0(%rbx), %rdi
	mov	8(%rbx), %rsi
	mov	16(%rbx), %rdx
	mov	24(%rbx), %r10
	mov	32(%rbx), %r8
	mov	40(%rbx), %r9
	syscall
	.globl	thread_clone_done
thread_clone_done:
	test	%rax, %rax
	jz	1f
	pop	%r12
	pop	%rbx
	ret
	/* The first instruction of a thread that the engine is attached to: rdi is its tls. */
	.globl	thread_attached
thread_attached:
	mov	%rdi, %r12
1:	cmpl	$0, boot+BOOT_FSGSBASE(%rip)
	je	2f
	wrgsbase %r12
	jmp	3f
	/* Without wrgsbase, make a system call as in set_gs_base().  There is no stack yet. */
2:	mov	$NR_ARCH_PRCTL, %eax
	mov	$ARCH_SET_GS, %edi
	mov	%r12, %rsi
	syscall
3:	mov	%gs:TLS_STACK, %rsp
	mov	%r12, %rdi
	call	thread_main
	jmp	gate_enter

/*
 * void thread_vanish(u32 *gone, u64 nr, u64 status): set *gone, then exit without using the stack
 */
	.globl	thread_vanish
thread_vanish:
	mov	%rsi, %rax
	mov	%rdi, %rcx
	mov	%rdx, %rdi
	movl	$1, (%rcx)
	syscall
	.globl	thread_vanish_done
thread_vanish_done:
	hlt

/*
 * void leave_pause(struct adept_leaver *)
 *
 * Sleep for 0.1 s.  With another call, a stop by the tracer could overwrite what the kernel keeps
 * for restart_syscall.  The tracer finds the structure in rbx.
 */
	.globl	leave_pause
	.globl	leave_pause_done
leave_pause:
	push	%rbx
	mov	%rdi, %rbx
	mov	$NR_RT_SIGTIMEDWAIT, %eax
	lea	no_signals(%rip), %rdi
	xor	%esi, %esi
	lea	pause_time(%rip), %rdx
	mov	$8, %r10d
	syscall
leave_pause_done:
	pop	%rbx
	ret

/* void leave_last(void): go on in leave_unmap() on the boot stack, which is in the image */
	.globl	leave_last
leave_last:
	lea	boot_stack_top(%rip), %rsp
	xor	%ebp, %ebp
	call	leave_unmap
	hlt

/*
 * void leave_alone(const struct adept_leaver *)
 *
 * Leave the engine without a tracer.  A signal that was blocked can arrive before the iretq; its
 * handler runs on this stack.
 */
	.globl	leave_alone
leave_alone:
	mov	%rdi, %rbx
	pushq	$USER_SS
	pushq	LEAVER_RSP(%rbx)
	pushq	LEAVER_RFLAGS(%rbx)
	pushq	$USER_CS
	pushq	LEAVER_RIP(%rbx)
	mov	LEAVER_GS_BASE(%rbx), %rsi
	cmpl	$0, boot+BOOT_FSGSBASE(%rip)
	je	1f
	wrgsbase %rsi
	jmp	2f
1:	mov	$NR_ARCH_PRCTL, %eax
	mov	$ARCH_SET_GS, %edi
	syscall
2:	mov	LEAVER_MASK(%rbx), %rax
	or	LEAVER_SYNC_BLOCKED(%rbx), %rax
	pushq	%rax
	mov	$NR_RT_SIGPROCMASK, %eax
	mov	$SIG_SETMASK, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	lea	8(%rsp), %rsp
	LOAD_LEAVER
	iretq

/* void sigreturn_with(void *frame): make rt_sigreturn with the signal frame at frame */
	.globl	sigreturn_with
sigreturn_with:
	mov	%rdi, %rsp
	mov	$15, %eax
	syscall
	hlt

	.globl	signal_restorer
signal_restorer:
	mov	$15, %eax
	syscall
	hlt

	.section .rodata
	.balign	8
no_signals:
	.quad	0
pause_time:
	.quad	0, 100000000

	.section .note.GNU-stack, "", @progbits
