/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suite: exact.  AVX-512: gathers, scatters, masked and compressed moves, mask registers. */
#include "snip.h"
	.globl snippet_need
	.section .rodata
snippet_need: .byte 2
	.text

snippet gather
	vmovdqu32 index(%rip), %zmm17
	vmovdqu64 qindex(%rip), %zmm18
	vmovdqu64 qindex+8(%rip), %zmm19
	kmovw %eax, %k1
	vpgatherdd (%rsi,%zmm17,4), %zmm3{%k1}
	kmovw %k1, %r8d
	kmovw %edx, %k2
	vgatherdpd 16(%rbp,%ymm17,8), %zmm4{%k2}
	kmovw %eax, %k3
	vgatherqps (%r15,%zmm18), %ymm5{%k3}
	kmovw %edx, %k4
	vpgatherqq (%rbx,%xmm19), %xmm6{%k4}
	vmovdqu32 %zmm3, (%rdi)
	vmovdqu32 %zmm4, 64(%rdi)
	vmovdqu32 %ymm5, 128(%rdi)
	vzeroupper
	end
snippet scatter
	vmovdqu32 index(%rip), %zmm17
	vmovdqu64 qindex(%rip), %zmm18
	vmovdqu64 qindex+8(%rip), %zmm19
	vmovdqu32 (%rbx), %zmm1
	kmovw %eax, %k1
	vpscatterdd %zmm1, (%rsi,%zmm17,4){%k1}
	kmovw %edx, %k2
	vscatterdpd %zmm1, 8(%r15,%ymm17,8){%k2}
	kxnorw %k3, %k3, %k3
	vpscatterqd %xmm1, (%rdi,%ymm18){%k3}
	kxorw %k3, %k3, %k3
	vpscatterqq %zmm1, (%rcx,%zmm18){%k3}
	vzeroupper
	end
snippet masked
	kmovq %rax, %k1
	kmovw %edx, %k2
	vmovdqu8 (%rbx), %zmm0{%k1}{z}
	vmovdqu8 %zmm0, (%rsi){%k1}
	vmovups %zmm0, 64(%rdi){%k2}
	vmovsd (%rbx), %xmm1{%k2}{z}
	vmovss %xmm1, (%rdi){%k1}
	vpcmpub	$4, (%rbx), %ymm0, %k5{%k1}
	vpcmpw	$1, 2(%rbx), %zmm0, %k1{%k1}
	vpcmpeqb (%rbx), %zmm0, %k5{%k2}
	vpcmpeqw 4(%rbx), %xmm0, %k5{%k2}
	vpcmpeqb (%rbx), %zmm0, %k5
	vpcmpd	$2, (%rbx), %zmm0, %k5{%k2}
	vpcompressd %zmm0, 128(%rsi){%k2}
	vpexpandd 128(%rsi), %zmm2{%k2}{z}
	vcompresspd %ymm0, 256(%rsi){%k1}
	vpmovqb %zmm0, 300(%rsi){%k2}
	vaddps (%rbx){1to16}, %zmm0, %zmm3{%k2}{z}
	vpaddq 8(%r15){1to8}, %zmm0, %zmm4
	vpcmpd $1, (%r12), %zmm4, %k5
	kmovw %k5, %r8d
	kmovw %k5, 4(%r12)
	kmovq 8(%r12), %k6
	kmovq %k6, 16(%r12)
	vmovdqu64 %zmm3, (%r13)
	vmovdqu64 %zmm4, 64(%r13)
	vbroadcasti32x4 (%rbx), %zmm20
	vextracti64x4 $1, %zmm20, 128(%r13)
	vpternlogd $0x96, (%rbx), %zmm20, %zmm4
	vmovntps %zmm4, align(%rip)
	vzeroupper
	end
snippet state
	vmovdqu32 (%rbx), %zmm31
	vmovdqu32 64(%rbx), %zmm16
	kmovq %rdx, %k7
	mov $300, %ecx
1:	call 2f
	dec %ecx
	jnz 1b
	mov $39, %eax
	syscall
	xor %eax, %eax
	xor %ecx, %ecx
	xor %r11d, %r11d
	vmovdqu32 %zmm31, (%rdi)
	kmovq %k7, %r8
	vzeroupper
	end
2:	vpaddd %zmm16, %zmm31, %zmm31{%k7}
	ret
	.data
	.balign 64
index:	.long 0, 5, -3, 12, 12, 7, -20, 1, 2, 2, 2, 40, -50, 3, 9, 8
qindex:	.quad 0, 16, -32, 5, 100, 8, 24, -1, 3
	.balign 64
align:	.skip 64
