/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run one snippet: load every register from cpu, jump, store every register. */
#include "snip.h"
	.globl snippet_run, snippet_done
snippet_run:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, saved_rsp(%rip)
	mov %rdi, code(%rip)
	pushq cpu+128(%rip)
	popfq
	mov cpu+0(%rip), %rax
	mov cpu+8(%rip), %rcx
	mov cpu+16(%rip), %rdx
	mov cpu+24(%rip), %rbx
	mov cpu+32(%rip), %rsp
	mov cpu+40(%rip), %rbp
	mov cpu+48(%rip), %rsi
	mov cpu+56(%rip), %rdi
	mov cpu+64(%rip), %r8
	mov cpu+72(%rip), %r9
	mov cpu+80(%rip), %r10
	mov cpu+88(%rip), %r11
	mov cpu+96(%rip), %r12
	mov cpu+104(%rip), %r13
	mov cpu+112(%rip), %r14
	mov cpu+120(%rip), %r15
	jmp *code(%rip)
snippet_done:
	mov %rax, cpu+0(%rip)
	mov %rcx, cpu+8(%rip)
	mov %rdx, cpu+16(%rip)
	mov %rbx, cpu+24(%rip)
	mov %rsp, cpu+32(%rip)
	mov %rbp, cpu+40(%rip)
	mov %rsi, cpu+48(%rip)
	mov %rdi, cpu+56(%rip)
	mov %r8, cpu+64(%rip)
	mov %r9, cpu+72(%rip)
	mov %r10, cpu+80(%rip)
	mov %r11, cpu+88(%rip)
	mov %r12, cpu+96(%rip)
	mov %r13, cpu+104(%rip)
	mov %r14, cpu+112(%rip)
	mov %r15, cpu+120(%rip)
	mov saved_rsp(%rip), %rsp
	pushfq
	popq cpu+128(%rip)
	cld
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.bss
	.balign 8
code:	.skip 8
saved_rsp: .skip 8
