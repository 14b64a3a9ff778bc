/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way into a sequence and out of it.  struct transit (insn_run.c):
 *	0 gpr[16], 128 flags, 136 fsbase, 144 gsbase, 152 target,
 *	160 host rsp, 168 host fsbase, 176 host gsbase, 184 mask,
 *	192 image to load, 200 image to store, 208 clean image
 * r15 = hardware number 15.
 */
	.text
	.globl	fuzz_enter
	.type	fuzz_enter, @function
fuzz_enter:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, transit + 160
	rdfsbase %rax
	mov	%rax, transit + 168
	rdgsbase %rax
	mov	%rax, transit + 176
	mov	transit + 184, %eax
	xor	%edx, %edx
	mov	transit + 192, %rcx
	xrstor64 (%rcx)
	mov	transit + 136, %rax
	wrfsbase %rax
	mov	transit + 144, %rax
	wrgsbase %rax
	pushq	transit + 128
	popfq
	mov	transit, %rax
	mov	transit + 8, %rcx
	mov	transit + 16, %rdx
	mov	transit + 24, %rbx
	mov	transit + 32, %rsp
	mov	transit + 40, %rbp
	mov	transit + 48, %rsi
	mov	transit + 56, %rdi
	mov	transit + 64, %r8
	mov	transit + 72, %r9
	mov	transit + 80, %r10
	mov	transit + 88, %r11
	mov	transit + 96, %r12
	mov	transit + 104, %r13
	mov	transit + 112, %r14
	mov	transit + 120, %r15
	jmp	*transit + 152
	.size	fuzz_enter, . - fuzz_enter

/* Code at the start of each code buffer. */
	.globl	fuzz_leave, fuzz_leave_end
fuzz_leave:
	movabs	%rax, transit
	movabs	$left, %rax
	jmp	*%rax
fuzz_leave_end:

	.globl	fuzz_left
fuzz_left:
	mov	%rax, transit
left:
	mov	%rsp, transit + 32
	mov	transit + 160, %rsp
	pushfq
	cld
	popq	transit + 128
	mov	%rcx, transit + 8
	mov	%rdx, transit + 16
	mov	%rbx, transit + 24
	mov	%rbp, transit + 40
	mov	%rsi, transit + 48
	mov	%rdi, transit + 56
	mov	%r8, transit + 64
	mov	%r9, transit + 72
	mov	%r10, transit + 80
	mov	%r11, transit + 88
	mov	%r12, transit + 96
	mov	%r13, transit + 104
	mov	%r14, transit + 112
	mov	%r15, transit + 120
	rdfsbase %rax
	mov	%rax, transit + 136
	rdgsbase %rax
	mov	%rax, transit + 144
	mov	transit + 168, %rax
	wrfsbase %rax
	mov	transit + 176, %rax
	wrgsbase %rax
	mov	transit + 184, %eax
	xor	%edx, %edx
	mov	transit + 200, %rcx
	xsave64	(%rcx)
	mov	transit + 208, %rcx
	xrstor64 (%rcx)
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.section .note.GNU-stack, "", @progbits
