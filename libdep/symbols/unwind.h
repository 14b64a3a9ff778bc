/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_SYMBOLS_UNWIND_H
#define ADEPT_SYMBOLS_UNWIND_H

#include "internal.h"

/**
 * dep_return_addresses() - find values on a stack that are addresses behind a call
 * @sp: where to begin
 *
 * Return: the number of frames, at most @max.
 */
size_t dep_return_addresses(struct dep_symbols *s, u32 process, u64 time_ns,
			    const struct dep_stack *stack, u64 sp, struct dep_stack_frame *out,
			    size_t max);

/**
 * dep_call_before() - address of the call in front of @value, in code of a mapped file; 0: none
 * @function: the function that it called, or 0: decides if several instructions end there
 */
u64 dep_call_before(struct dep_symbols *s, u32 process, u64 time_ns, u64 value, u64 function);

#endif
