/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Function hooks: addresses of hooked functions (include/dep/functions.h; elf_symbols.c, hooks.c),
 * and their return sites, to which calls of them return (return_sites.c).
 *
 * All functions are called with frag_lock held.
 */
#ifndef ADEPT_ENGINE_HOOKS_HOOKS_H
#define ADEPT_ENGINE_HOOKS_HOOKS_H

#include "dep/functions.h"
#include "libdep/abi/types.h"

struct build;

/* elf_symbols.c */
/**
 * hooks_scan_elf() - look functions up in the ELF image that is mapped at @base
 * @names: NUL-terminated names, ended by an empty one; they are numbered from 1 on
 * @found: called for each function with such a name, for all versions of its symbol
 *
 * The image is not trusted: it can be malformed.
 */
void hooks_scan_elf(u64 base, const char *names, void (*found)(void *arg, u64 pc, u8 number),
		    void *arg);

/* hooks.c */
/**
 * hooks_scan_module() - hook the functions in a mapped file, before its code runs
 * @base: address of the file's first byte
 * @start: beginning of the executable mapping
 * @end: its end
 */
void hooks_scan_module(u64 base, u64 start, u64 end);
/** hooks_forget_range() - remove hooks and return sites in [@start, @end) */
void hooks_forget_range(u64 start, u64 end);
/** hook_at() - enum dep_function of the hooked function that begins at @pc, or 0 */
u8 hook_at(u64 pc);
/** hook_is_return_site() - whether @pc is a return site */
int hook_is_return_site(u64 pc);
/** hook_add_return() - make @pc a return site; 0 if the table has no room */
int hook_add_return(u64 pc);
/** hook_argument_regs() - registers with the arguments of @function that are recorded */
u16 hook_argument_regs(u8 function);

/* return_sites.c */
/** return_sites_emit_check() - emit the check of the return address, at a function's entry */
void return_sites_emit_check(struct build *b);
/** return_sites_emit_miss() - emit the beginning of the exit stub of X_SITE */
void return_sites_emit_miss(struct build *b);
/** hook_called() - enum dep_function of the hooked function that a call of @target reaches, or 0 */
u8 hook_called(u64 target);
/**
 * return_sites_enter() - let functions' entries find return site @ret
 *
 * A thread that finds it there returns to @ret, where no older translation may be left.
 */
void return_sites_enter(u64 ret);
/** return_sites_forget() - remove return site @ret */
void return_sites_forget(u64 ret);

#endif
