/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  r15 in every role. */
#include "snip.h"

snippet base_index
	mov (%r15), %rax
	mov 8(%r15), %eax
	mov %rdx, 0x300(%r15)
	movzx %cl, %ecx
	mov (%r15,%rcx,8), %rdx
	mov %r9, 16(%r15,%rcx,4)
	mov %rbx, %r8
	sub %r15, %r8
	mov (%r15,%r8), %rax
	mov %r15, %r8
	movzx %dl, %r15d
	mov (%rbx,%r15), %al
	mov (%rbx,%r15,2), %ax
	mov arena8(,%r15,8), %r9
	addl $3, -4(%rbx,%r15,4)
	lea 5(%r8,%r15,2), %r15
	lea (%r15,%r15), %r10
	lea 1(%r15d), %r11d
	mov %r8, %r15
	cmpb $3, (%r15)
	setg (%r15)
	end
snippet reg_rm
	add (%rbx), %r15
	sub %r15, (%rsi)
	mov %r15, %rax
	xor %r15d, %r15d
	not %r15
	and %rdx, %r15
	or %r15w, (%rdi)
	adc %r15b, 2(%rdi)
	sbb %r9b, %r15b
	test %r15, %rax
	cmp %r15, %rdx
	cmovl %rdx, %r15
	cmovge %r15, %rdx
	neg %r15
	inc %r15w
	dec %r15b
	mov $0x1122334455667788, %r15
	mov $-5, %r15w
	mov $9, %r15b
	movsx %r15b, %eax
	movzx %r15w, %r9d
	movslq %r15d, %r15
	bswap %r15
	setc %r15b
	end
snippet stack
	push %r15
	pop (%rbx)
	push (%r15)
	pop 8(%r15)
	push %r15
	push %rbx
	pop %r15
	pop %rbx
	pushw %r15w
	popw %r15w
	mov %rsp, %r15
	push %r15
	pop %r15
	mov -8(%r15), %rax
	mov %r15, %rsp
	end
snippet exchange
	xchg %r15, %rax
	xchg %r15, (%rbx)
	xchg %r15d, %ecx
	xchg %cl, %r15b
	xchg %r15w, 4(%rbx)
	xadd %r15, %rdx
	xadd %r15, (%rsi)
	xadd %rax, %r15
	cmpxchg %r15, (%rdi)
	cmpxchg %rdx, %r15
	mov (%rdi), %rax
	lock cmpxchg %r15, (%rdi)
	mov %rdi, %r15
	mov (%r15), %rax
	cmpxchg %rdx, (%r15)
	and $-16, %r15
	cmpxchg16b (%r15)
	lock xadd %r15, (%r15)
	end
snippet multiply_shift
	mov (%rbx), %r15
	imul $77, %r15, %rax
	imul %rdx, %r15
	imul (%rbx), %r15
	imul $3, (%rsi), %r15
	mul %r15
	imul %r15
	mov %rdx, %r15
	shl $3, %r15
	shr %cl, %r15
	sar $1, %r15d
	rol %cl, %r15w
	rcl $2, %r15b
	shld $7, %r15, %rax
	shld %cl, %rax, %r15
	shrd $9, %r15, (%rbx)
	mov $3, %r15d
	xor %edx, %edx
	mov $1000, %eax
	div %r15
	mov %r15, %rcx
	shl %cl, %r15
	end
snippet bits
	bt %r15, %rax
	movsx %dl, %r15
	bts %r15, (%rbx)
	bt %r15w, (%rsi)
	btc %r15d, (%rdi)
	mov %rdi, %r15
	movsx %al, %rax
	btr %rax, (%r15)
	btsq $5, (%r15)
	btr $3, %r15
	bsf %r15, %rax
	bsr %rax, %r15
	popcnt (%rbx), %r15
	crc32b (%rsi), %r15
	movbe (%rbx), %r15
	movbe %r15, (%rdi)
	end
snippet vex
	mov (%rbx), %r15
	mulx %r15, %rax, %r9
	mulx %rax, %r15, %r9
	mulx (%rbx), %rax, %r15
	andn %r15, %rax, %r9
	andn %rax, %r15, %r9
	andn %rax, %r9, %r15
	rorx $5, %r15, %rax
	rorx $7, (%rsi), %r15
	shlx %r15, %rdx, %rax
	sarx %rdx, (%rbx), %r15
	shrx %rdx, %r15, %r15
	bextr %r15, %rax, %r9
	bzhi %r9, (%rdi), %r15
	blsr %r15, %rax
	blsi %rax, %r15
	blsmsk %r15, %r15
	pdep %r15, %rax, %r9
	pext (%rbx), %r15, %rax
	adcx %r15, %rax
	adox %rax, %r15
	mov %rsi, %r15
	mulx (%r15), %rax, %r9
	end
snippet jump_call
	lea 1f(%rip), %r15
	jmp *%r15
	ud2
1:	lea 2f(%rip), %r15
	call *%r15
	mov %rax, (%rbx)
	lea table(%rip), %r15
	jmp *8(%r15)
	ud2
2:	inc %rax
	ret
t1:	movzx %cl, %ecx
	and $1, %ecx
	mov %rcx, %r15
	jmp *table+16(,%r15,8)
	ud2
t2:	inc %rdx
t3:	lea table(%rip), %r15
	call *32(%r15)
	push %r15
	lea 3f(%rip), %r15
	push %r15
	ret
3:	pop %r15
	end
snippet sse
	movq %r15, %xmm0
	movdqu (%r15), %xmm1
	movq %xmm1, %r15
	pextrq $1, %xmm1, %r15
	pinsrq $0, %r15, %xmm0
	pinsrw $3, %r15d, %xmm0
	cvtsi2sd %r15, %xmm2
	cvttsd2si %xmm2, %r15
	movmskps %xmm1, %r15d
	pmovmskb %xmm0, %r15d
	movdqu %xmm0, (%rbx)
	mov %rbx, %r15
	movdqu %xmm2, 16(%r15)
	fldl (%r15)
	fstpl 8(%r15)
	movnti %r15, (%r15)
	end
snippet strings_around
	mov %r15, %rsi
	mov $5, %ecx
	rep movsq
	mov %rdi, %r15
	stosq
	mov %rax, (%r15)
	end
snippet system
	rdfsbase %r15
	mov %r15, %rax
	xor %eax, %eax
	rdpid %r15
	xor %r15d, %r15d
	mov %fs, %r15d
	mov $39, %eax
	mov %rbx, %r15
	syscall
	xor %eax, %eax
	xor %ecx, %ecx
	xor %r11d, %r11d
	mov %rdx, (%r15)
	end
	.data
	.balign 8
table:	.quad 0, t1, t2, t3, 2b
	.bss
	.balign 8
arena8:	.skip 4096
