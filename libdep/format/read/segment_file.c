// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "libdep/format/codec/compress.h"
#include "libdep/format/codec/delta.h"
#include "libdep/format/file/error.h"
#include "libdep/format/file/append_file.h"
#include "segment_file.h"

#define WINDOW	65536	/* bytes per read when a file is searched or a column is checked */

/*
 * Maximum compression ratio that a header may claim.  zstd's best ratio is far below it; a header
 * that claims more is forged to exhaust memory.
 */
#define MAX_RATIO	40000u
#define DELTA_RATIO	(16 * MAX_RATIO)	/* DEP_C_DELTA codes 8 bytes as at least 4 bits */

/* Maximum stored size of the value column: few or random values grow when stored as differences. */
static u64 most_stored(const struct dep_seg_header *h)
{
	if (h->value_codec != DEP_C_DELTA)
		return h->value_raw;
	return sizeof(struct dep_delta) + h->value_raw / 16 + 1 + (u64)h->value_raw;
}

int dep_seg_header_read(const struct dep_format *fmt, const void *raw, struct dep_seg_header *h)
{
	u32 size = dep_seg_header_bytes(fmt);

	memset(h, 0, sizeof(*h));
	memcpy(h, raw, size - sizeof(h->check));
	memcpy(&h->check, (const u8 *)raw + size - sizeof(h->check), sizeof(h->check));
	if (h->magic != DEP_SEG_HEAD_MAGIC || h->version != fmt->version || h->size != size)
		return -EBADMSG;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	if (h->check != XXH3_64bits_withSeed(raw, size - sizeof(h->check), fmt->seed))
		return -EBADMSG;
	if (fmt->version != DEP_FORMAT_OLD && h->chain != dep_seg_chain(fmt, h))
		return -EBADMSG;
#endif
	if (h->control_codec >= DEP_C_CODECS || h->control_codec == DEP_C_DELTA ||
	    h->value_codec >= DEP_C_CODECS ||
	    h->control_raw > DEP_BODY_MAX || h->value_raw > DEP_BODY_MAX ||
	    h->control_raw % 4 || h->value_raw % 8 ||
	    h->control_stored > h->control_raw || h->value_stored > most_stored(h) ||
	    h->control_raw / MAX_RATIO > h->control_stored ||
	    h->value_raw / (h->value_codec == DEP_C_DELTA ? DELTA_RATIO : MAX_RATIO) >
		    h->value_stored ||
	    h->tail_values > h->value_raw / 8)
		return -EBADMSG;
	return 0;
}

static int list_add(struct dep_seg_list *l, const struct dep_seg_header *h, u32 number, u64 off)
{
	struct dep_segment *s;
	size_t room;

	if (l->n == l->room) {
		room = l->room ? l->room * 2 : 256;
		s = realloc(l->seg, room * sizeof(*s));
		if (!s)
			return dep_fail(-ENOMEM, "cannot enlarge the list of segments");
		l->seg = s;
		l->room = room;
	}
	s = &l->seg[l->n++];
	memset(s, 0, sizeof(*s));	/* the index has the bytes between the members, too */
	s->thread = h->thread;
	s->seq = h->seq;
	s->raw_bytes = h->raw_bytes;
	s->stored_bytes = dep_seg_bytes(h);
	s->control_bytes = h->control_raw;
	s->value_bytes = h->value_raw;
	s->file = number;
	s->offset = off;
	s->start_ns = h->start_ns;
	s->index = h->index;
	s->prev = h->prev;
	s->chain = h->chain;
	l->lost_bytes += h->lost_bytes;
	return 0;
}

/* Size of a segment without its padding, which can be missing after the last segment. */
static u64 bytes_used(const struct dep_seg_header *h)
{
	return (u64)h->size + h->control_stored + h->value_stored;
}

/* The next offset >= @off outside of holes, a multiple of 8; @end if there is none. */
static u64 skip_hole(int fd, u64 off, u64 end)
{
	off_t data = lseek(fd, (off_t)off, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? end : off;
	return (u64)data > off ? (u64)data & ~7ull : off;
}

/* The next offset >= @off that is a multiple of 8 and has a valid header, or @end. */
static s64 find_header(int fd, const struct dep_format *fmt, u64 off, u64 end, u8 *buf)
{
	u32 size = dep_seg_header_bytes(fmt);
	struct dep_seg_header h;
	size_t i;
	ssize_t n;

	for (off = skip_hole(fd, off, end); off < end; off = skip_hole(fd, off, end)) {
		n = dep_read_at(fd, buf, WINDOW, off);
		if (n < 0)
			return n;
		if (n < (ssize_t)size)
			return end;
		for (i = 0; i + size <= (size_t)n; i += 8)
			if (!dep_seg_header_read(fmt, buf + i, &h) &&
			    bytes_used(&h) <= end - off - i)
				return off + i;
		off += i;
	}
	return end;
}

/* The number NNN in the name segments.NNN, or -1 if @name is another file. */
static int number_of(const char *name)
{
	const char *digits = strchr(name, '.');
	char same[32];
	u32 number;

	if (!digits)
		return -1;
	number = strtoul(digits + 1, NULL, 10) % DEP_SEG_FILES;
	snprintf(same, sizeof(same), DEP_SEG_NAME, number);
	return strcmp(name, same) ? -1 : (int)number;
}

int dep_seg_files(int dirfd, u32 first, u32 *count, u32 *end)
{
	struct dirent *e;
	int fd, number;
	DIR *d;

	*count = 0;
	*end = first;
	/* Open the directory again, because readdir() moves the read position of its descriptor. */
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return dep_fail(-errno, "cannot list the files of the store");
	}
	while ((e = readdir(d))) {
		number = number_of(e->d_name);
		if (number < 0 || (u32)number < first)
			continue;
		++*count;
		if ((u32)number >= *end)
			*end = number + 1;
	}
	closedir(d);
	return 0;
}

int dep_seg_file_check(int fd, const struct dep_format *fmt, u32 number)
{
	struct dep_file_header h, expect;
	u32 size = dep_file_header_bytes(fmt);
	ssize_t n = dep_read_at(fd, &h, size, 0);

	if (n < 0)
		return dep_fail(n, "cannot read a segment file");
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return 0;
#endif
	dep_file_header(&expect, fmt, DEP_SEG_MAGIC, number);
	if (n != (ssize_t)size || memcmp(&h, &expect, size))
		return dep_fail(-EBADMSG, DEP_SEG_NAME " is not a segment file of this store",
				number);
	return 0;
}

int dep_seg_scan_from(int fd, const struct dep_format *fmt, u32 number, bool whole, u64 *at,
		      struct dep_seg_list *list)
{
	u32 size = dep_seg_header_bytes(fmt);
	struct dep_seg_header raw, h;
	struct stat st;
	u8 *buf = NULL;
	ssize_t n;
	s64 next;
	u64 end;
	int err = 0;

	if (fstat(fd, &st))
		return dep_fail(-errno, "cannot get the size of a segment file");
	end = st.st_size;
	while (*at < end) {
		n = dep_read_at(fd, &raw, size, *at);
		if (n < 0) {
			err = dep_fail(n, "cannot read a segment file");
			break;
		}
		if (n == (ssize_t)size && !dep_seg_header_read(fmt, &raw, &h) &&
		    (whole ? dep_seg_bytes(&h) : bytes_used(&h)) <= end - *at) {
			err = list_add(list, &h, number, *at);
			if (err)
				break;
			*at += dep_seg_bytes(&h);
			continue;
		}
		if (whole)
			break;
		list->torn++;
		if (!buf)
			buf = malloc(WINDOW);
		if (!buf) {
			err = dep_fail(-ENOMEM, "cannot search for segments");
			break;
		}
		next = find_header(fd, fmt, *at + 8, end, buf);
		if (next < 0) {
			err = dep_fail(next, "cannot read a segment file");
			break;
		}
		*at = next;
	}
	free(buf);
	return err;
}

void dep_seg_check_last(int fd, const struct dep_format *fmt, struct dep_seg_list *list)
{
	struct dep_seg_header h;

	if (!dep_seg_check(fd, fmt, &list->seg[list->n - 1], &h))
		return;
	list->n--;
	list->torn++;
}

int dep_seg_scan(int fd, const struct dep_format *fmt, u32 number, int last,
		 struct dep_seg_list *list)
{
	u64 off = dep_file_header_bytes(fmt);
	size_t first = list->n;
	int err;

	if (dep_seg_file_check(fd, fmt, number))
		list->torn++;
	err = dep_seg_scan_from(fd, fmt, number, false, &off, list);
	if (!err && last && list->n > first)
		dep_seg_check_last(fd, fmt, list);
	return err;
}

static int room_for(void *bufp, size_t *room, size_t size)
{
	void **buf = bufp;
	void *p;

	if (*room >= size)
		return 0;
	p = malloc(size);
	if (!p)
		return dep_fail(-ENOMEM, "cannot unpack a segment");
	free(*buf);
	*buf = p;
	*room = size;
	return 0;
}

static int wrong_column(void)
{
	return dep_fail(-EBADMSG, "a column of a segment has a wrong checksum");
}

static int check_column(const struct dep_format *fmt, const void *data, u32 size, u64 check)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return 0;
#endif
	return XXH3_64bits_withSeed(data, size, fmt->seed) == check ? 0 : wrong_column();
}

/* Unpack one of the value column's two streams; an uncompressed stream is used in place. */
static int unpack_stream(u8 codec, const u8 *in, u32 stored, u8 **buffer, size_t *room, u32 size,
			 const u8 **out)
{
	int err;

	*out = in;
	if (codec == DEP_C_RAW && stored == size)
		return 0;
	err = room_for(buffer, room, size + 8ul);
	if (err)
		return err;
	memset(*buffer + size, 0, 8);
	*out = *buffer;
	return dep_column_unpack(codec, in, stored, *buffer, size);
}

/* Decode the value column's differences from its two streams; @in is followed by 8 more bytes. */
static int unpack_delta(struct dep_columns *c, const u8 *in, u32 size)
{
	u32 lens_raw = (c->h.value_raw / 8 + 1) / 2;
	struct dep_delta_in streams;
	struct dep_delta d;
	int err;

	if (size < sizeof(d))
		goto bad;
	memcpy(&d, in, sizeof(d));
	in += sizeof(d);
	size -= sizeof(d);
	if (d.lens_stored > size || d.bytes_raw > c->h.value_raw ||
	    d.lens_codec == DEP_C_DELTA || d.bytes_codec == DEP_C_DELTA)
		goto bad;
	streams.bytes_size = d.bytes_raw;
	err = unpack_stream(d.lens_codec, in, d.lens_stored, &c->lens, &c->lens_room, lens_raw,
			    &streams.lens);
	if (!err)
		err = unpack_stream(d.bytes_codec, in + d.lens_stored, size - d.lens_stored,
				    &c->bytes, &c->bytes_room, d.bytes_raw, &streams.bytes);
	if (err)
		return err;
	c->differences = true;
	c->contents.lens = streams.lens;
	c->contents.lens_size = lens_raw;
	c->contents.bytes = streams.bytes;
	c->contents.bytes_size = streams.bytes_size;
	return dep_delta_differences(&streams, c->value, c->h.value_raw / 8);
bad:
	return dep_fail(-EBADMSG, "the value column of a segment has streams of invalid sizes");
}

/* Unpack both columns; the stored bytes begin at @stored. */
static int unpack_columns(struct dep_columns *c, const u8 *stored)
{
	const struct dep_seg_header *h = &c->h;
	const u8 *value = stored + h->control_stored;
	int err;

	err = dep_column_unpack(h->control_codec, stored, h->control_stored, c->control,
				h->control_raw);
	if (err)
		return err;
	c->contents = (struct dep_contents){
		.control = c->control, .control_size = h->control_raw,
		.lens = c->value, .lens_size = 0, .bytes = c->value, .bytes_size = h->value_raw,
	};
	if (h->value_codec == DEP_C_DELTA)
		return unpack_delta(c, value, h->value_stored);
	return dep_column_unpack(h->value_codec, value, h->value_stored, c->value, h->value_raw);
}

static int changed(const struct dep_segment *seg)
{
	return dep_fail(-EBADMSG, "segment %llu of thread %u is damaged or incomplete",
			(unsigned long long)seg->seq, seg->thread);
}

static int read_failed(const struct dep_segment *seg, ssize_t n)
{
	return n >= 0 ? changed(seg) : dep_fail((int)n, "cannot read segment %llu of thread %u",
						(unsigned long long)seg->seq, seg->thread);
}

/* True if the header still matches @seg, whose sizes the memory budget was checked with. */
static bool is_same(const struct dep_segment *seg, const struct dep_seg_header *h)
{
	return h->thread == seg->thread && h->seq == seg->seq &&
	       dep_seg_bytes(h) == seg->stored_bytes && h->control_raw == seg->control_bytes &&
	       h->value_raw == seg->value_bytes;
}

/* State for checking the columns of a segment without unpacking; @buf has WINDOW bytes. */
struct checker {
	int fd;
	u64 seed;
	const struct dep_segment *seg;
	u8 *buf;
	XXH3_state_t *hash;
};

/* Check that the @size bytes at offset @at have checksum @check; 0 or a negative errno. */
static int check_stored(const struct checker *c, u64 at, u32 size, u64 check)
{
	u32 done, part;
	ssize_t n;

	XXH3_64bits_reset_withSeed(c->hash, c->seed);
	for (done = 0; done < size; done += part) {
		part = size - done < WINDOW ? size - done : WINDOW;
		n = dep_read_at(c->fd, c->buf, part, at + done);
		if (n != (ssize_t)part)
			return read_failed(c->seg, n);
		XXH3_64bits_update(c->hash, c->buf, part);
	}
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return 0;
#endif
	return XXH3_64bits_digest(c->hash) == check ? 0 : wrong_column();
}

int dep_seg_check(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
		  struct dep_seg_header *h)
{
	const u32 size = dep_seg_header_bytes(fmt);
	const struct checker c = {
		.fd = fd, .seed = fmt->seed, .seg = seg, .buf = malloc(WINDOW),
		.hash = XXH3_createState(),
	};
	ssize_t n;
	int err;

	memset(h, 0, sizeof(*h));
	if (!c.hash || !c.buf) {
		err = dep_fail(-ENOMEM, "cannot check a segment");
		goto out;
	}
	n = dep_read_at(fd, c.buf, size, seg->offset);
	if (n != (ssize_t)size) {
		err = read_failed(seg, n);
		goto out;
	}
	err = dep_seg_header_read(fmt, c.buf, h);
	if (err || !is_same(seg, h)) {
		memset(h, 0, sizeof(*h));
		err = changed(seg);
		goto out;
	}
	err = check_stored(&c, seg->offset + size, h->control_stored, h->control_check);
	if (!err)
		err = check_stored(&c, seg->offset + size + h->control_stored, h->value_stored,
				   h->value_check);
out:
	XXH3_freeState(c.hash);
	free(c.buf);
	return err;
}

int dep_seg_read_control(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
			 struct dep_columns *c)
{
	const u32 size = dep_seg_header_bytes(fmt);
	struct dep_seg_header *h = &c->h;
	struct dep_seg_header raw;
	ssize_t n;
	int err;

	n = dep_read_at(fd, &raw, size, seg->offset);
	if (n != (ssize_t)size)
		return read_failed(seg, n);
	if (dep_seg_header_read(fmt, &raw, h) || !is_same(seg, h))
		return changed(seg);
	err = room_for(&c->stored, &c->stored_room, h->control_stored + 16ul);
	if (!err)
		err = room_for(&c->control, &c->control_room, h->control_raw + 8ul);
	if (err)
		return err;
	n = dep_read_at(fd, c->stored, h->control_stored, seg->offset + size);
	if (n != (ssize_t)h->control_stored)
		return read_failed(seg, n);
	err = check_column(fmt, c->stored, h->control_stored, h->control_check);
	return err ? err : dep_column_unpack(h->control_codec, c->stored, h->control_stored,
					     c->control, h->control_raw);
}

int dep_seg_read(int fd, const struct dep_format *fmt, const struct dep_segment *seg,
		 struct dep_columns *c)
{
	struct dep_seg_header *h = &c->h;
	const u8 *stored;
	ssize_t n;
	int err;

	c->differences = false;
	err = room_for(&c->stored, &c->stored_room, seg->stored_bytes + 16ul);
	if (err)
		return err;
	n = dep_read_at(fd, c->stored, seg->stored_bytes, seg->offset);
	if (n < (ssize_t)dep_seg_header_bytes(fmt))
		return read_failed(seg, n);
	if (dep_seg_header_read(fmt, c->stored, h) || !is_same(seg, h) || (u64)n < bytes_used(h))
		return changed(seg);
	err = room_for(&c->control, &c->control_room, h->control_raw + 8ul);
	if (!err)
		err = room_for(&c->value, &c->value_room, h->value_raw + 8ul);
	if (err)
		return err;
	stored = c->stored + h->size;
	err = check_column(fmt, stored, h->control_stored, h->control_check);
	if (!err)
		err = check_column(fmt, stored + h->control_stored, h->value_stored,
				   h->value_check);
	return err ? err : unpack_columns(c, stored);
}

void dep_columns_free(struct dep_columns *c)
{
	free(c->control);
	free(c->value);
	free(c->stored);
	free(c->lens);
	free(c->bytes);
	memset(c, 0, sizeof(*c));
}
