/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snippets: pieces of assembly that run with all registers set to known values,
 * after which all registers, flags and a memory arena are hashed (snip_main.c).
 *
 * On entry: rax, rdx, r9, r11 are random; rcx is 0..7; rbx, rsi, rdi, rbp, r8, r10,
 * r12..r15 point into the arena, 8-aligned, at least 1 KiB from its ends; rsp has
 * 4 KiB below it and 256 bytes above.  Everything may be changed.
 */
#ifdef __ASSEMBLER__
.macro snippet name
	.pushsection .rodata
9991:	.asciz "\name"
	.popsection
	.pushsection snippets, "aw"
	.quad 9992f, 9991b
	.popsection
9992:
.endm
.macro end
	jmp snippet_done
.endm
	.section .note.GNU-stack, "", @progbits
	.text
#endif
