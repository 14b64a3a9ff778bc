/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The executable mappings whose code has run, for files of this folder; frag_lock held. */
#ifndef ADEPT_ENGINE_TRANSLATE_CODE_REGIONS_H
#define ADEPT_ENGINE_TRANSLATE_CODE_REGIONS_H

#include "libdep/abi/types.h"

/** struct region - an executable mapping; @offset: of @start in the file, if @inode is not 0 */
struct region {
	u64 start, end;
	u64 offset, dev, inode;
	u32 prot;
	u32 shared;
};

u32 region_count(void);
void region_each(void (*f)(const struct region *r));

#endif
