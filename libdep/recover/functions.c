// SPDX-License-Identifier: LGPL-2.1-or-later
#include "program.h"

#define NAME(id, symbol, args)	symbol,
#define ARGS(id, symbol, args)	args,

static const char *const names[DEP_NFUNCTIONS] = { "?", DEP_FUNCTIONS(NAME) };
static const u8 arguments[DEP_NFUNCTIONS] = { 0, DEP_FUNCTIONS(ARGS) };

const u8 dep_function_regs[DEP_FUNCTION_ARGS] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX };

const char *dep_function_name(unsigned int function)
{
	return names[function < DEP_NFUNCTIONS ? function : DEP_F_NONE];
}

u32 dep_function_args(u32 function)
{
	return function < DEP_NFUNCTIONS ? arguments[function] : 0;
}
