/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  Instructions with implicit operands, and all string instructions. */
#include "snip.h"

snippet mul_div
	movzx %cl, %ecx
	inc %ecx
	mulq (%rbx)
	mov $3, %edx
	divq 8(%rbx,%rcx,8)
	mov %rax, (%rdi)
	mov %edx, %eax
	cltd
	imull 16(%rsi)
	mulb (%rsi)
	mov $7, %dl
	movzx %al, %eax
	div %dl
	end
snippet xlat
	xlat
	mov %al, (%rdi)
	addr32 xlat
	end
snippet cmpxchg
	mov (%rbx), %rax
	cmpxchg %rdx, (%rbx)
	cmpxchg %dl, 1(%rbx)
	lock cmpxchg %r9w, 2(%rbx)
	mov 8(%rdi), %eax
	lock cmpxchg %r9d, 8(%rdi)
	end
snippet cmpxchg8b
	mov (%rsi), %eax
	mov 4(%rsi), %edx
	lock cmpxchg8b (%rsi)
	cmpxchg8b 8(%rsi)
	end
snippet cmpxchg16b
	and $-16, %rdi
	mov (%rdi), %rax
	mov 8(%rdi), %rdx
	lock cmpxchg16b (%rdi)
	cmpxchg16b 16(%rdi)
	end
snippet enter_leave
	enter $32, $0
	mov %rax, -8(%rbp)
	leave
	enter $48, $1
	leave
	enter $64, $5
	mov %rdx, -8(%rbp)
	leave
	enter $8, $31
	leave
	end
snippet push_pop
	push %rax
	pushw %dx
	pushw $0x1234
	push $-3
	push (%rbx)
	pushw (%rbx)
	pop (%rdi)
	popw 8(%rdi)
	pop %r8
	popw %r9w
	popw %r10w
	pop %r11
	pushfq
	pop %r9
	push %fs
	pop %r10
	end
snippet push_pop_rsp
	push 8(%rsp)
	push (%rsp)
	pop 8(%rsp)
	pop 16(%rsp)
	push %rsp
	pop %rbx
	lea -64(%rsp), %rsp
	pop (%rsp)
	pop (%rsp,%rcx,8)
	pushw 4(%rsp)
	popw 4(%rsp)
	push %rsp
	pop %rsp
	mov %rsp, %rax
	push %rax
	pop %rsp
	end
snippet xchg_xadd
	xchg %rax, (%rbx)
	xchg %dl, 9(%rbx)
	xchg %r9w, 12(%rbx)
	xadd %rdx, (%rsi)
	lock xadd %ecx, 8(%rsi)
	xadd %al, %ah
	xchg %rbx, %rsi
	mov %rax, (%rbx)
	xchg %rax, %rdi
	mov %rdx, (%rax)
	end
snippet movs
	movsb
	movsw
	movsl
	movsq
	std
	movsb
	movsw
	movsl
	movsq
	cld
	end
snippet rep_movs
	rep movsb
	mov $9, %ecx
	rep movsw
	mov $9, %ecx
	rep movsl
	mov $9, %ecx
	rep movsq
	std
	mov $30, %ecx
	rep movsb
	mov $5, %ecx
	rep movsq
	mov $5, %ecx
	rep movsw
	cld
	xor %ecx, %ecx
	rep movsq
	mov $200, %ecx
	mov %rsi, %rdi
	add $1, %rdi
	rep movsb
	end
snippet rep_stos_lods
	mov $11, %ecx
	rep stosb
	mov $11, %ecx
	rep stosw
	mov $11, %ecx
	rep stosl
	mov $11, %ecx
	rep stosq
	stosb
	std
	stosq
	stosw
	mov $3, %ecx
	rep stosl
	mov $3, %ecx
	rep lodsq
	lodsb
	cld
	lodsl
	lodsw
	mov %rax, (%rbx)
	end
snippet cmps_scas
	mov %rsi, %rdi
	add $8, %rdi
	mov $20, %ecx
	repe cmpsb
	mov %rcx, (%rbx)
	mov $20, %ecx
	mov %rdi, %rsi
	movb $1, 7(%rdi)
	movb $1, 7(%rsi)
	repe cmpsb
	mov %rcx, 8(%rbx)
	mov %rdi, 16(%rbx)
	mov $20, %ecx
	repne cmpsw
	mov $30, %ecx
	mov 13(%rdi), %al
	repne scasb
	mov %rcx, 24(%rbx)
	mov $30, %ecx
	mov 40(%rdi), %rax
	repne scasq
	mov %rdi, 32(%rbx)
	std
	mov $16, %ecx
	repe scasl
	mov $16, %ecx
	repne scasw
	cmpsl
	scasb
	cld
	end
snippet string_prefixes
	mov $4, %ecx
	addr32 rep movsb
	addr32 stosl
	mov $0xffffffff00000002, %rcx
	addr32 rep stosw
	end
snippet flags
	lahf
	sahf
	pushfq
	pop %rax
	and $0xcd5, %rax
	push %rax
	popfq
	setc (%rbx)
	seto 1(%rbx)
	cmovs (%rsi), %rdx
	cmc
	adc %rdx, (%rdi)
	sbb 8(%rdi), %rdx
	rcl $3, %r9
	rcrl %cl, (%rbx)
	cbtw
	cwtl
	cltq
	cqto
	std
	pushfq
	pop %r8
	and $0xcd5, %r8
	cld
	end
snippet bits
	bt %rdx, %rax
	movsx %dl, %rdx
	bts %rdx, (%rbx)
	btr %edx, (%rsi)
	btc %dx, (%rdi)
	bt %dx, (%rdi)
	btsq $61, 8(%rbx)
	lock btc %rdx, 16(%rsi)
	bsf (%rbx), %rax
	bsr (%rbx), %rax
	popcnt (%rsi), %rax
	shld $5, %rax, (%rbx)
	shrd %cl, %rdx, (%rsi)
	movbe (%rbx), %r9
	movbe %r9w, (%rdi)
	crc32q (%rsi), %rax
	bswap %r11
	end
snippet maskmov
	movdqu (%rbx), %xmm0
	movdqu (%rsi), %xmm1
	maskmovdqu %xmm0, %xmm1
	movq %rax, %mm0
	movq %rdx, %mm1
	maskmovq %mm0, %mm1
	emms
	movnti %rax, (%rbx)
	end
snippet fx_state
	and $-64, %rdi
	fninit
	fldl (%rbx)
	fld1
	fnstenv (%rdi)
	fldenv (%rdi)
	fnsave 64(%rdi)
	frstor 64(%rdi)
	fstpt 256(%rdi)
	fstps 288(%rdi)
	fnstcw 292(%rdi)
	fldcw 292(%rdi)
	fxsave 512(%rdi)
	fxrstor 512(%rdi)
	stmxcsr 296(%rdi)
	ldmxcsr 296(%rdi)
	/* instruction pointers of the x87 image may be anybody's */
	xor %eax, %eax
	mov %rdi, %rbx
	mov $1024/8, %ecx
	rep stosq
	fninit
	end
snippet xsave
	lea xbuf(%rip), %rdi
	mov $7, %eax
	xor %edx, %edx
	movdqu (%rbx), %xmm3
	fninit
	xsave (%rdi)
	pxor %xmm3, %xmm3
	xrstor (%rdi)
	movdqu %xmm3, (%rsi)
	mov $2, %eax
	xsavec 4096(%rdi)
	xrstor 4096(%rdi)
	xsaveopt (%rdi)
	xor %ecx, %ecx
	xgetbv
	end
	.bss
	.balign 64
xbuf:	.skip 8192
