# SPDX-License-Identifier: GPL-2.0-or-later
#!avx512f
#!avx512vl
# Gathers, scatters and masked moves.
	.globl _start
_start:	mov $d, %rbx
	vpxor %xmm0, %xmm0, %xmm0
	vpcmpeqd %ymm1, %ymm1, %ymm1
a1:	vmovdqu i32(%rip), %ymm2		#= i32 32 R
a2:	vgatherdps %ymm1, (%rbx,%ymm2,4), %ymm3	#= d 4 R; d+12 4 R; d+4 4 R; d-4 4 R
#@a2 d+8 4 R; d+8 4 R; d+20 4 R; d+16 4 R
	mov $0xa5, %eax
	kmovw %eax, %k1
a3:	vpgatherdd 4(%rbx,%ymm2,4), %ymm3{%k1}	#= d+4 4 R; d+8 4 R; d+12 4 R; d+20 4 R
a4:	vmovdqu m64(%rip), %ymm1		#= m64 32 R
a5:	vgatherqpd %ymm1, i64(,%ymm4), %ymm5	#= i64 8 R; i64 8 R
	mov $0x6, %eax
	kmovw %eax, %k2
a6:	vmovdqu64 i64(%rip), %ymm20		#= i64 32 R
a7:	vpscatterqd %xmm3, (%rbx,%ymm20){%k2}	#= d+8 4 W; d+64 4 W
	kxorw %k3, %k3, %k3
	vpscatterqd %xmm3, (%rbx,%ymm20){%k3}
	kmovw %eax, %k2
	mov $0xa5, %eax
	kmovw %eax, %k1
b1:	vmovups %zmm0, (%rbx){%k2}		#= d+4 8 W
	vmovups (%rbx), %zmm0{%k3}
b2:	vmovupd (%rbx), %zmm0{%k1}		#= d 8 R; d+16 8 R; d+40 8 R; d+56 8 R
b3:	vaddps 4(%rbx){1to16}, %zmm0, %zmm0	#= d+4 4 R
b8:	vmovdqu m64(%rip), %ymm6		#= m64 32 R
b4:	vpmaskmovd %ymm0, %ymm6, (%rbx)		#= d 12 W; d+28 4 W
b9:	vpmaskmovq (%rbx), %ymm6, %ymm7		#= d 8 R; d+24 8 R
b5:	vpcompressd %zmm0, (%rbx){%k2}		#= d 64 W
b6:	vaddps 64(%rbx), %zmm0, %zmm0		#= d+64 64 R
b7:	vmovss (%rbx), %xmm0{%k1}{z}		#= d 4 R
	vzeroupper
	mov $60, %eax
	xor %edi, %edi
	syscall
	.data
	.balign 64
	.fill 64
d:	.fill 256
i32:	.long 0, 3, 1, -1, 2, 2, 5, 4
i64:	.quad 0, 8, 64, 16
m64:	.quad -1, 0x7fffffffffffffff, 1, 0x8000000000000000
