/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Embeds the dummy engine in place of the real one.
 */
	.section .rodata
	.globl	adept_blob, adept_blob_end, adept_blob_memsize
	.balign	16
adept_blob:
	.incbin	"dummy_blob.bin"
adept_blob_end:
	.balign	8
adept_blob_memsize:
	.quad	adept_blob_end - adept_blob + 8192
	.section .note.GNU-stack, "", @progbits
