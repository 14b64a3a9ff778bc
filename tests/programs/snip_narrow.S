/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  8- and 16-bit registers, high bytes, 32-bit addresses as sources of addresses. */
#include "snip.h"

snippet low_byte
	mov $0x80, %bl
	mov (%rbx), %rax
	mov %rsi, %r8
	mov $0x40, %r8b
	mov (%r8), %r9
	mov $0x10, %sil
	mov (%rsi), %r9
	and $0xf8, %dil
	mov %rax, (%rdi)
	incb %r12b
	mov (%r12), %eax
	sub $1, %r13b
	mov -8(%r13), %ax
	movb $0x20, %bpl
	mov (%rbp), %r11
	end
snippet high_byte
	mov %rbx, %rax
	mov %ah, %cl
	mov %cl, %ah
	mov (%rax), %rdx
	mov %rsi, %rcx
	mov %ch, %bh
	and $0xf0, %bl
	mov %rcx, %rbx
	mov %bh, %ch
	mov (%rcx), %r8
	mov %rdi, %rdx
	xor $1, %dh
	xor $1, %dh
	mov %dh, (%rdx)
	xchg %ah, %al
	xchg %al, %ah
	mov %rax, (%rax)
	add %ah, %al
	movzx %ah, %ebp
	add %rbp, %rbp
	mov (%rbx,%rbp,2), %r9
	movsx %bh, %eax
	mov (%rdi), %ah
	mov %rax, 8(%rdi)
	end
snippet word
	mov %bx, %ax
	mov %rbx, %rcx
	mov %ax, %cx
	mov (%rcx), %rdx
	mov %rsi, %r8
	xor %r8w, %r8w
	mov %si, %r8w
	mov (%r8), %r9
	lea 8(%rsi), %si
	mov (%rsi), %eax
	add $16, %di
	mov %rax, (%rdi)
	inc %r10w
	mov -1(%r10), %rax
	rol $8, %r12w
	ror $8, %r12w
	mov (%r12), %r11
	movzx %r13w, %r13d
	and $0xf8, %r13d
	mov (%r14,%r13), %rax
	xchg %bx, %dx
	xchg %dx, %bx
	mov (%rbx), %ax
	mov %ax, %cx
	end
snippet dword
	mov %ebx, %eax
	mov (%rax), %rdx
	lea 8(%esi), %r8
	mov (%r8), %r9
	add $8, %edi
	mov %rdx, (%rdi)
	mov $-8, %ecx
	addr32 mov (%ebx,%ecx), %r10
	addr32 mov 4(%r12d), %r11d
	addr32 lea (%ebx,%ecx), %r13
	mov (%r13), %rax
	mov %r14d, %r14d
	mov (%r14), %rax
	movslq %ecx, %rcx
	mov (%rbx,%rcx), %rax
	mov %eax, %eax
	cmovne %ebx, %eax
	cmove %ebx, %eax
	mov %rbx, %rax
	mov (%rax), %rax
	xchg %eax, %eax
	end
snippet derived
	mov %rbx, %rax
	sub %rsi, %rax
	add %rsi, %rax
	mov (%rax), %r8
	lea (%rcx,%rcx,4), %rdx
	mov (%rbx,%rdx,8), %r9
	imul $24, %rcx, %rdx
	mov (%rsi,%rdx), %r9
	mov %rcx, %rdx
	shl $4, %rdx
	mov (%rdi,%rdx), %r9
	neg %rdx
	mov (%rdi,%rdx), %r10
	not %rdx
	and $0x78, %edx
	mov (%rdi,%rdx), %r11
	xor %rbx, %rsi
	xor %rsi, %rbx
	xor %rbx, %rsi
	mov (%rbx), %rax
	mov %rax, (%rsi)
	bswap %r12
	bswap %r12
	mov (%r12), %rax
	ror $13, %r13
	rol $13, %r13
	mov (%r13), %rax
	or $7, %r14
	mov (%r14), %rax
	adc $0, %r14
	mov (%r14), %rax
	sbb %rdx, %rdx
	and $8, %edx
	mov (%rbx,%rdx), %rax
	cltd
	movzbl %al, %eax
	mov (%rbp,%rax), %cl
	shr $1, %rax
	sar $1, %eax
	mov (%rbp,%rax,2), %ch
	xadd %rax, %rbx
	mov (%rbx), %rdx
	xor %eax, %eax
	mov (%rbx,%rax), %rdx
	sub %eax, %eax
	mov %rdx, (%rbx,%rax)
	end
snippet rip_relative
	mov value(%rip), %rax
	addq $3, value(%rip)
	lea value(%rip), %rdx
	mov 8(%rdx), %r8
	push value(%rip)
	pop value+8(%rip)
	cmpq $0x12345678, value(%rip)
	movb $7, value+16(%rip)
	imul $1000, value(%rip), %r9
	movups value(%rip), %xmm0
	movups %xmm0, value+16(%rip)
	xchg %rax, value(%rip)
	cmpxchg %rdx, value(%rip)
	setc value+3(%rip)
	shll $3, value+4(%rip)
	bt %ecx, value(%rip)
	vmovdqu value(%rip), %ymm1
	vpalignr $3, value(%rip), %ymm1, %ymm2
	vzeroupper
	addr32 mov value(%eip), %r10
	fldl value(%rip)
	fstpl value+32(%rip)
	mulx value(%rip), %r11, %r12
	rorx $9, value(%rip), %r13
	mov value(%rip), %r15
	call *fnptr(%rip)
	jmp *endptr(%rip)
1:	inc %rbx
	ret
2:	end
	.data
	.balign 32
value:	.quad 1, 2, 3, 4, 5, 6, 7, 8
fnptr:	.quad 1b
endptr:	.quad 2b
