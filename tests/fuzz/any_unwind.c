// SPDX-License-Identifier: GPL-2.0-or-later
/* Stands for libdep/symbols, which opens files: each word of a stack at an attach is a frame. */
#include <string.h>

#include "dep/symbols.h"

size_t dep_symbols_unwind(struct dep_symbols *s, uint32_t process, uint64_t time_ns,
			  const struct dep_stack *stack, struct dep_stack_frame *out, size_t max)
{
	size_t n = 1;
	uint64_t pc;

	(void)s;
	(void)process;
	(void)time_ns;
	out[0] = (struct dep_stack_frame){ .pc = stack->pc, .exact = true, .sp = stack->regs[4] };
	for (; n < max && n * sizeof(pc) <= stack->size; n++) {
		memcpy(&pc, (const char *)stack->bytes + (n - 1) * sizeof(pc), sizeof(pc));
		out[n] = (struct dep_stack_frame){
			.pc = pc, .exact = pc & 1, .interrupted = pc == 3,
			.call = pc & 2 ? pc - 5 : 0, .function = pc & 4 ? pc & -16ull : 0,
			.sp = pc & 8 ? pc : stack->regs[4] + n * sizeof(pc),
		};
	}
	return n;
}
