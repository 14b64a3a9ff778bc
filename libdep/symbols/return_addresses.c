// SPDX-License-Identifier: LGPL-2.1-or-later
/* Search a stack for return addresses, and code for the calls in front of them. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libdep/x86/decode.h"
#include "unwind.h"

#define CALL_MAX	7u	/* bytes of a call with prefix, SIB and 32-bit displacement */

/*
 * Length of the call that ends at the end of @code, which has address @end; 0: none.  Several
 * instructions can end there.  A direct call of @function is preferred, then the longest one.
 */
static u32 length_of_call(const u8 *code, u32 size, u64 end, u64 function)
{
	struct x86_insn in;
	u32 len, found = 0;

	for (len = 2; len <= size; len++) {
		if (x86_decode(&in, code + size - len, len) != (int)len ||
		    (in.kind != X86_CALL && in.kind != X86_CALL_IND))
			continue;
		found = len;
		if (function && in.kind == X86_CALL && end + (u64)in.imm == function)
			return len;
	}
	return found;
}

u64 dep_call_before(struct dep_symbols *s, u32 process, u64 time_ns, u64 value, u64 function)
{
	struct dep_image *im;
	struct dep_row *row;
	u8 code[CALL_MAX];
	bool ambiguous;
	u64 offset;
	u32 len = 0;

	row = dep_row_at(s, process, value, time_ns, &ambiguous);
	if (!row || !(row->m->prot & PROT_EXEC) || value - row->m->start < CALL_MAX)
		return 0;
	im = dep_row_image(s, row);
	offset = value - CALL_MAX - row->m->start + row->m->offset;
	if (im && pread(im->main.fd, code, CALL_MAX, (off_t)offset) == (ssize_t)CALL_MAX)
		len = length_of_call(code, CALL_MAX, value, function);
	return len ? value - len : 0;
}

size_t dep_return_addresses(struct dep_symbols *s, u32 process, u64 time_ns,
			    const struct dep_stack *stack, u64 sp, struct dep_stack_frame *out,
			    size_t max)
{
	u64 off = sp - stack->regs[4], value;
	size_t n = 0;

	for (; off < stack->size && stack->size - off >= 8 && n < max; off += 8) {
		memcpy(&value, (const char *)stack->bytes + off, sizeof(value));
		if (dep_call_before(s, process, time_ns, value, 0))
			out[n++] = (struct dep_stack_frame){
				.pc = value, .sp = stack->regs[4] + off + 8,
			};
	}
	return n;
}
