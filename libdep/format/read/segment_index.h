/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file segments.index: the list of a closed store's segments, so that opening a store with
 * millions of segments reads one file from beginning to end instead of the header of each segment.
 *
 *	0	struct dep_wire_index, and zeros
 *	4096	struct dep_segment for each segment, sorted as dep_store_segments() returns them
 *
 * Like the catalog it is made from the other files, and can be removed.  It is used only if it was
 * made for this ending of the recording, the segment files have the sizes that the END frame names,
 * and its checksums match; otherwise the headers are read.  It is mapped, so its rows take memory
 * only while they are used.
 */
#ifndef ADEPT_FORMAT_READ_SEGMENT_INDEX_H
#define ADEPT_FORMAT_READ_SEGMENT_INDEX_H

#include "store.h"

#define DEP_INDEX_NAME	"segments.index"
#define DEP_INDEX_MAGIC	"DEPIDX\r\n"
#define DEP_INDEX_ROWS	4096u		/* offset of the first row: a page, for mmap() */

struct dep_wire_index {
	char magic[8];
	u32 version;		/* DEP_FORMAT_VERSION */
	u32 row_bytes;		/* sizeof(struct dep_segment) */
	u8 id[DEP_ID_SIZE];	/* of the store */
	u64 end_check;		/* checksum of the END frame */
	u64 segments;		/* number of rows */
	u64 lost_bytes;		/* sum over the headers of the segments */
	u64 rows_check;		/* XXH3-64 of all rows; checksums are seeded as in other files */
	u64 check;		/* the same of the fields above */
};

/* Stores with fewer segments have no index: reading their headers is fast. */
extern size_t dep_seg_index_min;

/** dep_seg_files_final() - has the recording ended, and have the files the sizes of its end? */
bool dep_seg_files_final(const struct dep_store *s);

/** dep_seg_index_read() - set @s->segs from the index; 1, 0 if there is none, or -ENOMEM */
int dep_seg_index_read(struct dep_store *s);

/** dep_seg_index_free() - free @s->segs, which may be mapped */
void dep_seg_index_free(struct dep_store *s);

/**
 * dep_seg_index_write() - write the index of @s, or remove one that is not needed
 *
 * A store that was not closed, or with damaged segments, gets none.
 */
int dep_seg_index_write(struct dep_store *s);

#endif
