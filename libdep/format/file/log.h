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
	u64 seed;		/* seed of the checksums: dep_format.seed of the store */
	u64 prev;		/* checksum of the last frame */
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
	u32 type;		/* enum dep_frame_type, or a type of a newer version */
	u32 process;
	u32 size;
	const void *payload;	/* in the scanned memory, aligned to 8 bytes */
	u64 at, end;		/* offset of the frame, and offset at which the next frame begins */
	u64 check;
};

struct dep_log_scan {
	struct dep_format fmt;
	const u8 *data;
	size_t size, at;
	u64 prev;		/* checksum of the last valid frame, at first of the header */
	u64 breaks;		/* valid frames that do not name the previous frame's checksum */
	u64 frames;		/* valid frames so far */
	u64 bad_bytes;		/* bytes so far that are not part of a valid frame */
	u32 tries;		/* invalid frames so far: right magic, but wrong size or checksum */
	u64 tried_bytes;	/* payload bytes checksummed so far for invalid frames */
	int gave_up;		/* 1: the scan ended early, because of too many invalid frames */
	struct dep_log_entry entry;
};

/** dep_log_open() - begin to scan a log of @size bytes; @data is aligned to 8 bytes */
int dep_log_open(struct dep_log_scan *s, const void *data, size_t size);

/** dep_log_next() - skip damage and get the next valid frame, valid until the next call, or NULL */
const struct dep_log_entry *dep_log_next(struct dep_log_scan *s);

/** dep_log_whole() - like dep_log_next(), but NULL if no whole valid frame begins at @s->at */
const struct dep_log_entry *dep_log_whole(struct dep_log_scan *s);

/**
 * dep_log_payload() - copy the structure at the beginning of a payload
 * @size: size of the structure; members that the payload of an older store lacks are set to 0
 * @least: bytes of the structure that the payload must have
 *
 * Return: 1, or 0 if the payload is too short.
 */
int dep_log_payload(const struct dep_log_entry *e, void *to, size_t size, size_t least);

#endif
