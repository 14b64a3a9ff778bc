/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The application's memory map as far as code is concerned: which mappings are
 * executable, which pages have been translated, and what makes them stale.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_CODE_MAP_H
#define ADEPT_ENGINE_TRANSLATE_CODE_MAP_H

#include "libdep/abi/types.h"

/**
 * code_fetch() - read code at @pc for translation; frag_lock held
 *
 * The pages read are watched from then on: a write to them, or a change of their
 * mapping, kills the fragments made from them.
 *
 * @unwatchable: set to 1 if that is impossible: a shared mapping, which can be
 *	written through another one
 *
 * Return: how many of @n bytes are there and executable.
 */
size_t code_fetch(u64 pc, u8 *buf, size_t n, u8 *unwatchable);

/**
 * code_write_fault() - a write met a page that is there and cannot be written; 1 if that
 * is because it is watched, or was until a moment ago: the write shall be repeated
 */
int code_write_fault(u64 addr);
/**
 * code_unprotect_range() - let the kernel write there (a system call met EFAULT);
 * 1 if any was watched
 */
int code_unprotect_range(u64 start, u64 end);
/** code_unprotect_count() - a number that grows when a page is no longer watched */
u32 code_unprotect_count(void);
/**
 * code_changed() - [@start, @end) was unmapped, mapped or re-protected
 * @stamp: see mapping_table.h; pages that have been watched since are another mapping's
 */
void code_changed(u64 stamp, u64 start, u64 end);
/** mem_ours_from() - first address of [@start, @end) that is the engine's own memory, or @end */
u64 mem_ours_from(u64 start, u64 end);
/** mem_is_ours() - does the range touch the engine's own memory? */
int mem_is_ours(u64 start, u64 len);

#endif
