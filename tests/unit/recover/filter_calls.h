/* SPDX-License-Identifier: GPL-2.0-or-later */
/* References and calls of hooked functions, as a filter gets them; references that it defers. */
#ifndef TESTS_UNIT_RECOVER_FILTER_CALLS_H
#define TESTS_UNIT_RECOVER_FILTER_CALLS_H

#include "dep/races.h"
#include "tests/unit/lib/joined.h"
#include "one_filter.h"

#define BASE	0x7f0000001000ull
#define WORD	0x7f0000005000ull
#define COUNTER	0x7f0000006000ull

static struct taken taken;

static inline bool shows(struct one *o, u8 code, u64 addr, u32 size, u32 type)
{
	struct dep_ref r = { 1, addr, size, (u16)type, 0 };

	return show(&o->s, code, &r);
}

static inline bool is_deferred(struct one *o, bool last)
{
	struct dep_ref r;
	bool joined;

	return take_run(&taken, &o->s, &r, last, &joined);
}

static inline u64 calls(struct one *o, u64 sp, u32 function, u64 a, u64 b, u8 code)
{
	const struct dep_call_values passed = { .sp = sp, .value = { a, b } };
	const struct dep_function_call f = { .function = function, .known = 3, .passed = &passed };

	return dep_filter_function(&o->s, &f, code);
}

static inline void returns(struct one *o, u64 sp, u64 result, bool known)
{
	const struct dep_call_values passed = { .sp = sp + 8, .value = { result } };
	const struct dep_function_call f = { .is_return = true, .known = known, .passed = &passed };

	dep_filter_function(&o->s, &f, DEP_CODE_PROGRAM);
}

#endif
