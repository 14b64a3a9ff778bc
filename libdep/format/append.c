// SPDX-License-Identifier: LGPL-2.1-or-later
/* The writer's mass data: descriptors and segments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "buildid.h"
#include "column.h"
#include "desc.h"
#include "error.h"
#include "split.h"
#include "writer.h"

void dep_writer_free_buffers(struct dep_writer *w)
{
	free(w->desc);
	free(w->control);
	free(w->value);
	free(w->packed);
}

/* Check a descriptor; a fragment's exits enter the index. */
static int take_descriptor(struct dep_writer *w, const struct adept_desc *h)
{
	const struct adept_desc_frag *d = (const void *)h;
	int err;

	err = dep_desc_check(h);
	if (err || h->type != ADEPT_DESC_FRAGMENT)
		return err;
	err = dep_desc_check_code(d);
	if (err)
		return err;
	err = dep_index_add(&w->index, d, w->nfrags);
	if (err == -EEXIST)
		return dep_fail(-EBADMSG, "fragment %u: exit ids seen before", d->first_exit);
	if (err)
		return dep_fail(err, "index of fragments");
	w->nfrags++;
	return 0;
}

/* The index must not know what the log does not have. */
static void forget(struct dep_writer *w, const u8 *data, size_t size)
{
	const struct adept_desc_frag *d;
	struct dep_exit_entry *e;
	size_t at;
	u32 i, id;

	for (at = 0; at < size; at += d->h.size) {
		d = (const void *)(data + at);
		if (d->h.type != ADEPT_DESC_FRAGMENT)
			continue;
		for (i = 0; i < d->nexits; i++) {
			id = d->first_exit + i;
			e = &w->index.page[id / DEP_INDEX_PAGE][id % DEP_INDEX_PAGE];
			memset(e, 0, sizeof(*e));
		}
	}
}

static int put_build_ids(struct dep_writer *w, u32 process, const u8 *data, size_t size)
{
	const struct adept_desc_map *map;
	struct dep_wire_build_id r;
	const char *path;
	char hex[256], *text;
	size_t at, n;
	int err = 0;

	for (at = 0; at < size && !err; at += map->h.size) {
		map = (const void *)(data + at);
		if (map->h.type != ADEPT_DESC_MAP)
			continue;
		path = (const char *)(map + 1);
		dep_build_id(path, map->dev, map->inode, hex, sizeof(hex));
		if (!hex[0])
			continue;
		n = strlen(hex) + 1;
		text = malloc(n + strlen(path) + 1);
		if (!text)
			return dep_fail(-ENOMEM, "build-id");
		memcpy(text, hex, n);
		strcpy(text + n, path);
		r.dev = map->dev;
		r.inode = map->inode;
		err = dep_log_append(&w->log, DEP_F_BUILD_ID, process, &r, sizeof(r), text,
				     n + strlen(path) + 1);
		free(text);
	}
	return err;
}

/* One batch that fits a frame. */
static int put_batch(struct dep_writer *w, u32 process, const u8 *data, size_t size)
{
	size_t at, n;
	int err = 0, e;

	if (w->desc_room < size) {
		free(w->desc);
		w->desc_room = 0;
		w->desc = malloc(size);
		if (!w->desc)
			return dep_fail(-ENOMEM, "descriptors");
		w->desc_room = size;
	}
	/* Our own copy: @data may be memory that the process still writes to. */
	memcpy(w->desc, data, size);
	for (at = 0; at < size && !err; at += n) {
		n = dep_desc_next(w->desc + at, size - at);
		if (!n)
			err = dep_fail(-EBADMSG, "a descriptor's length does not fit");
		else
			err = take_descriptor(w, (const void *)(w->desc + at));
		if (err)
			break;
	}
	if (!at)
		return err;
	e = dep_log_append(&w->log, DEP_F_DESCRIPTORS, process, w->desc, at, NULL, 0);
	if (e) {
		forget(w, w->desc, at);
		return e;
	}
	e = put_build_ids(w, process, w->desc, at);
	return err ? err : e;
}

int dep_writer_descriptors(struct dep_writer *w, uint32_t process, const void *data, size_t size)
{
	const u8 *p = data;
	size_t n, at;
	int err = 0;

	while (size && !err) {
		for (at = 0; at < size; at += n) {
			n = dep_desc_next(p + at, size - at);
			if (!n || at + n > DEP_FRAME_MAX)
				break;
		}
		if (at < size && !n)
			at += sizeof(struct adept_desc) < size - at ? sizeof(struct adept_desc) :
								      size - at;
		if (!at)
			return dep_fail(-EBADMSG, "a descriptor of more than %u bytes",
					DEP_FRAME_MAX);
		err = put_batch(w, process, p, at);
		p += at;
		size -= at;
	}
	return err;
}

static int body_room(struct dep_writer *w, size_t size)
{
	if (w->packed && w->body_room >= size)
		return 0;
	free(w->control);
	free(w->value);
	free(w->packed);
	w->packed = NULL;
	w->control = malloc(size + 8);
	w->value = malloc(size + 8);
	w->packed = malloc(2 * dep_column_bound(size));
	if (!w->control || !w->value || !w->packed)
		return dep_fail(-ENOMEM, "columns");
	w->body_room = size;
	return 0;
}

/* Whether what is behind the last whole record can be the record that tail names. */
static int tail_good(const struct dep_writer *w, const struct adept_chunk *c)
{
	const struct dep_exit_entry *e = dep_index_find(&w->index, c->tail.frag);
	u32 left = c->fill - c->tail_at;

	return e && e->first && left >= 4 && left <= ADEPT_MAX_RECORD && (left - 4) % 8 == 0;
}

/* Split the body into w->control and w->value; the lengths go to @h. */
static void split_body(struct dep_writer *w, const struct adept_chunk *c, const u8 *body,
		       struct dep_seg_header *h)
{
	u32 whole = c->tail_at < c->fill ? c->tail_at : c->fill;
	struct dep_split n;
	u32 left;

	n = dep_split(&w->index, body, whole, w->control, w->value);
	h->control_raw = n.control;
	h->value_raw = n.value;
	h->head = c->head;
	if (n.parsed == whole && whole < c->fill && tail_good(w, c)) {
		left = c->fill - whole - 4;
		memcpy(w->value + n.value, body + whole + 4, left);
		h->value_raw += left;
		h->tail_values = left / 8;
		h->tail = c->tail;
		return;
	}
	/* A body may end in a position with nothing stored yet, not even an id's slot. */
	if (n.parsed == c->fill && c->tail.frag && dep_index_find(&w->index, c->tail.frag)) {
		h->tail = c->tail;
		return;
	}
	h->lost_bytes = c->fill - n.parsed;
	if (h->lost_bytes)
		h->flags |= DEP_SEG_CUT;
}

int dep_writer_segment(struct dep_writer *w, uint32_t thread, const struct adept_chunk *c,
		       const void *body)
{
	struct dep_seg_header h = {
		.magic = DEP_SEG_HEAD_MAGIC, .version = DEP_FORMAT_VERSION,
		.size = sizeof(h), .thread = thread, .seq = c->seq, .raw_bytes = c->fill,
		.dropped_chunks = c->dropped_chunks, .dropped_bytes = c->dropped_bytes,
		.start_ns = c->start_ns, .ticket = c->ticket,
		.fs_base = c->fs_base, .gs_base = c->gs_base,
	};
	struct iovec iov[2];
	u8 *value;
	int err;

	if (c->fill > DEP_BODY_MAX)
		return dep_fail(-EMSGSIZE, "chunk of %u bytes", c->fill);
	err = body_room(w, c->fill);
	if (err)
		goto out_lost;
	split_body(w, c, body, &h);
	memcpy(h.regs, c->regs, sizeof(h.regs));
	h.control_stored = dep_column_pack(w->packer, w->control, h.control_raw, 4, w->packed,
					   &h.control_codec);
	value = w->packed + h.control_stored;
	h.value_stored = dep_column_pack(w->packer, w->value, h.value_raw, 8, value,
					 &h.value_codec);
	h.control_check = XXH3_64bits(w->packed, h.control_stored);
	h.value_check = XXH3_64bits(value, h.value_stored);
	h.check = XXH3_64bits(&h, offsetof(struct dep_seg_header, check));
	err = dep_writer_roll(w, dep_seg_bytes(&h));
	if (err)
		goto out_lost;
	iov[0] = (struct iovec){ &h, sizeof(h) };
	iov[1] = (struct iovec){ w->packed, (size_t)h.control_stored + h.value_stored };
	err = dep_file_append(&w->seg, iov, 2);
	if (err)
		goto out_lost;
	w->discarded_bytes += h.lost_bytes;
	return 0;

out_lost:
	w->discarded_bytes += c->fill;
	return err;
}

uint32_t dep_writer_scan(struct dep_writer *w, const void *body, uint32_t size)
{
	return dep_split(&w->index, body, size, NULL, NULL).parsed;
}
