// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../../include/dep/store.h"
#include "error.h"
#include "log.h"

/* After this many broken frames the rest is given up, lest a forged file cost hours. */
#define MAX_TRIES	10000

static u64 frame_check(const struct dep_frame *fr, const void *payload)
{
	return XXH3_64bits_withSeed(payload, fr->size,
				    XXH3_64bits(fr, offsetof(struct dep_frame, check)));
}

int dep_log_append(struct dep_file *f, u32 type, u32 process, const void *a, size_t a_size,
		   const void *b, size_t b_size)
{
	struct dep_frame fr = {
		.magic = DEP_FRAME_MAGIC, .type = type, .process = process,
		.size = a_size + b_size,
	};
	struct iovec iov[2] = { { &fr, sizeof(fr) }, { (void *)a, a_size } };
	u8 *joined = NULL;
	int err;

	if (a_size + b_size > DEP_FRAME_MAX)
		return dep_fail(-EMSGSIZE, "frame of %zu bytes", a_size + b_size);
	if (b_size) {
		joined = malloc(a_size + b_size);
		if (!joined)
			return dep_fail(-ENOMEM, "frame");
		memcpy(joined, a, a_size);
		memcpy(joined + a_size, b, b_size);
		iov[1].iov_base = joined;
		iov[1].iov_len = a_size + b_size;
	}
	fr.check = frame_check(&fr, iov[1].iov_base);
	err = dep_file_append(f, iov, 2);
	free(joined);
	return err;
}

int dep_log_open(struct dep_log_scan *s, const void *data, size_t size)
{
	const struct dep_file_header *h = data;

	memset(s, 0, sizeof(*s));
	if (size < sizeof(*h) || memcmp(h->magic, DEP_LOG_MAGIC, sizeof(h->magic)))
		return dep_fail(-EBADMSG, "%s is not a log of a DEP store", DEP_LOG_NAME);
	if (h->version != DEP_FORMAT_VERSION)
		return dep_fail(-EBADMSG, "format version %u, this is %u", h->version,
				DEP_FORMAT_VERSION);
	s->data = data;
	s->size = size;
	s->at = sizeof(*h);
	return 0;
}

static int frame_good(const struct dep_frame *fr, size_t avail)
{
	if (fr->size > DEP_FRAME_MAX || fr->size > avail - sizeof(*fr))
		return 0;
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return 1;
#endif
	return fr->check == frame_check(fr, fr + 1);
}

const struct dep_frame *dep_log_next(struct dep_log_scan *s)
{
	const struct dep_frame *fr;

	for (; s->size - s->at >= sizeof(*fr); s->at += 8, s->bad_bytes += 8) {
		fr = (const struct dep_frame *)(s->data + s->at);
		if (fr->magic != DEP_FRAME_MAGIC)
			continue;
		if (frame_good(fr, s->size - s->at)) {
			s->at += dep_align8(sizeof(*fr) + fr->size);
			/* The padding of the last frame may be what is missing. */
			if (s->at > s->size)
				s->at = s->size;
			return fr;
		}
		if (++s->tries > MAX_TRIES) {
			s->gave_up = 1;
			break;
		}
	}
	s->bad_bytes += s->size - s->at;
	s->at = s->size;
	return NULL;
}

const struct dep_frame *dep_log_whole(struct dep_log_scan *s)
{
	const struct dep_frame *fr = (const struct dep_frame *)(s->data + s->at);

	if (s->size - s->at < sizeof(*fr) || fr->magic != DEP_FRAME_MAGIC ||
	    dep_align8(sizeof(*fr) + (u64)fr->size) > s->size - s->at ||
	    !frame_good(fr, s->size - s->at))
		return NULL;
	s->at += dep_align8(sizeof(*fr) + fr->size);
	return fr;
}

int dep_frame_payload(const struct dep_frame *fr, void *to, size_t size, size_t least)
{
	if (fr->size < least)
		return 0;
	memset(to, 0, size);
	memcpy(to, fr + 1, fr->size < size ? fr->size : size);
	return 1;
}
