/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gates: context switches between the code cache and the engine.  They save general registers and
 * flags in the TLS block.  Vector and x87 registers keep the application's values, since the engine
 * is compiled to not use them.
 */
#include "tls.h"

	.macro SAVE_REGS
	mov	%rax, %gs:TLS_REGS+0
	mov	%rcx, %gs:TLS_REGS+8
	mov	%rdx, %gs:TLS_REGS+16
	mov	%rbx, %gs:TLS_REGS+24
	mov	%rsp, %gs:TLS_REGS+32
	mov	%rbp, %gs:TLS_REGS+40
	mov	%rsi, %gs:TLS_REGS+48
	mov	%rdi, %gs:TLS_REGS+56
	mov	%r8, %gs:TLS_REGS+64
	mov	%r9, %gs:TLS_REGS+72
	mov	%r10, %gs:TLS_REGS+80
	mov	%r11, %gs:TLS_REGS+88
	mov	%r12, %gs:TLS_REGS+96
	mov	%r13, %gs:TLS_REGS+104
	mov	%r14, %gs:TLS_REGS+112
	mov	%r15, %gs:TLS_PP
	mov	%gs:TLS_R15, %rax
	mov	%rax, %gs:TLS_REGS+120
	mov	%gs:TLS_STACK, %rsp
	pushfq
	popq	%gs:TLS_FLAGS
	/* The engine runs with DF, AC and TF clear. */
	pushq	$0x202
	popfq
	mov	%gs:TLS_SELF, %rdi
	.endm

	.text

/* void image_start(struct adept_boot *): the first instruction in the process */
	.globl	image_start
image_start:
	lea	boot_stack_top(%rip), %rsp
	xor	%ebp, %ebp
	call	boot_main
	test	%rax, %rax
	jnz	enter
	/* Run natively: restore the state that the injector found. */
	pushq	boot+BOOT_RFLAGS(%rip)
	popfq
	mov	boot+BOOT_REGS+0(%rip), %rax
	mov	boot+BOOT_REGS+8(%rip), %rcx
	mov	boot+BOOT_REGS+16(%rip), %rdx
	mov	boot+BOOT_REGS+24(%rip), %rbx
	mov	boot+BOOT_REGS+32(%rip), %rsp
	mov	boot+BOOT_REGS+40(%rip), %rbp
	mov	boot+BOOT_REGS+48(%rip), %rsi
	mov	boot+BOOT_REGS+56(%rip), %rdi
	mov	boot+BOOT_REGS+64(%rip), %r8
	mov	boot+BOOT_REGS+72(%rip), %r9
	mov	boot+BOOT_REGS+80(%rip), %r10
	mov	boot+BOOT_REGS+88(%rip), %r11
	mov	boot+BOOT_REGS+96(%rip), %r12
	mov	boot+BOOT_REGS+104(%rip), %r13
	mov	boot+BOOT_REGS+112(%rip), %r14
	mov	boot+BOOT_REGS+120(%rip), %r15
	jmp	*boot+BOOT_RIP(%rip)

	.globl	gate_exit
gate_exit:
	SAVE_REGS
	call	dispatch_exit
	jmp	enter

	.globl	gate_syscall
gate_syscall:
	SAVE_REGS
	call	dispatch_syscall
	jmp	enter

	.globl	gate_trap
gate_trap:
	SAVE_REGS
	call	dispatch_trap
	jmp	enter

	/* An indirect branch found no landing: rcx = target. */
	.macro MISS dispatch
	mov	%rcx, %gs:TLS_IBTARGET
	mov	%gs:TLS_IND0, %rcx
	mov	%gs:TLS_IND1, %rdx
	SAVE_REGS
	call	\dispatch
	jmp	enter
	.endm

	.globl	gate_miss_call
gate_miss_call:
	lea	8(%rsp), %rsp
	.globl	gate_miss
gate_miss:
	MISS	dispatch_miss

	.globl	gate_miss_return
gate_miss_return:
	MISS	dispatch_miss_return

	/* Load the application's registers except rsp; r15 gets the record pointer. */
	.macro LOAD_REGS
	mov	%gs:TLS_REGS+0, %rax
	mov	%gs:TLS_REGS+8, %rcx
	mov	%gs:TLS_REGS+16, %rdx
	mov	%gs:TLS_REGS+24, %rbx
	mov	%gs:TLS_REGS+40, %rbp
	mov	%gs:TLS_REGS+48, %rsi
	mov	%gs:TLS_REGS+56, %rdi
	mov	%gs:TLS_REGS+64, %r8
	mov	%gs:TLS_REGS+72, %r9
	mov	%gs:TLS_REGS+80, %r10
	mov	%gs:TLS_REGS+88, %r11
	mov	%gs:TLS_REGS+96, %r12
	mov	%gs:TLS_REGS+104, %r13
	mov	%gs:TLS_REGS+112, %r14
	mov	%gs:TLS_PP, %r15
	.endm

	/* Continue with the state in TLS_REGS and resume_pc: after a signal, or in a new thread. */
	.globl	gate_resume
gate_resume:
	mov	%gs:TLS_STACK, %rsp
	mov	%gs:TLS_SELF, %rdi
	call	dispatch_resume

	/*
	 * Enter the cache at rax.  Up to the jump, the application's state is still in the TLS
	 * block.  The handler of a signal that arrives here restarts the entry at gate_resume.
	 */
	.globl	gate_enter
	.globl	gate_enter_end
enter:
gate_enter:
	cmpq	$0, %gs:TLS_PENDING
	jne	gate_resume
	mov	%rax, %gs:TLS_TARGET
	mov	%gs:TLS_STACK, %rsp
	mov	%gs:TLS_REGS+120, %rax
	mov	%rax, %gs:TLS_R15
	pushq	%gs:TLS_FLAGS
	popfq
	LOAD_REGS
	mov	%gs:TLS_REGS+32, %rsp
	jmp	*%gs:TLS_TARGET
gate_enter_end:

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
	jne	app_syscall_abort
	.globl	app_syscall_checked
app_syscall_checked:
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
1:	cmpl	$0, boot+BOOT_FSGSBASE(%rip)
	je	2f
	wrgsbase %r12
	jmp	3f
	/* See set_gs_base().  There is no stack yet. */
2:	mov	$NR_ARCH_PRCTL, %eax
	mov	$ARCH_SET_GS, %edi
	mov	%r12, %rsi
	syscall
3:	mov	%gs:TLS_STACK, %rsp
	mov	%r12, %rdi
	call	thread_main
	jmp	enter

/* void thread_vanish(u32 *gone, u64 nr, u64 status): exit without touching the stack */
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
 * s64 filtered_syscall(u64 nr, const u64 args[6])
 *
 * Make a system call that the program's seccomp filter judges like a call of the program
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

/* void sigreturn_with(void *frame): rt_sigreturn with the kernel frame at frame */
	.globl	sigreturn_with
sigreturn_with:
	mov	%rdi, %rsp
	mov	$15, %eax
	syscall
	hlt

/*
 * u64 ring_chunk_end(struct tls *t)
 *
 * End the chunk at t->pp by a store at ADEPT_CHUNK_END_AT, into the guard behind it.  The kernel
 * module reads the application's registers at this fault.  Returns the new t->pp.  rsp must stay
 * valid, since a signal can arrive here: the module takes it from TLS_SPILL1.
 */
	.globl	ring_chunk_end
ring_chunk_end:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	LOAD_REGS
	movb	$0, CHUNK_END_AT(%r15)
	mov	%r15, %rax
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	/* Executed instead of an instruction that cannot be decoded; see dispatch_trap(). */
	.globl	gate_undefined
gate_undefined:
	ud2

	.globl	signal_restorer
signal_restorer:
	mov	$15, %eax
	syscall
	hlt

/* size_t rt_copy_in(void *dst, const void *src, size_t n) */
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
