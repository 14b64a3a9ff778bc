/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gates: context switches between the code cache and the engine.  They save general registers and
 * flags in the TLS block.  Vector and x87 registers keep the application's values, since the engine
 * is compiled to not use them.
 */
#include "libdep/engine/base/load_regs.h"

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
	/* The engine's code runs with the flags DF, AC and TF clear. */
	pushq	$0x202
	popfq
	mov	%gs:TLS_SELF, %rdi
	.endm

	.text

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

	/* Entered when an indirect branch has found no landing stub; rcx has the target. */
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
	/* Restore the return address, as a landing stub does (landing.c). */
	mov	%rcx, -8(%rsp)
	MISS	dispatch_miss_return

	/*
	 * Continue with the state in TLS_REGS and t->resume_pc, after a signal or in a new thread.
	 */
	.globl	gate_resume
gate_resume:
	mov	%gs:TLS_STACK, %rsp
	mov	%gs:TLS_SELF, %rdi
	call	dispatch_resume

	/*
	 * Enter the code cache at the address in rax.  Until the jump, the application's state is
	 * still in the TLS block, so the handler of a signal that arrives here restarts the entry
	 * at gate_resume.
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

	/* Executed in place of an instruction that cannot be decoded; see dispatch_trap(). */
	.globl	gate_undefined
gate_undefined:
	ud2

	.section .note.GNU-stack, "", @progbits
