// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "dep/store.h"
#include "error.h"
#include "log.h"

/*
 * The scan ends after MAX_TRIES invalid frames, so that a forged file cannot take hours.  It also
 * ends if the bytes checksummed for invalid frames exceed MAX_OVERLAP times the size of the file:
 * each invalid frame can claim all bytes that follow.
 */
#define MAX_TRIES	10000
#define MAX_OVERLAP	8

/* Checksum of a frame: the payload and the header of @bytes bytes, except its last field. */
static u64 frame_check(const void *header, u32 bytes, const void *payload, u32 size, u64 seed)
{
	return XXH3_64bits_withSeed(payload, size, XXH3_64bits_withSeed(header,
							bytes - sizeof(u64), seed));
}

int dep_log_append(struct dep_log *l, const struct dep_new_frame *f)
{
	size_t size = f->size + f->more_size;
	struct dep_frame fr = {
		.magic = DEP_FRAME_MAGIC, .type = f->type, .process = f->process,
		.size = size, .prev = l->prev,
	};
	struct iovec iov[2] = { { &fr, sizeof(fr) }, { (void *)f->data, f->size } };
	u8 *joined = NULL;
	int err;

	if (size > DEP_FRAME_MAX)
		return dep_fail(-EMSGSIZE, "a log frame of %zu bytes is too large", size);
	if (f->more_size) {
		joined = malloc(size);
		if (!joined)
			return dep_fail(-ENOMEM, "frame");
		memcpy(joined, f->data, f->size);
		memcpy(joined + f->size, f->more, f->more_size);
		iov[1].iov_base = joined;
		iov[1].iov_len = size;
	}
	fr.check = frame_check(&fr, sizeof(fr), iov[1].iov_base, fr.size, l->seed);
	err = dep_file_append(&l->file, iov, 2);
	free(joined);
	if (err)
		return err;
	l->prev = fr.check;
	l->frames++;
	return 0;
}

int dep_log_open(struct dep_log_scan *s, const void *data, size_t size)
{
	const struct dep_file_header *h = data;
	int err;

	memset(s, 0, sizeof(*s));
	err = dep_format_read(&s->fmt, data, size, DEP_LOG_MAGIC);
	if (err == -EBADMSG)
		return dep_fail(err, "%s is not a log of a DEP store", DEP_LOG_NAME);
	if (err)
		return err;
	s->data = data;
	s->size = size;
	s->at = dep_file_header_bytes(&s->fmt);
	if (s->fmt.version != DEP_FORMAT_OLD)
		s->prev = h->check;
	return 0;
}

/* Check the frame at offset @s->at, which has the right magic; if valid, fill in @s->entry. */
static bool is_good(struct dep_log_scan *s)
{
	u32 head = dep_frame_bytes(&s->fmt);
	const u8 *p = s->data + s->at;
	size_t avail = s->size - s->at;
	struct dep_frame fr = { 0 };
	u64 prev = s->prev;

	memcpy(&fr, p, offsetof(struct dep_frame, prev));
	memcpy(&fr.check, p + head - sizeof(u64), sizeof(u64));
	if (s->fmt.version != DEP_FORMAT_OLD)
		memcpy(&prev, p + offsetof(struct dep_frame, prev), sizeof(prev));
	if (fr.size > DEP_FRAME_MAX || fr.size > avail - head)
		return false;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	if (fr.check != frame_check(p, head, p + head, fr.size, s->fmt.seed)) {
		s->tried_bytes += fr.size;
		return false;
	}
#endif
	s->breaks += prev != s->prev;
	s->prev = fr.check;
	s->frames++;
	s->entry = (struct dep_log_entry){
		.type = fr.type, .process = fr.process, .size = fr.size, .payload = p + head,
		.at = s->at, .end = s->at + dep_align8(head + (u64)fr.size), .check = fr.check,
	};
	return true;
}

static bool has_magic(const struct dep_log_scan *s)
{
	u32 magic;

	memcpy(&magic, s->data + s->at, sizeof(magic));
	return magic == DEP_FRAME_MAGIC;
}

const struct dep_log_entry *dep_log_next(struct dep_log_scan *s)
{
	u32 head = dep_frame_bytes(&s->fmt);

	for (; s->size - s->at >= head; s->at += 8, s->bad_bytes += 8) {
		if (!has_magic(s))
			continue;
		if (is_good(s)) {
			/* The file can end without the padding of its last frame. */
			s->at = s->entry.end < s->size ? s->entry.end : s->size;
			return &s->entry;
		}
		if (++s->tries > MAX_TRIES ||
		    s->tried_bytes > MAX_OVERLAP * ((u64)s->size + DEP_FRAME_MAX)) {
			s->gave_up = 1;
			break;
		}
	}
	s->bad_bytes += s->size - s->at;
	s->at = s->size;
	return NULL;
}

const struct dep_log_entry *dep_log_whole(struct dep_log_scan *s)
{
	u32 head = dep_frame_bytes(&s->fmt), size;

	if (s->size - s->at < head || !has_magic(s))
		return NULL;
	memcpy(&size, s->data + s->at + offsetof(struct dep_frame, size), sizeof(size));
	if (dep_align8(head + (u64)size) > s->size - s->at || !is_good(s))
		return NULL;
	s->at = s->entry.end;
	return &s->entry;
}

int dep_log_payload(const struct dep_log_entry *e, void *to, size_t size, size_t least)
{
	if (e->size < least)
		return 0;
	memset(to, 0, size);
	memcpy(to, e->payload, e->size < size ? e->size : size);
	return 1;
}
