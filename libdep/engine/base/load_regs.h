/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Assembler macros that load the application's registers. */
#include "tls.h"

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

	/* Load those of the struct adept_leaver at rbx, except rsp. */
	.macro LOAD_LEAVER
	mov	0(%rbx), %rax
	mov	8(%rbx), %rcx
	mov	16(%rbx), %rdx
	mov	40(%rbx), %rbp
	mov	48(%rbx), %rsi
	mov	56(%rbx), %rdi
	mov	64(%rbx), %r8
	mov	72(%rbx), %r9
	mov	80(%rbx), %r10
	mov	88(%rbx), %r11
	mov	96(%rbx), %r12
	mov	104(%rbx), %r13
	mov	112(%rbx), %r14
	mov	120(%rbx), %r15
	mov	24(%rbx), %rbx
	.endm
