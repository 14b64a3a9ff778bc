/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code map: executable mappings of the application, pages that code was translated from, and
 * invalidation of fragments when mappings or pages change.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_CODE_MAP_H
#define ADEPT_ENGINE_TRANSLATE_CODE_MAP_H

#include "libdep/abi/types.h"

/**
 * code_fetch() - read code at @pc for translation; frag_lock held
 *
 * @unwatchable: set to 1 if a page read is untracked: it is in a shared mapping, which can be
 *	written through another address, or it cannot be protected
 *
 * Afterwards a change of the mapping kills the fragments made from the code.  Writable pages are
 * write-protected, so that a write to a page kills its fragments.
 *
 * Return: the number of bytes that could be read and are executable, at most @n.
 */
size_t code_fetch(u64 pc, u8 *buf, size_t n, u8 *unwatchable);

/**
 * code_write_fault() - handle a write to a mapped page that is not writable
 *
 * If the page is write-protected, kills its fragments and makes it writable.
 *
 * Return: 1 if the write must be repeated, because the page is or was just write-protected; 0 if
 * the fault is the application's.
 */
int code_write_fault(u64 addr);
/**
 * code_unprotect_range() - make write-protected pages writable, after EFAULT of a system call
 *
 * Return: 1 if any page was write-protected.
 */
int code_unprotect_range(u64 start, u64 end);
/** code_unprotect_count() - number of pages whose write protection was removed; only grows */
u32 code_unprotect_count(void);
/**
 * code_changed() - called after [@start, @end) was unmapped, mapped, or its protection changed
 * @stamp: number of this change, see mapping_table.h; a page that was write-protected later
 *	belongs to a newer mapping
 */
void code_changed(u64 stamp, u64 start, u64 end);
/**
 * code_files_unmapped() - called before [@start, @end) is unmapped or replaced
 *
 * After an attach the recorder knows all mappings of files, also those without code.
 */
void code_files_unmapped(u64 start, u64 end);
/** code_restore_caught() - put back what the injector's int3 instructions replace */
void code_restore_caught(void);
/** code_pause() - the program runs natively from now on; no thread runs in the code cache */
void code_pause(void);
/**
 * code_resume() - the engine runs the program again: remove fragments whose code has changed
 *
 * The table of mappings is up to date.
 */
void code_resume(void);
/** mem_ours_from() - first address of the engine's own memory in [@start, @end), or @end */
u64 mem_ours_from(u64 start, u64 end);
/** mem_list_ours() - list the engine's mappings but for the image in boot.mapping */
void mem_list_ours(void);
/** mem_give_to_children() - at the attach: from now on forked children have the engine, too */
void mem_give_to_children(void);
/** mem_keep_from_children() - at the detach: list these, and from now on children have no engine */
void mem_keep_from_children(void);
/** mem_is_ours() - whether the range overlaps the engine's own memory */
int mem_is_ours(u64 start, u64 len);

#endif
