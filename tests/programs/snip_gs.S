/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  gs and fs overrides in every role, with an own gs base. */
#include "snip.h"
	.globl snippet_setup
snippet_setup:
	lea -64(%rdi), %rsi
	mov %rsi, base(%rip)
	mov $0x1001, %edi
	mov $158, %eax
	syscall
	ret

snippet moves
	mov %gs:0, %rax
	mov %gs:8, %edx
	mov %rdx, %gs:16
	mov %gs:0x100(,%rcx,8), %r8
	mov %rsi, %r9
	sub base(%rip), %r9
	mov %gs:(%r9), %r10
	mov %r10b, %gs:3(%r9)
	movabs %gs:0x20, %rax
	movabs %al, %gs:0x28
	addr32 mov %gs:(%r9d), %r11d
	end
snippet alu
	add %gs:0, %rax
	incl %gs:8
	lock addq $5, %gs:16
	xchg %rax, %gs:24
	lock cmpxchg %rdx, %gs:32
	cmpxchg16b %gs:64
	xadd %ecx, %gs:40
	movsx %dl, %rdx
	bts %rdx, %gs:128
	imul $7, %gs:0, %r9
	cmovb %gs:8, %r10
	setl %gs:9
	shlq %cl, %gs:48
	movzwl %gs:50, %r11d
	end
snippet r15
	mov %r15, %rax
	sub base(%rip), %r15
	mov %gs:(%r15), %rdx
	mov %rdx, %gs:8(%r15)
	mov %gs:(%r15), %r15
	mov %r15, %gs:24
	xchg %r15, %gs:32
	push %gs:40
	pop %r15
	push %r15
	pop %gs:48
	mov %rcx, %r15
	mov %gs:(%r15,%rcx), %r9
	mov %rcx, %gs:64(,%r15,8)
	mov %rax, %r15
	end
snippet strings
	mov %rsi, %r8
	sub base(%rip), %rsi
	gs movsb
	gs lodsq
	mov $5, %ecx
	rep movsl %gs:(%rsi), %es:(%rdi)
	mov %r8, %rdi
	gs cmpsb
	mov $20, %ecx
	gs repe cmpsw
	sub base(%rip), %rbx
	gs xlat
	sub base(%rip), %rdi
	movdqu (%r8), %xmm0
	gs maskmovdqu %xmm0, %xmm0
	end
snippet branches
	lea 1f(%rip), %rax
	mov %rax, %gs:0
	jmp *%gs:0
	ud2
1:	lea 2f(%rip), %rax
	mov %rax, %gs:8(,%rcx,8)
	call *%gs:8(,%rcx,8)
	lea 3f(%rip), %r15
	mov %r15, %gs:16
	mov $16, %r15d
	jmp *%gs:(%r15)
	ud2
2:	ret
3:	end
snippet vectors
	movups %gs:16, %xmm0
	addps %gs:32, %xmm0
	movups %xmm0, %gs:64
	fldl %gs:8
	fstpl %gs:96
	movq %gs:8, %mm0
	movq %mm0, %gs:104
	emms
	end
snippet base_changes
	mov base(%rip), %rsi
	add $128, %rsi
	mov $0x1001, %edi
	mov $158, %eax
	syscall
	mov %gs:0, %r8
	mov $0x1004, %edi
	mov %rbx, %rsi
	mov $158, %eax
	syscall
	mov (%rbx), %r9
	/* Without FSGSBASE the kernel does not keep what the instructions write. */
	cmpl $0, fsgsbase_works(%rip)
	jne 1f
	mov $0x1001, %edi
	mov base(%rip), %rsi
	mov $158, %eax
	syscall
	jmp 2f
1:	rdgsbase %r10
	mov base(%rip), %r12
	wrgsbase %r12
	mov %gs:0, %r13
	rdgsbase %r15
	mov %r15, (%rbx)
	mov %r12, %r15
	wrgsbase %r15
2:	addq $1, %gs:8
	end
snippet fs
	mov %fs:0, %rax
	mov %fs:(,%rcx,8), %rdx
	mov %fs:0x28, %r9
	rdfsbase %r15
	mov (%r15), %r10
	cmp %rax, %r10
	setne (%rbx)
	/* thread pointer and canary are no results */
	xor %eax, %eax
	xor %edx, %edx
	xor %r9d, %r9d
	xor %r10d, %r10d
	xor %r15d, %r15d
	end
	.bss
	.balign 8
base:	.skip 8
