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

int dep_function_is_heap(u32 function)
{
	return function >= DEP_F_MALLOC && function <= DEP_F_DELETE_ARRAY_SIZED_ALIGNED;
}

int dep_function_mutes(u32 function)
{
	return dep_function_is_heap(function) ||
	       (function > DEP_F_RWLOCK_DESTROY && function <= DEP_F_RWLOCK_UNLOCK);
}

int dep_function_frees(u32 function)
{
	return function == DEP_F_FREE || function == DEP_F_CFREE || function == DEP_F_DALLOCX ||
	       function == DEP_F_SDALLOCX ||
	       (function >= DEP_F_DELETE && function <= DEP_F_DELETE_ARRAY_SIZED_ALIGNED);
}

int dep_function_reallocates(u32 function)
{
	return function == DEP_F_REALLOC || function == DEP_F_REALLOCARRAY ||
	       function == DEP_F_RALLOCX;
}

int dep_function_tells_size(u32 function)
{
	return function == DEP_F_MALLOC_USABLE_SIZE || function == DEP_F_XALLOCX ||
	       function == DEP_F_SALLOCX;
}

int dep_function_asks(u32 function, u32 known, const u64 *arg, u64 *size)
{
	u32 i;

	switch (function) {
	case DEP_F_CALLOC:
		*size = arg[0] * arg[1];
		return (known & 3) == 3;
	case DEP_F_REALLOCARRAY:
		*size = arg[1] * arg[2];
		return (known & 6) == 6;
	case DEP_F_REALLOC:
	case DEP_F_RALLOCX:
	case DEP_F_MEMALIGN:
	case DEP_F_ALIGNED_ALLOC:
		i = 1;
		break;
	case DEP_F_MALLOC:
	case DEP_F_MALLOCX:
	case DEP_F_VALLOC:
	case DEP_F_PVALLOC:
	case DEP_F_NEW:
	case DEP_F_NEW_NOTHROW:
	case DEP_F_NEW_ALIGNED:
	case DEP_F_NEW_ALIGNED_NOTHROW:
	case DEP_F_NEW_ARRAY:
	case DEP_F_NEW_ARRAY_NOTHROW:
	case DEP_F_NEW_ARRAY_ALIGNED:
	case DEP_F_NEW_ARRAY_ALIGNED_NOTHROW:
		i = 0;
		break;
	default:
		return 0;
	}
	*size = arg[i];
	return known >> i & 1;
}
