/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: file "fragments", a chain of frames.
 *
 * Each frame has its own checksum and holds that of the previous frame.  So a frame that was
 * removed, doubled or moved is detected at its neighbour, also after damage.
 */
#ifndef ADEPT_FORMAT_FILE_LOG_H
#define ADEPT_FORMAT_FILE_LOG_H

#include "append_file.h"

/* ---- writing ---- */

/** struct dep_log - a log that is appended to */
struct dep_log {
	struct dep_file file;
	u64 seed;		/* of the store's format */
	u64 prev;		/* check of the last frame */
	u64 frames;
};

/**
 * struct dep_new_frame - a frame to be appended; the caller owns its payload
 * @type: enum dep_frame_type
 * @more: second part of the payload, which may be empty
 */
struct dep_new_frame {
	u32 type, process;
	const void *data;
	size_t size;
	const void *more;
	size_t more_size;
};

int dep_log_append(struct dep_log *l, const struct dep_new_frame *f);

/* ---- reading ---- */

/** struct dep_log_entry - a valid frame */
struct dep_log_entry {
	u32 type;		/* enum dep_frame_type, or an unknown one */
	u32 process;
	u32 size;
	const void *payload;	/* in the memory that is scanned, aligned to 8 */
	u64 at, end;		/* offsets of the frame and of what follows it */
	u64 check;
};

struct dep_log_scan {
	struct dep_format fmt;
	const u8 *data;
	size_t size, at;
	u64 prev;		/* check of the last valid frame */
	u64 breaks;		/* frames that do not follow their predecessor */
	u64 frames;		/* valid frames so far */
	u64 bad_bytes;		/* not part of any valid frame */
	u32 tries;		/* broken frames so far.. */
	u64 tried_bytes;	/* ..and bytes that were checksummed for them */
	int gave_up;		/* 1: too many broken frames, the scan has ended */
	struct dep_log_entry entry;
};

/** dep_log_open() - check the file header of a log of @size bytes, aligned to 8 */
int dep_log_open(struct dep_log_scan *s, const void *data, size_t size);

/** dep_log_next() - next valid frame, or NULL; skips damage; valid until the next call */
const struct dep_log_entry *dep_log_next(struct dep_log_scan *s);

/** dep_log_whole() - as dep_log_next(), but NULL if no valid frame begins right here */
const struct dep_log_entry *dep_log_whole(struct dep_log_scan *s);

/**
 * dep_log_payload() - copy the structure at the beginning of a payload
 * @size: of the structure now; in an older store it can be shorter, the rest is zeroed
 * @least: bytes that must be present
 *
 * Return: 1, or 0 if it is too short.
 */
int dep_log_payload(const struct dep_log_entry *e, void *to, size_t size, size_t least);

#endif
