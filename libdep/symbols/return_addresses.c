// SPDX-License-Identifier: LGPL-2.1-or-later
/* Search a stack for return addresses. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libdep/x86/decode.h"
#include "unwind.h"

#define CALL_MAX	7u	/* bytes of a call with prefix, SIB and 32-bit displacement */

/* Is one of the instructions that can end at the end of @code a call? */
static bool ends_with_call(const u8 *code, u32 size)
{
	struct x86_insn in;
	u32 len;

	for (len = 2; len <= size; len++)
		if (x86_decode(&in, code + size - len, len) == (int)len &&
		    (in.kind == X86_CALL || in.kind == X86_CALL_IND))
			return true;
	return false;
}

/* Is @value an address in code of a mapped file, behind a call? */
static bool is_return_address(struct dep_symbols *s, u32 process, u64 time_ns, u64 value)
{
	struct dep_image *im;
	struct dep_row *row;
	u8 code[CALL_MAX];
	bool ambiguous;
	u64 offset;

	row = dep_row_at(s, process, value, time_ns, &ambiguous);
	if (!row || !(row->m->prot & PROT_EXEC) || value - row->m->start < CALL_MAX)
		return false;
	im = dep_row_image(s, row);
	offset = value - CALL_MAX - row->m->start + row->m->offset;
	return im && pread(im->main.fd, code, CALL_MAX, (off_t)offset) == (ssize_t)CALL_MAX &&
	       ends_with_call(code, CALL_MAX);
}

size_t dep_return_addresses(struct dep_symbols *s, u32 process, u64 time_ns,
			    const struct dep_stack *stack, u64 sp, struct dep_stack_frame *out,
			    size_t max)
{
	u64 off = sp - stack->regs[4], value;
	size_t n = 0;

	for (; off < stack->size && stack->size - off >= 8 && n < max; off += 8) {
		memcpy(&value, (const char *)stack->bytes + off, sizeof(value));
		if (is_return_address(s, process, time_ns, value))
			out[n++] = (struct dep_stack_frame){ .pc = value };
	}
	return n;
}
