/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log: file "fragments", frames with a checksum each. */
#ifndef DEP_FORMAT_LOG_H
#define DEP_FORMAT_LOG_H

#include "file.h"

/** dep_log_append() - one frame, its payload in two pieces (the second may be empty) */
int dep_log_append(struct dep_file *f, u32 type, u32 process, const void *a, size_t a_size,
		   const void *b, size_t b_size);

struct dep_log_scan {
	const u8 *data;
	size_t size, at;
	u64 bad_bytes;		/* not part of any good frame */
	u32 tries;
	int gave_up;		/* 1: too many broken frames to look further */
};

/** dep_log_open() - check the file header of a log of @size bytes, aligned to 8 */
int dep_log_open(struct dep_log_scan *s, const void *data, size_t size);

/** dep_log_next() - the next good frame, or NULL; its payload follows it */
const struct dep_frame *dep_log_next(struct dep_log_scan *s);

/** dep_log_whole() - as dep_log_next(), but NULL if there is no good frame just here */
const struct dep_frame *dep_log_whole(struct dep_log_scan *s);

/**
 * dep_frame_payload() - copy a payload's structure, which may have grown since
 * @least: bytes that must be there; what is missing of @size is zero
 *
 * Return: 1, or 0 if it is too short.
 */
int dep_frame_payload(const struct dep_frame *fr, void *to, size_t size, size_t least);

#endif
