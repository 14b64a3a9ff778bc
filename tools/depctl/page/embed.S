/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page before and behind its data, see build.sh.
 */
	.section .rodata
	.globl	page_head, page_head_end, page_tail, page_tail_end
page_head:
	.incbin	"page_head.html"
page_head_end:
page_tail:
	.incbin	"page_tail.html"
page_tail_end:
	.section .note.GNU-stack, "", @progbits
