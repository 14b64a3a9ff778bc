// SPDX-License-Identifier: GPL-2.0-or-later
/* The mutator of stores. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libdep/format/codec/chain.h"
#include "libdep/format/codec/compress.h"
#include "libdep/format/file/wire.h"
#include "blob.h"

#define UNITS	4096	/* maximum number of frames or segments considered in a file */

/** struct part - one file in memory, with room for more */
struct part {
	u8 *p;
	size_t size, room;
	bool absent;
};

/** struct unit - a frame or a segment */
struct unit {
	size_t at, size;	/* padding included */
};

static struct part parts[BLOB_FILES];
static u64 state;

static u32 below(u32 n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (u32)(state >> 33) % n : 0;
}

/* ---- blob <-> parts ---- */

static void unpack(const u8 *data, size_t size, size_t max)
{
	struct part *part;
	u32 len;
	int i;

	for (i = 0; i < BLOB_FILES; i++) {
		part = &parts[i];
		if (part->room < max) {
			free(part->p);
			part->p = malloc(max);
			part->room = max;
		}
		if (!part->p)
			abort();
		part->size = 0;
		part->absent = size < sizeof(len);
		if (part->absent)
			continue;
		memcpy(&len, data, sizeof(len));
		data += sizeof(len);
		size -= sizeof(len);
		part->absent = len == UINT32_MAX;
		if (part->absent)
			continue;
		part->size = len < size ? len : size;
		memcpy(part->p, data, part->size);
		data += part->size;
		size -= part->size;
	}
}

static size_t pack(u8 *data, size_t max)
{
	size_t at = 0;
	u32 len;
	int i;

	for (i = 0; i < BLOB_FILES && at + sizeof(len) <= max; i++) {
		len = parts[i].absent ? UINT32_MAX : (u32)parts[i].size;
		if (len != UINT32_MAX && at + sizeof(len) + len > max)
			len = (u32)(max - at - sizeof(len));
		memcpy(data + at, &len, sizeof(len));
		at += sizeof(len);
		if (len == UINT32_MAX)
			continue;
		memcpy(data + at, parts[i].p, len);
		at += len;
	}
	return at;
}

/* ---- units ---- */

static bool is_log(const struct part *part)
{
	return part == &parts[BLOB_LOG];
}

/* Size of the unit at @at, 0 if there is none. */
static size_t unit_size(const struct part *part, size_t at)
{
	const void *p = part->p + at;
	struct dep_seg_header h;
	struct dep_frame fr;
	size_t size, head = is_log(part) ? sizeof(fr) : sizeof(h);

	if (is_log(part)) {
		if (part->size - at < sizeof(fr))
			return 0;
		memcpy(&fr, p, sizeof(fr));
		size = fr.magic == DEP_FRAME_MAGIC ? dep_align8(sizeof(fr) + (u64)fr.size) : 0;
	} else {
		if (part->size - at < sizeof(h))
			return 0;
		memcpy(&h, p, sizeof(h));
		size = h.magic == DEP_SEG_HEAD_MAGIC ? dep_seg_bytes(&h) : 0;
	}
	/* Headers of format 3 are shorter. */
	return size >= head && size <= part->size - at ? size : 0;
}

static u32 find_units(const struct part *part, struct unit *u)
{
	size_t at = sizeof(struct dep_file_header), size;
	u32 n = 0;

	while (at < part->size && n < UNITS) {
		size = unit_size(part, at);
		if (size)
			u[n++] = (struct unit){ at, size };
		at += size ? size : 8;
	}
	return n;
}

/* Replace @old bytes at @at by @size bytes of @from, or zeros. */
static bool replace(struct part *part, size_t at, size_t old, const u8 *from, size_t size)
{
	if (part->size - old + size > part->room)
		return false;
	memmove(part->p + at + size, part->p + at + old, part->size - at - old);
	if (from)
		memcpy(part->p + at, from, size);
	else
		memset(part->p + at, 0, size);
	part->size += size - old;
	return true;
}

/* Duplicate the unit, or move it. */
static void copy_unit(struct part *part, const struct unit *u, u32 n)
{
	const struct unit *from = &u[below(n)], *to = &u[below(n)];
	u8 *copy = malloc(from->size);

	if (!copy)
		abort();
	memcpy(copy, part->p + from->at, from->size);
	replace(part, to->at, below(2) ? to->size : 0, copy, from->size);
	free(copy);
}

/* Set a field of 4 or 8 bytes to a number that is likely to cause errors. */
static void set_field(struct part *part, size_t at, size_t size)
{
	static const u64 odd[] = {
		0, 1, 2, 7, 8, 63, 64, 255, 4095, 65535, 65536, 1u << 20, 1u << 28, 1u << 30,
		0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 40, 1ull << 63, ~0ull,
	};
	const u32 wide = below(2) ? 8 : 4;
	u64 v = 0;

	if (size < wide)
		return;
	at += below((u32)(size - wide) / 4 + 1) * 4;
	memcpy(&v, part->p + at, wide);
	switch (below(3)) {
	case 0:
		v = odd[below(sizeof(odd) / sizeof(odd[0]))];
		break;
	case 1:
		v += below(2) ? 1 + below(8) : -(u64)(1 + below(8));
		break;
	default:
		v ^= 1ull << below(64);
	}
	memcpy(part->p + at, &v, wide);
}

/* Replace the payload by another one, with the length in the header. */
static void change_contents(struct part *part, const struct unit *u)
{
	size_t head = is_log(part) ? sizeof(struct dep_frame) : sizeof(struct dep_seg_header);
	size_t old = u->size - head, most = 2 * old + 64, size;
	struct dep_seg_header h;
	struct dep_frame fr;
	u8 *p = malloc(most + 8);

	if (!p)
		abort();
	memcpy(p, part->p + u->at + head, old);
	size = LLVMFuzzerMutate(p, old, most);
	memset(p + size, 0, dep_align8(size) - size);
	if (replace(part, u->at + head, old, p, dep_align8(size)) && is_log(part)) {
		memcpy(&fr, part->p + u->at, sizeof(fr));
		fr.size = (u32)size;
		memcpy(part->p + u->at, &fr, sizeof(fr));
	} else if (part->size >= u->at + head) {
		memcpy(&h, part->p + u->at, sizeof(h));
		h.control_stored = h.control_stored < size ? h.control_stored : (u32)size;
		h.value_stored = (u32)size - h.control_stored;
		memcpy(part->p + u->at, &h, sizeof(h));
	}
	free(p);
}

/* Replace @n words: by a copy of others, or one by a number near it. */
static void change_words(u32 *word, u32 n)
{
	u32 from = below(n), to = below(n), most = n - (from > to ? from : to);
	u32 many = 1 + below(most < 64 ? most : 64);

	if (below(2))
		memmove(word + to, word + from, many * sizeof(*word));
	else
		word[to] += below(2) ? 1 + below(4) : -(1 + below(4));
}

/* Change words of the segment's control column, which is stored without compression then. */
static void change_control(struct part *part, const struct unit *u)
{
	struct dep_seg_header h;
	u8 *stored = part->p + u->at + sizeof(h);
	size_t value_at, size;
	u32 *word, rounds;
	u8 *p;

	memcpy(&h, part->p + u->at, sizeof(h));
	value_at = h.control_stored;
	if (h.control_raw < sizeof(*word) || h.control_raw > part->room ||
	    h.control_stored > h.control_raw ||
	    value_at + h.value_stored > u->size - sizeof(h))
		return;
	size = dep_align8((u64)h.control_raw + h.value_stored);
	p = calloc(size + 8, 1);
	word = calloc(h.control_raw + 8, 1);
	if (!p || !word)
		abort();
	if (!dep_column_unpack(h.control_codec, stored, h.control_stored, word, h.control_raw)) {
		for (rounds = 1 + below(4); rounds; rounds--)
			change_words(word, h.control_raw / sizeof(*word));
		memcpy(p, word, h.control_raw);
		memcpy(p + h.control_raw, stored + value_at, h.value_stored);
		h.control_codec = DEP_C_RAW;
		h.control_stored = h.control_raw;
		if (replace(part, u->at + sizeof(h), u->size - sizeof(h), p, size))
			memcpy(part->p + u->at, &h, sizeof(h));
	}
	free(word);
	free(p);
}

static void change_unit(struct part *part)
{
	static struct unit u[UNITS];
	u32 n = find_units(part, u), i = below(n);
	size_t head = is_log(part) ? sizeof(struct dep_frame) : sizeof(struct dep_seg_header);

	if (!n) {
		part->size = LLVMFuzzerMutate(part->p, part->size, part->room);
		return;
	}
	switch (below(is_log(part) ? 6 : 12)) {
	case 0:
		copy_unit(part, u, n);
		break;
	case 1:
		replace(part, u[i].at, u[i].size, NULL, 0);
		break;
	case 2:
		change_contents(part, &u[i]);
		break;
	case 3:
		set_field(part, u[i].at, head);
		break;
	case 4:
	case 5:
		set_field(part, u[i].at + head, u[i].size - head);
		break;
	default:
		change_control(part, &u[i]);
	}
}

/* ---- checksums ---- */

static void seal_header(struct part *part, const char *magic, u32 number)
{
	struct dep_file_header h;

	if (part->absent || part->size < sizeof(h))
		return;
	memcpy(&h, parts[BLOB_LOG].p, sizeof(h));
	memcpy(h.magic, magic, sizeof(h.magic));
	h.number = number;
	h.check = XXH3_64bits_withSeed(&h, offsetof(struct dep_file_header, check),
				       XXH3_64bits(h.id, sizeof(h.id)));
	memcpy(part->p, &h, sizeof(h));
}

static void seal_log(struct part *part, u64 seed)
{
	static struct unit u[UNITS];
	u32 n = find_units(part, u), i;
	struct dep_file_header h;
	struct dep_frame fr;
	u64 prev;

	memcpy(&h, part->p, sizeof(h));
	prev = h.check;
	for (i = 0; i < n; i++) {
		memcpy(&fr, part->p + u[i].at, sizeof(fr));
		fr.prev = prev;
		fr.check = XXH3_64bits_withSeed(part->p + u[i].at + sizeof(fr), fr.size,
				XXH3_64bits_withSeed(&fr, sizeof(fr) - sizeof(u64), seed));
		prev = fr.check;
		memcpy(part->p + u[i].at, &fr, sizeof(fr));
	}
}

static void seal_segments(struct part *part, const struct dep_format *fmt)
{
	static struct unit u[UNITS];
	u32 n = find_units(part, u), i;
	struct dep_seg_header h;
	const u8 *p;

	for (i = 0; i < n; i++) {
		memcpy(&h, part->p + u[i].at, sizeof(h));
		p = part->p + u[i].at + sizeof(h);
		if ((u64)h.control_stored + h.value_stored > u[i].size - sizeof(h))
			continue;
		h.control_check = XXH3_64bits_withSeed(p, h.control_stored, fmt->seed);
		h.value_check = XXH3_64bits_withSeed(p + h.control_stored, h.value_stored,
						     fmt->seed);
		h.chain = dep_seg_chain(fmt, &h);
		h.check = XXH3_64bits_withSeed(&h, offsetof(struct dep_seg_header, check),
					       fmt->seed);
		memcpy(part->p + u[i].at, &h, sizeof(h));
	}
}

/* Mostly format 4; a few of older formats. */
static void seal(void)
{
	struct part *log = &parts[BLOB_LOG];
	struct dep_format fmt = { .version = 4 };
	struct dep_file_header h;

	if (!parts[BLOB_MANIFEST].absent)
		blob_seal_manifest(parts[BLOB_MANIFEST].p, parts[BLOB_MANIFEST].size);
	if (log->absent || log->size < sizeof(h))
		return;
	memcpy(&h, log->p, sizeof(h));
	memcpy(fmt.id, h.id, sizeof(fmt.id));
	fmt.seed = XXH3_64bits(fmt.id, sizeof(fmt.id));
	seal_header(log, DEP_LOG_MAGIC, 0);
	seal_header(&parts[BLOB_SEG0], DEP_SEG_MAGIC, 0);
	seal_header(&parts[BLOB_SEG1], DEP_SEG_MAGIC, 1);
	seal_log(log, fmt.seed);
	seal_segments(&parts[BLOB_SEG0], &fmt);
	seal_segments(&parts[BLOB_SEG1], &fmt);
}

/* ---- one mutation ---- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	/* Most changes of a text only make it invalid. */
	static const u8 order[16] = {
		BLOB_MANIFEST, BLOB_CATALOG, BLOB_LOG, BLOB_LOG, BLOB_LOG, BLOB_LOG, BLOB_LOG,
		BLOB_LOG, BLOB_LOG, BLOB_SEG0, BLOB_SEG0, BLOB_SEG0, BLOB_SEG0, BLOB_SEG1,
		BLOB_SEG1, BLOB_SEG1,
	};
	struct part *part;
	u32 rounds;

	state = seed;
	unpack(data, size, max);
	for (rounds = 1 + below(4); rounds; rounds--) {
		part = &parts[order[below(sizeof(order))]];
		if (part->absent) {
			part = &parts[BLOB_LOG];
		} else if (!below(64)) {
			part->absent = true;
			continue;
		}
		if (part == &parts[BLOB_MANIFEST] || part == &parts[BLOB_CATALOG] || !below(8))
			part->size = LLVMFuzzerMutate(part->p, part->size, part->room);
		else
			change_unit(part);
	}
	/* Leave some damage for the checksums to detect. */
	if (below(8))
		seal();
	return pack(data, max);
}
