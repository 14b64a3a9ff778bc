# SPDX-License-Identifier: GPL-2.0-or-later
# Code that changes under its own feet is decoded as it stands.
	.globl _start
_start:	mov $s, %rsp
	mov $10, %eax
	mov $buf, %edi
	mov $4096, %esi
	mov $7, %edx
	syscall
	mov $d, %ebx
w1:	movl $0xc3038b90, buf(%rip)		#= buf 4 W
c1:	call buf				#= s-8 8 W
#@buf1 d 4 R
#@buf3 s-8 8 R
w2:	movb $0x89, buf+1(%rip)			#= buf+1 1 W
c2:	call buf				#= s-8 8 W
#@buf1 d 4 W
#@buf3 s-8 8 R
	mov $60, %eax
	xor %edi, %edi
	syscall
	.data
	.balign 4096
buf:	.byte 0
buf1:	.byte 0, 0
buf3:	.fill 4093
d:	.fill 64
	.fill 512
s:	.fill 64
