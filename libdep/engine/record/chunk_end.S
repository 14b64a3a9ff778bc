/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "libdep/engine/base/load_regs.h"

	.text

/*
 * u64 ring_chunk_end(struct tls *t)
 *
 * End the chunk at t->pp by a store to ADEPT_CHUNK_END_AT, which faults in the guard after the
 * chunk.  The kernel module reads the application's registers at this fault.  Returns the new
 * t->pp.  rsp must stay valid, since a signal can arrive here; the module takes the application's
 * rsp from TLS_SPILL1.
 */
	.globl	ring_chunk_end
ring_chunk_end:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	LOAD_REGS
	movb	$0, CHUNK_END_AT(%r15)
	mov	%r15, %rax
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.section .note.GNU-stack, "", @progbits
