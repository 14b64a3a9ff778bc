/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files segments.NNN: finding, checking and unpacking segments. */
#ifndef ADEPT_FORMAT_READ_SEGMENT_FILE_H
#define ADEPT_FORMAT_READ_SEGMENT_FILE_H

#include "dep/store.h"
#include "libdep/format/codec/chain.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/file/wire.h"

/** struct dep_columns - an unpacked segment; the buffers are reused for the next segment */
struct dep_columns {
	struct dep_seg_header h;
	u32 *control;		/* control column, h.control_raw bytes */
	u64 *value;		/* value column, h.value_raw bytes, and room for 8 bytes more */
	u8 *stored;
	u8 *lens, *bytes;	/* the value column's streams (delta.h) */
	bool differences;	/* @value has differences, which dep_delta_sum() adds up later */
	struct dep_contents contents;	/* parts of this segment, for dep_seg_content() */
	size_t control_room, value_room, stored_room, lens_room, bytes_room;
};

/** dep_seg_memory() - maximum size of struct dep_columns' buffers for @seg */
static inline u64 dep_seg_memory(const struct dep_segment *seg)
{
	return (u64)seg->stored_bytes + seg->control_bytes + 2ull * seg->value_bytes +
	       seg->value_bytes / 16 + 64;
}

struct dep_seg_list {
	struct dep_segment *seg;
	size_t n, room;
	bool mapped;		/* @seg is a mapping of the index (segment_index.h), read only */
	u64 torn;		/* places with data that is no valid segment */
	u64 lost_bytes;		/* sum of lost_bytes in the headers of the segments */
};

/**
 * dep_seg_header_read() - check the header at @raw
 * @raw: dep_seg_header_bytes(@fmt) bytes
 * @h: receives the header; fields that do not exist in format 3 are zero for it
 *
 * Return: 0 or -EBADMSG.
 */
int dep_seg_header_read(const struct dep_format *fmt, const void *raw, struct dep_seg_header *h);

/**
 * dep_seg_files() - list the segment files of a store
 * @first: files with lower numbers are not counted
 * @count: receives the number of files
 * @end: receives the highest file number + 1, or @first if there is no file
 */
int dep_seg_files(int dirfd, u32 first, u32 *count, u32 *end);

/** dep_seg_file_check() - check the header of segment file @number; 0, -EBADMSG or -errno */
int dep_seg_file_check(int fd, const struct dep_format *fmt, u32 number);

/**
 * dep_seg_scan() - find the segments of file @number by their headers
 * @last: also verify the columns of the file's last segment by their checksums
 */
int dep_seg_scan(int fd, const struct dep_format *fmt, u32 number, int last,
		 struct dep_seg_list *list);

/**
 * dep_seg_scan_from() - find segments from offset *@at on, and advance *@at
 * @whole: stop at an incomplete segment, which is still being written
 */
int dep_seg_scan_from(int fd, const struct dep_format *fmt, u32 number, bool whole, u64 *at,
		      struct dep_seg_list *list);
/** dep_seg_check_last() - remove the last segment of @list, in @fd, if its columns are bad */
void dep_seg_check_last(int fd, const struct dep_format *fmt, struct dep_seg_list *list);

/**
 * dep_seg_check() - read a segment in pieces and compare the checksums of its columns
 * @h: receives the segment's header, or zeros if the header is invalid
 *
 * Return: 0, -EBADMSG if the segment is damaged, or another negative errno.
 */
int dep_seg_check(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
		  struct dep_seg_header *h);

/** dep_seg_read() - read a segment, compare the checksums of its columns, and unpack it */
int dep_seg_read(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
		 struct dep_columns *c);

/**
 * dep_seg_read_control() - read a segment's header and control column only
 *
 * Compares the checksum of the control column, and unpacks it.
 */
int dep_seg_read_control(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
			 struct dep_columns *c);

void dep_columns_free(struct dep_columns *c);

#endif
