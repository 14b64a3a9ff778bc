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
 * hooks_scan_elf() - look functions up in the ELF image that is mapped at @base
 * @names: each with its NUL, after the last one an empty one; they are numbered from 1 on
 * @found: called for each function of such a name, of all versions of its symbol
 *
 * The image may be anything.
 */
void hooks_scan_elf(u64 base, const char *names, void (*found)(void *arg, u64 pc, u8 number),
		    void *arg);

/* hooks.c */
/**
 * hooks_scan_module() - code of a file is about to run: [@start, @end); its first byte is at @base
 */
void hooks_scan_module(u64 base, u64 start, u64 end);
/** hooks_forget_range() - what was in [@start, @end) is no longer there */
void hooks_forget_range(u64 start, u64 end);
/** hook_at() - enum dep_function of what begins at @pc */
u8 hook_at(u64 pc);
/** hook_is_return_site() - do calls of watched functions return to @pc? */
int hook_is_return_site(u64 pc);
/** hook_add_return() - from now on they do; 0 if that cannot be kept */
int hook_add_return(u64 pc);
/** hook_argument_regs() - registers that have what is told of @function's arguments */
u16 hook_argument_regs(u8 function);

/* return_sites.c */
/** return_sites_emit_check() - in front of a function: is it known where it returns to? */
void return_sites_emit_check(struct build *b);
/** return_sites_emit_miss() - of exit X_SITE, in front of its thunk */
void return_sites_emit_miss(struct build *b);
/** return_sites_add() - a function was entered with stack pointer @sp: it is not known */
void return_sites_add(u64 sp);
/** return_sites_call() - a call of @target that returns to @ret is about to be translated */
void return_sites_call(u64 ret, u64 target);
/** return_sites_forget() - no call returns to @ret any more */
void return_sites_forget(u64 ret);

#endif
