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
	cmpl	$0, boot+BOOT_NATTACHED(%rip)
	jne	attach_failed
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

/* The injector waits until a thread stops at one of these int3: see struct adept_entries. */
	.globl	attach_ready
attach_ready:
	int3
	.globl	attach_failed
attach_failed:
	int3

	.section .note.GNU-stack, "", @progbits
