/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watched functions (include/dep/functions.h): where they begin (elf_symbols.c, hooks.c), and
 * where calls of them return to (return_sites.c).  All of it under frag_lock.
 */
#ifndef ADEPT_ENGINE_HOOKS_HOOKS_H
#define ADEPT_ENGINE_HOOKS_HOOKS_H

#include "dep/functions.h"
#include "libdep/abi/types.h"

struct build;

/* elf_symbols.c */
/**
 * watch_elf() - look functions up in the ELF image that is mapped at @base
 * @names: each with its NUL, behind the last one an empty one; they are numbered from 1 on
 * @found: called for each function of such a name, of all versions of its symbol
 *
 * The image may be anything.
 */
void watch_elf(u64 base, const char *names, void (*found)(void *arg, u64 pc, u8 number), void *arg);

/* hooks.c */
/** watch_module() - code of a file is about to run: [@start, @end); its first byte is at @base */
void watch_module(u64 base, u64 start, u64 end);
/** watch_forget() - what was in [@start, @end) is no longer there */
void watch_forget(u64 start, u64 end);
/** watch_function() - enum dep_function of what begins at @pc */
u8 watch_function(u64 pc);
/** watch_returns() - do calls of watched functions return to @pc? */
int watch_returns(u64 pc);
/** watch_add_return() - from now on they do; 0 if that cannot be kept */
int watch_add_return(u64 pc);
/** watch_needs() - registers that have what is told of @function's arguments */
u16 watch_needs(u8 function);

/* return_sites.c */
/** sites_emit_check() - in front of a function: is it known where it returns to? */
void sites_emit_check(struct build *b);
/** sites_emit_miss() - of exit X_SITE, in front of its thunk */
void sites_emit_miss(struct build *b);
/** sites_learn() - a function was entered with stack pointer @sp: it is not known */
void sites_learn(u64 sp);
/** sites_call() - a call of @target that returns to @ret is about to be translated */
void sites_call(u64 ret, u64 target);
/** sites_forget() - no call returns to @ret any more */
void sites_forget(u64 ret);

#endif
