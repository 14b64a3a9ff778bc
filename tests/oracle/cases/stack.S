# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that uses the stack implicitly.
	.globl _start
_start:	mov $s, %rsp
	mov $d, %rbx
a1:	push %rax				#= s-8 8 W
a2:	pushw $3				#= s-10 2 W
a3:	popw %cx				#= s-10 2 R
a4:	push 8(%rsp)				#= s 8 R; s-16 8 W
a5:	pop 8(%rsp)				#= s-16 8 R; s 8 W
a6:	pushq $1				#= s-16 8 W
a7:	popw 8(%rsp)				#= s-16 2 R; s-14+8 2 W
a8:	push %rsp				#= s-22 8 W
a9:	pop %rcx				#= s-22 8 R
	mov $s, %rsp
b1:	pushfq					#= s-8 8 W
b2:	testb $1, 1(%rsp)			#= s-7 1 R
	jnz bad
b3:	popfq					#= s-8 8 R
b4:	call c1					#= s-8 8 W
c1:	pop %rax				#= s-8 8 R
	mov $c2, %eax
b5:	call *%rax				#= s-8 8 W
	ud2
c2:	add $8, %rsp
b6:	call *ptr(%rip)				#= ptr 8 R; s-8 8 W
	ud2
c3:	add $8, %rsp
b7:	push $c4				#= s-8 8 W
b8:	ret					#= s-8 8 R
	ud2
c4:	nop
b9:	push %rax				#= s-8 8 W
d1:	push $c5				#= s-16 8 W
d2:	ret $8					#= s-16 8 R
	ud2
c5:	mov $d+64, %rbp
d3:	enter $16, $0				#= s-8 8 W
d4:	leave					#= s-8 8 R
d5:	enter $16, $1				#= s-8 8 W; s-16 8 W
	mov $s, %rsp
	mov $d+64, %rbp
d6:	enter $16, $3			#= s-8 8 W; d+56 8 R; s-16 8 W; d+48 8 R; s-24 8 W; s-32 8 W
	mov $s, %rsp
d7:	push %fs				#= s-8 8 W
d8:	pop %fs					#= s-8 8 R
d9:	addr32 push (%ebx)			#= d 8 R; s-8 8 W
e1:	pop (%rbx)				#= s-8 8 R; d 8 W
	cmp $s, %rsp
	jne bad
	mov $d+64, %ebp
e2:	leavew					#= d+64 2 R
	mov $s, %rsp
	xor %edi, %edi
out:	mov $60, %eax
	syscall
bad:	mov $1, %edi
	jmp out
	.data
ptr:	.quad c3
	.balign 64
d:	.fill 128
	.fill 512
s:	.fill 64
