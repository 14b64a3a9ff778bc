/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files segments.NNN: finding, checking and unpacking segments. */
#ifndef ADEPT_FORMAT_READ_SEGMENT_FILE_H
#define ADEPT_FORMAT_READ_SEGMENT_FILE_H

#include "dep/store.h"
#include "libdep/format/codec/chain.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/file/wire.h"

/** struct dep_columns - one segment, unpacked; its buffers are used again by the next */
struct dep_columns {
	struct dep_seg_header h;
	u32 *control;		/* h.control_raw bytes */
	u64 *value;		/* h.value_raw bytes, 8 more that may be written */
	u8 *stored;
	u8 *lens, *bytes;	/* the value column's streams (delta.h) */
	bool differences;	/* that is what @value has; whose values they are says @control */
	struct dep_contents contents;	/* of the same segment, for its content value */
	size_t control_room, value_room, stored_room, lens_room, bytes_room;
};

/** dep_seg_memory() - bytes that struct dep_columns takes for @seg at most */
static inline u64 dep_seg_memory(const struct dep_segment *seg)
{
	return (u64)seg->stored_bytes + seg->control_bytes + 2ull * seg->value_bytes +
	       seg->value_bytes / 16 + 64;
}

struct dep_seg_list {
	struct dep_segment *seg;
	size_t n, room;
	u64 torn;		/* places that hold no good segment but something */
	u64 lost_bytes;		/* of the segments' headers */
};

/**
 * dep_seg_header_read() - take a header from @raw, if it makes sense
 * @raw: dep_seg_header_bytes(@fmt) bytes
 * @h: receives it; of an older format what that does not have is zero
 *
 * Return: 0 or -EBADMSG.
 */
int dep_seg_header_read(const struct dep_format *fmt, const void *raw, struct dep_seg_header *h);

/**
 * dep_seg_files() - which files of segments are in a store
 * @first: numbers below are not counted
 * @count: receives how many there are
 * @end: receives the number after the last one, @first if there is none
 */
int dep_seg_files(int dirfd, u32 first, u32 *count, u32 *end);

/** dep_seg_file_check() - whether @fd begins as file @number of segments; 0, -EBADMSG, -errno */
int dep_seg_file_check(int fd, const struct dep_format *fmt, u32 number);

/**
 * dep_seg_scan() - find the segments of file @number by their headers
 * @last: also compare the checksums of the last one's columns
 */
int dep_seg_scan(int fd, const struct dep_format *fmt, u32 number, int last,
		 struct dep_seg_list *list);

/**
 * dep_seg_scan_from() - the same from @*at on, which receives how far it came
 * @whole: stop at what is no whole segment: it is being written
 */
int dep_seg_scan_from(int fd, const struct dep_format *fmt, u32 number, bool whole, u64 *at,
		      struct dep_seg_list *list);
/** dep_seg_check_last() - take the last one of @list, in @fd, off if its columns are bad */
void dep_seg_check_last(int fd, const struct dep_format *fmt, struct dep_seg_list *list);

/**
 * dep_seg_check() - read a segment piece by piece and compare the checksums of its columns
 * @h: receives its header, all zero if that is not good
 *
 * Return: 0, -EBADMSG if it is not what was stored, or another negative errno.
 */
int dep_seg_check(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
		  struct dep_seg_header *h);

/** dep_seg_read() - read a segment, compare the checksums of its columns, and unpack it */
int dep_seg_read(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
		 struct dep_columns *c);

void dep_columns_free(struct dep_columns *c);

#endif
