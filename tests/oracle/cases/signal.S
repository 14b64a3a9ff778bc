# SPDX-License-Identifier: GPL-2.0-or-later
# What faults makes no reference; handlers make theirs in order; a trap handler
# survives the stepping; rseq does not exist.
	.globl _start
_start:	mov $s, %rsp
	mov $13, %eax
	mov $11, %edi
	mov $act, %esi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov $13, %eax
	mov $5, %edi
	syscall
	mov $334, %eax
	xor %edi, %edi
	syscall
	cmp $-38, %rax
	jne bad
	mov $0x10000000, %ebx
f1:	mov (%rbx), %eax
#@h1 count 4 M
#@h2 saved 8 W
#@f1 0x10000000 4 R
	int3
#@h1 count 4 M
#@h2 saved 8 W
	int3
#@h1 count 4 M
#@h2 saved 8 W
	mov $39, %eax
	syscall
	mov %eax, %edi
	mov $5, %esi
	mov $62, %eax
	syscall
#@h1 count 4 M
#@h2 saved 8 W
	xor %edi, %edi
p1:	cmpl $4, count(%rip)			#= count 4 R
	jne bad
	mov $60, %eax
	syscall
bad:	mov $60, %eax
	mov $1, %edi
	syscall

# Map the missing page.  rdx is the ucontext, where rt_sigreturn wants rsp.
handler:
h1:	incl count(%rip)
h2:	mov %rax, saved(%rip)
	mov %rdx, %rsp
	mov $9, %eax
	mov $0x10000000, %edi
	mov $4096, %esi
	mov $3, %edx
	mov $0x32, %r10d
	mov $-1, %r8
	xor %r9d, %r9d
	syscall
restorer:
	mov $15, %eax
	syscall
	.data
	.balign 64
act:	.quad handler, 0x04000004, restorer, 0
count:	.long 0
saved:	.quad 0
d:	.fill 64
	.fill 8192
s:	.fill 64
