/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  Branches, calls and returns of all forms, paired and not. */
#include "snip.h"

snippet loops
	mov $5, %ecx
1:	inc %rax
	loop 1b
	jrcxz 2f
	ud2
2:	mov $0x100000003, %rcx
3:	add $2, %rdx
	addr32 loop 3b
	jecxz 4f
	ud2
4:	mov $20, %ecx
	xor %r9d, %r9d
5:	inc %r9
	cmp $7, %r9
	loopne 5b
	mov %rcx, (%rbx)
	mov $20, %ecx
6:	dec %r9
	cmp %r9, %r9
	loope 6b
	mov %rcx, 8(%rbx)
	mov $1, %ecx
	jrcxz 7f
	inc %r9
7:	end
snippet jcc
	cmp %r9, %rax
	jo 1f
	inc %rdx
1:	js 1f
	inc %rdx
1:	ja 1f
	add $2, %rdx
1:	jbe 1f
	add $4, %rdx
1:	jp 1f
	add $8, %rdx
1:	cmp %r11, %rdx
	jl 1f
	add $16, %rdx
1:	jge 1f
	add $32, %rdx
1:	je 1f
	.nops 130
	jne 1f
	ud2
1:	.byte 0x2e
	jne 1f
	.byte 0x3e
	je 1f
1:	jmp 1f
	.nops 200
1:	end
snippet call_forms
	lea f1(%rip), %r10
	call *%r10
	mov %r10, (%rbx)
	call *(%rbx)
	mov %rbx, %r15
	call *(%r15)
	mov %rcx, %r12
	call *table(,%r12,8)
	call *table(%rip)
	lea table(%rip), %r13
	call *8(%r13,%rcx,8)
	push %r10
	push %r10
	call *(%rsp)
	call *8(%rsp)
	pop %r10
	pop %r10
	mov %rsp, %rbp
	call *-8+table(%rip)
	call f2
	push %r10
	addr32 call *(%ebx)
	pop %r10
	end
f1:	inc %rax
	ret
f2:	call f1
	call f3
	rep ret
f3:	push %rbx
	call f1
	pop %rbx
	push $5
	call f4
	ret
f4:	mov 8(%rsp), %rdx
	add %rdx, %rax
	ret $8

snippet mispredicted
	/* call next; pop */
	call 1f
1:	pop %rax
	mov (%rax), %r9
	/* push; ret */
	lea 2f(%rip), %rdx
	push %rdx
	ret
	ud2
2:	/* a retpoline */
	lea 4f(%rip), %r11
	call 3f
5:	pause
	lfence
	jmp 5b
3:	mov %r11, (%rsp)
	ret
4:	/* a return to one's caller's caller */
	call 6f
	mov %rax, (%rbx)
	jmp 7f
6:	call 8f
	ud2
8:	add $8, %rsp
	ret
7:	/* the return address changed */
	call 9f
	ud2
	inc %rdx
	jmp 1f
9:	addq $2, (%rsp)
	ret
1:	/* pop and jump */
	call 2f
	inc %rdx
	jmp 3f
2:	pop %r8
	jmp *%r8
3:	/* the stack switched between call and return */
	call 4f
	jmp 5f
4:	mov (%rsp), %r9
	mov %rsp, %r12
	lea 64(%rdi), %rsp
	push %r9
	ret
5:	lea 8(%r12), %rsp
	/* one return address used twice */
	xor %eax, %eax
	call 6f
	inc %eax
	cmp $3, %eax
	jae 7f
	sub $8, %rsp
6:	ret
7:	end
snippet recursion
	mov $300, %ecx
	mov %rsp, %r12
	lea bigstack_top(%rip), %rsp
	call rec
	mov %r12, %rsp
	end
rec:	push %rcx
	dec %ecx
	jz 1f
	call rec
	test $3, %cl
	jnz 1f
	call leaf
1:	pop %rcx
	add %rcx, %rax
	ret
leaf:	imul $7, %rax
	ret

snippet jump_table
	mov $50, %r8d
1:	mov %r8, %r9
	and $7, %r9d
	jmp *jt(,%r9,8)
j0:	add $1, %rax
	jmp 2f
j1:	xor %r8, %rax
	jmp 2f
j2:	rol $3, %rax
	jmp 2f
j3:	sub %rdx, %rax
2:	dec %r8
	jnz 1b
	lea rt(%rip), %r10
	mov $40, %r8d
3:	mov %r8, %r9
	and $3, %r9d
	movslq (%r10,%r9,4), %r9
	add %r10, %r9
	notrack jmp *%r9
k0:	add $5, %rax
	jmp 4f
k1:	not %rax
	jmp 4f
k2:	bswap %rax
4:	dec %r8
	jnz 3b
	mov %rax, (%rbx)
	end
snippet middle
	/* jump into the middle of an instruction */
	xor %eax, %eax
	lea 1f+1(%rip), %rdx
	cmp $4, %ecx
	jb 1f
	jmp *%rdx
1:	.byte 0xb8, 0x48, 0xff, 0xc0, 0x90	/* mov $..., %eax; or inc %rax; nop */
	end
snippet red_zone
	mov %rax, -8(%rsp)
	mov %rdx, -128(%rsp)
	mov %rcx, -64(%rsp)
	mov -8(%rsp), %r8
	jmp 1f
1:	lea 2f(%rip), %r9
	jmp *%r9
2:	mov (%rbx), %r10
	mov -128(%rsp), %r11
	mov $39, %eax
	push %rbx
	pop %rbx
	mov %r8, -8(%rsp)
	mov -8(%rsp), %r12
	mov $2000, %ecx
3:	mov %rcx, -16(%rsp)
	cmp -16(%rsp), %rcx
	jne 5f
	dec %ecx
	jnz 3b
	mov -64(%rsp), %r13
	mov -128(%rsp), %r14
	add %r13, %r14
	xor %r9d, %r9d
	end
5:	ud2
snippet syscall_clobbers
	mov $39, %eax
	mov $0x1111, %ecx
	mov $0x2222, %r11d
	stc
	syscall
	lea 1f(%rip), %rdx
	sub %rdx, %rcx
	nop
1:	xor %eax, %eax
	and $0xcd5, %r11
	pushfq
	pop %r9
	and $0xcd5, %r9
	mov $-1, %rax
	syscall
	mov $102, %eax
	mov %rax, -8(%rsp)
	/* Kernels without 32-bit system calls raise SIGSEGV. */
	cmpl $0, int80_works(%rip)
	je 1f
	int $0x80
1:	mov -8(%rsp), %r8
	mov $0, %eax
	end
snippet straight
	.rept 900
	add %rdx, %rax
	rol $1, %rax
	mov %rax, 64(%rbx)
	xor 72(%rsi), %rax
	.endr
	end
	.data
	.balign 8
	.quad f1
table:	.quad f1, f1, f1, f1, f1, f1, f1, f1, f1, f1, f1, f1
jt:	.quad j0, j1, j2, j3, j3, j2, j1, j0
rt:	.long k0 - rt, k1 - rt, k2 - rt, k1 - rt
	.bss
	.balign 16
	.skip 16384
bigstack_top: .skip 64
