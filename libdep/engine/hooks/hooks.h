/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Function hooks: the addresses of hooked functions (include/dep/functions.h; elf_symbols.c,
 * hooks.c), and return sites: the addresses to which calls of these functions return
 * (return_sites.c).
 *
 * All functions are called with frag_lock held.
 */
#ifndef ADEPT_ENGINE_HOOKS_HOOKS_H
#define ADEPT_ENGINE_HOOKS_HOOKS_H

#include "dep/functions.h"
#include "libdep/abi/types.h"

struct build;

/* Functions of elf_symbols.c. */
/**
 * hooks_scan_elf() - look up functions in the ELF image that is mapped at @base
 * @names: NUL-terminated names, ended by an empty name; they are numbered from 1 on
 * @found: called for each function with such a name, for all versions of its symbol
 *
 * The image is not trusted: it can be malformed.
 */
void hooks_scan_elf(u64 base, const char *names, void (*found)(void *arg, u64 pc, u8 number),
		    void *arg);

/**
 * hooks_each_elf() - call @found for each function in the dynamic symbols of the image at @base
 * @found: receives the function's name, cut to 255 bytes
 */
void hooks_each_elf(u64 base, void (*found)(void *arg, u64 pc, const char *name), void *arg);

/* Functions of hooks.c. */
/**
 * hooks_scan_module() - hook the functions in a mapped file, before its code runs
 * @base: address of the file's first byte
 * @start: beginning of the executable mapping
 * @end: end of the executable mapping
 */
void hooks_scan_module(u64 base, u64 start, u64 end);
/** hooks_forget_range() - remove hooks and return sites in [@start, @end) */
void hooks_forget_range(u64 start, u64 end);
/**
 * hook_at() - get the number of the hooked function that begins at @pc (enum dep_function), or 0
 */
u8 hook_at(u64 pc);
/** hook_is_return_site() - whether @pc is a return site */
int hook_is_return_site(u64 pc);
/** hook_add_return() - make @pc a return site; 0 if the table has no room */
int hook_add_return(u64 pc);
/** hook_argument_regs() - mask of the registers with the recorded arguments of @function */
u16 hook_argument_regs(u8 function);

/** hook_set_trigger() - the function at @pc is one of trigger @number; the first one counts */
void hook_set_trigger(u64 pc, u8 number);
/** hook_trigger() - 1 + number of the trigger whose function begins at @pc; 0: none */
u8 hook_trigger(u64 pc);
/** hook_watch_return() - a function of a trigger returns to @pc; 1 if this was not known yet */
int hook_watch_return(u64 pc);
/** hook_is_watched() - whether a function of a trigger begins at @pc, or returns to it */
int hook_is_watched(u64 pc);

/* Functions of return_sites.c. */
/** return_sites_emit_check() - emit the check of the return address at a hooked function's entry */
void return_sites_emit_check(struct build *b);
/** return_sites_emit_miss() - emit the beginning of the exit stub for an unknown return address */
void return_sites_emit_miss(struct build *b);
/** hook_called() - get the number of the hooked function that a call of @target reaches, or 0 */
u8 hook_called(u64 target);
/**
 * return_sites_enter() - add return site @ret to the table that the entries of functions check
 *
 * A thread that finds @ret there returns to it, so no translation of @ret from before it was a
 * return site may be left.
 */
void return_sites_enter(u64 ret);
/** return_sites_forget() - remove return site @ret from the table */
void return_sites_forget(u64 ret);

#endif
