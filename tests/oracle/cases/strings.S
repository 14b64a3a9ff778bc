# SPDX-License-Identifier: GPL-2.0-or-later
# String instructions: sizes, directions, prefixes, counts.
	.globl _start
_start:	mov $d, %rsi
	mov $e, %rdi
	cld
a1:	movsb					#= d 1 R; e 1 W
a2:	movsw					#= d+1 2 R; e+1 2 W
a3:	movsl					#= d+3 4 R; e+3 4 W
a4:	movsq					#= d+7 8 R; e+7 8 W
a5:	cmpsb					#= d+15 1 R; e+15 1 R
a6:	lodsl					#= d+16 4 R
a7:	stosw					#= e+16 2 W
a8:	scasb					#= e+18 1 R
	xor %ecx, %ecx
	rep movsb
	repe cmpsb
	mov $d, %rsi
	mov $e, %rdi
	mov $3, %ecx
b1:	rep movsw				#= d 2 R; e 2 W; d+2 2 R; e+2 2 W; d+4 2 R; e+4 2 W
	std
	mov $2, %ecx
	mov $d+32, %rsi
	mov $e+32, %rdi
b2:	rep movsq				#= d+32 8 R; e+32 8 W; d+24 8 R; e+24 8 W
	mov $2, %ecx
b3:	rep stosb				#= e+16 1 W; e+15 1 W
	cld
	mov $5, %ecx
	mov $d, %rsi
	mov $e+64, %rdi
b4:	repe cmpsb				#= d 1 R; e+64 1 R
	mov $5, %ecx
	mov $e+64, %rdi
	mov $8, %al
b5:	repne scasb				#= e+64 1 R; e+65 1 R
	mov $1, %ecx
b6:	rep lodsq				#= d+1 8 R
	mov $0xffffffff00000001, %rcx
	mov $d, %esi
	mov $e, %edi
b7:	addr32 rep movsb			#= d 1 R; e 1 W
	mov $158, %eax
	mov $0x1002, %edi
	mov $d, %esi
	syscall
	xor %esi, %esi
	mov $e, %rdi
b8:	fs movsb				#= d 1 R; e 1 W
b9:	mov %fs:8, %eax				#= d+8 4 R
	mov $158, %eax
	mov $0x1001, %edi
	mov $e, %esi
	syscall
	mov $4, %ebx
c1:	incl %gs:(%ebx,%ebx)			#= e+8 4 M
	mov $1, %eax
c2:	gs xlat					#= e+5 1 R
	mov $60, %eax
	xor %edi, %edi
	syscall
	.data
	.balign 64
d:	.byte 1
	.fill 127
e:	.fill 64
	.byte 7, 8, 9
	.fill 64
