/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Embeds the dummy engine in place of the real one.
 */
	.section .rodata
	.globl	adept_engine, adept_engine_end, adept_engine_memsize
	.balign	16
adept_engine:
	.incbin	"dummy_image.bin"
adept_engine_end:
	.balign	8
adept_engine_memsize:
	.quad	adept_engine_end - adept_engine + 8192
	.section .note.GNU-stack, "", @progbits
