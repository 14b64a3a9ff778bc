/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "libdep/engine/base/tls.h"

	.text

/* void image_start(struct adept_boot *): the injected process starts here */
	.globl	image_start
image_start:
	lea	boot_stack_top(%rip), %rsp
	xor	%ebp, %ebp
	call	boot_main
	test	%rax, %rax
	jnz	gate_enter
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

/*
 * The injector's thread in a running process: see struct adept_entries.  If the injector dies
 * before the commit, the thread removes the engine and exits.
 */
	.globl	attach_build
attach_build:
	lea	boot_stack_top(%rip), %rsp
	xor	%ebp, %ebp
	call	boot_build
	jmp	report
	.globl	attach_limits
attach_limits:
	lea	boot_stack_top(%rip), %rsp
	xor	%ebp, %ebp
	call	boot_limits
	jmp	report
	.globl	attach_commit
attach_commit:
	lea	boot_stack_top(%rip), %rsp
	xor	%ebp, %ebp
	call	boot_commit
	xor	%edi, %edi
	mov	$NR_EXIT, %eax
	syscall
	ud2
report:
	mov	%eax, %edi
	mov	$NR_GETTID, %eax
	syscall
	.globl	attach_reported
attach_reported:
	call	boot_abandoned
	mov	$-1, %rax
	jmp	*boot+BOOT_UNDO(%rip)

	.section .note.GNU-stack, "", @progbits
