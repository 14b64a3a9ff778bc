# SPDX-License-Identifier: GPL-2.0-or-later
# Explicit operands of every shape, and what is no reference.
	.globl _start
_start:	mov $d, %rbx
	mov $2, %rcx
a1:	mov (%rbx), %eax			#= d 4 R
a2:	mov %al, 3(%rbx,%rcx,4)			#= d+11 1 W
a3:	add %ax, (%rbx)				#= d 2 M
a4:	lock incq d(%rip)			#= d 8 M
a5:	xchg %edx, 8(%rbx)			#= d+8 4 M
a6:	cmpxchg %rcx, 16(%rbx)			#= d+16 8 M
a7:	cmpxchg16b (%rbx)			#= d 16 M
a8:	cmpxchg8b 8(%rbx)			#= d+8 8 M
a9:	test %rax, (%rbx)			#= d 8 R
b1:	setc d+5(%rip)				#= d+5 1 W
b2:	movabs d, %al				#= d 1 R
b3:	movabs %rax, d+8			#= d+8 8 W
	lea 8(%rbx), %rax
	nopw 8(%rbx,%rcx)
	prefetcht0 (%rbx)
	prefetchw (%rbx)
	clflush (%rbx)
	endbr64
	mov $-33, %rdx
b4:	bt %edx, 16(%rbx)			#= d+16-8 4 R
b5:	bts %dx, 16(%rbx)			#= d+16-6 2 M
b6:	btr %rdx, 16(%rbx)			#= d+16-8 8 M
b7:	btcl $35, 16(%rbx)			#= d+16 4 M
	mov $0x7fffffff0, %rdx
b8:	bt %rdx, -64(%rbx)			#= d-64+(0x7fffffff0>>6)*8 8 R
	mov $5, %eax
b9:	xlat					#= d+5 1 R
	mov $0xffffffff00000000, %rax
	add %rbx, %rax
c1:	addr32 mov 4(%eax), %ecx		#= d+4 4 R
	mov $0, %rax
	mov $-4, %ecx
c2:	addr32 mov d+4(%eax,%ecx), %dl		#= d 1 R
c3:	cmovc (%rbx), %eax			#= d 4 R
c4:	fxsave fx(%rip)				#= fx 512 W
c5:	fxrstor fx(%rip)			#= fx 512 R
c6:	fnstenv fx(%rip)			#= fx 28 W
c7:	fldenv fx(%rip)				#= fx 28 R
c8:	fstpt fx(%rip)				#= fx 10 W
c9:	movups %xmm0, (%rbx)			#= d 16 W
d1:	pinsrb $1, 1(%rbx), %xmm0		#= d+1 1 R
	mov $d+32, %rdi
d2:	maskmovdqu %xmm1, %xmm0			#= d+32 16 W
d3:	imul $3, (%rbx), %eax			#= d 4 R
d4:	shlq $1, (%rbx)				#= d 8 M
d5:	xadd %eax, (%rbx)			#= d 4 M
d6:	notb (%rbx)				#= d 1 M
d7:	jmp *target(%rip)			#= target 8 R
	ud2
d8:	mov %fs, (%rbx)				#= d 2 W
	mov %ss, %eax
	mov %eax, %ss
d9:	mov (%rbx), %edx			#= d 4 R
e1:	mov %edx, (%rbx)			#= d 4 W
	mov $60, %eax
	xor %edi, %edi
	syscall
	.data
target:	.quad d8
	.balign 64
	.fill 128
d:	.fill 128
fx:	.fill 512
	.bss
	.fill 0x100000100
