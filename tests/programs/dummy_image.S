/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The smallest engine: gives the program its registers and gets out of the way.
 * Laid out as libdep/abi/boot.h wants it: boot structure, entry offsets, code.
 */
#include "dummy_image.h"

	.text
	.globl	_start
_start:
	.skip	BOOT_SIZE
	.quad	entry - _start, 0, 0, 0, 0, 0, 0, 0
target:
	.quad	0

	/* rdi: the boot structure; the stack is not ours; no flag may change. */
entry:
	mov	BOOT_RIP(%rdi), %rax
	mov	%rax, target(%rip)
	mov	BOOT_REGS + 8 * 0(%rdi), %rax
	mov	BOOT_REGS + 8 * 1(%rdi), %rcx
	mov	BOOT_REGS + 8 * 2(%rdi), %rdx
	mov	BOOT_REGS + 8 * 3(%rdi), %rbx
	mov	BOOT_REGS + 8 * 4(%rdi), %rsp
	mov	BOOT_REGS + 8 * 5(%rdi), %rbp
	mov	BOOT_REGS + 8 * 6(%rdi), %rsi
	mov	BOOT_REGS + 8 * 8(%rdi), %r8
	mov	BOOT_REGS + 8 * 9(%rdi), %r9
	mov	BOOT_REGS + 8 * 10(%rdi), %r10
	mov	BOOT_REGS + 8 * 11(%rdi), %r11
	mov	BOOT_REGS + 8 * 12(%rdi), %r12
	mov	BOOT_REGS + 8 * 13(%rdi), %r13
	mov	BOOT_REGS + 8 * 14(%rdi), %r14
	mov	BOOT_REGS + 8 * 15(%rdi), %r15
	mov	BOOT_REGS + 8 * 7(%rdi), %rdi
	jmp	*target(%rip)
	.section .note.GNU-stack, "", @progbits
