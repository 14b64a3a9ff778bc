/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  AVX and AVX2: gathers, masked moves, and state across everything. */
#include "snip.h"
	.globl snippet_need
	.section .rodata
snippet_need: .byte 1
	.text

snippet gather
	vmovdqu index(%rip), %ymm1
	vmovdqu (%rbx), %ymm2
	vmovdqu (%rbx), %ymm4
	vpxor %ymm3, %ymm3, %ymm3
	vpgatherdd %ymm2, (%rsi,%ymm1,4), %ymm3
	vmovdqu %ymm3, (%rdi)
	vmovdqu %ymm2, 32(%rdi)
	vgatherdpd %ymm4, 8(%rsi,%xmm1,8), %ymm3
	vmovdqu %ymm3, 64(%rdi)
	vpcmpeqd %ymm2, %ymm2, %ymm2
	vmovdqu qindex(%rip), %ymm5
	vgatherqps %xmm2, (%rbp,%ymm5,2), %xmm6
	vpcmpeqd %xmm2, %xmm2, %xmm2
	vpgatherqq %xmm2, (%r15,%xmm5), %xmm7
	vpcmpeqd %xmm2, %xmm2, %xmm2
	vpgatherdq %xmm2, arena2(,%xmm1,8), %xmm8
	vpaddd %ymm6, %ymm7, %ymm7
	vpaddd %ymm8, %ymm7, %ymm7
	vmovdqu %ymm7, 96(%rdi)
	vpxor %ymm2, %ymm2, %ymm2
	vpgatherdd %ymm2, 0(%rcx,%ymm1,4), %ymm3
	vzeroupper
	end
snippet masked
	vmovdqu (%rbx), %ymm1
	vmaskmovps (%rsi), %ymm1, %ymm2
	vmaskmovps %ymm2, %ymm1, (%rdi)
	vpmaskmovq 8(%rsi), %ymm1, %ymm3
	vpmaskmovq %ymm3, %ymm1, 40(%rdi)
	vmaskmovpd %xmm2, %xmm1, 80(%rdi)
	vpmaskmovd (%r15), %xmm1, %xmm4
	vmovdqu %xmm4, (%r15)
	vmaskmovdqu %xmm1, %xmm2
	vzeroall
	end
snippet state
	vmovdqu (%rbx), %ymm0
	vmovdqu 32(%rbx), %ymm15
	fninit
	fldl (%rsi)
	fldpi
	mov $400, %ecx
1:	call 2f
	dec %ecx
	jnz 1b
	mov $39, %eax
	syscall
	xor %eax, %eax
	xor %ecx, %ecx
	xor %r11d, %r11d
	vpaddd %ymm0, %ymm15, %ymm1
	vmovdqu %ymm1, (%rdi)
	fmulp
	fstpt 32(%rdi)
	vzeroupper
	end
2:	lea 3f(%rip), %rdx
	jmp *%rdx
3:	vpaddq %ymm15, %ymm0, %ymm0
	ret
snippet broadcast
	vbroadcastss (%rbx), %ymm0
	vpbroadcastb 3(%rsi), %xmm1
	vinserti128 $1, (%rdi), %ymm0, %ymm2
	vextracti128 $1, %ymm2, (%rdi)
	vpmovzxbw (%rbx), %ymm3
	vcvtps2ph $0, %ymm0, 16(%rdi)
	vpsllvd (%rsi), %ymm3, %ymm3
	vmovdqu %ymm3, 32(%rdi)
	vmovhps (%r15), %xmm1, %xmm1
	vmovlps %xmm1, 64(%rdi)
	vmovss %xmm0, 72(%rdi)
	vpextrb $3, %xmm1, 76(%rdi)
	vpinsrw $2, 4(%rbx), %xmm1, %xmm1
	vfmadd231ps (%r12), %ymm3, %ymm0
	vzeroupper
	end
	.data
	.balign 32
index:	.long 0, 5, -3, 12, 12, 7, -20, 1
qindex:	.quad 0, 48, -16, 7
arena2:	.fill 256, 1, 3
	.fill 256, 1, 4
