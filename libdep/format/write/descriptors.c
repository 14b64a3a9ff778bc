// SPDX-License-Identifier: LGPL-2.1-or-later
/* Admit descriptors (check them, add fragments to the index) and write them to the log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/build_id.h"
#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "forget.h"
#include "pack.h"
#include "writer.h"

/* Check a descriptor; if it describes a fragment, add its exits to the index. */
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
		return dep_fail(-EBADMSG, "fragment %u: another fragment has the same exit ids",
				d->first_exit);
	if (err)
		return dep_fail(err, "cannot enlarge the index of fragments");
	w->nfrags++;
	return 0;
}

/* Remove fragments from the index that could not be logged, so that no segment uses them. */
static void forget(struct dep_writer *w, const u8 *data, size_t size)
{
	const struct adept_desc_frag *d;
	size_t at;
	u32 i;

	for (at = 0; at < size; at += d->h.size) {
		d = (const void *)(data + at);
		if (d->h.type != ADEPT_DESC_FRAGMENT)
			continue;
		for (i = 0; i < d->nexits; i++)
			dep_index_set(&w->index, d->first_exit + i, (struct dep_exit_entry){ 0 });
	}
}

int dep_writer_build_id(struct dep_writer *w, u32 process, const struct adept_desc_map *map)
{
	struct dep_wire_build_id r = { .dev = map->dev, .inode = map->inode };
	const char *path = (const char *)(map + 1);
	char hex[256], *text;
	size_t n;
	int err;

	dep_build_id(path, map->dev, map->inode, hex, sizeof(hex));
	if (!hex[0])
		return 0;
	n = strlen(hex) + 1;
	text = malloc(n + strlen(path) + 1);
	if (!text)
		return dep_fail(-ENOMEM, "build-id");
	memcpy(text, hex, n);
	strcpy(text + n, path);
	err = dep_writer_frame(w, &(struct dep_new_frame){
		.type = DEP_F_BUILD_ID, .process = process, .data = &r, .size = sizeof(r),
		.more = text, .more_size = n + strlen(path) + 1,
	});
	free(text);
	return err;
}

static bool same_file(const struct adept_desc_map *a, const struct adept_desc_map *b)
{
	return a->dev == b->dev && a->inode == b->inode &&
	       !strcmp((const char *)(a + 1), (const char *)(b + 1));
}

static int put_build_ids(struct dep_writer *w, u32 process, const u8 *data, size_t size)
{
	const struct adept_desc_map *last = NULL, *map;
	const struct adept_desc *h;
	size_t at;
	int err = 0;

	for (at = 0; at < size && !err; at += h->size) {
		h = (const void *)(data + at);
		map = (const void *)h;
		if (h->type != ADEPT_DESC_MAP)
			continue;
		/* The mappings of a file come together, at an attach. */
		if (!last || !same_file(last, map))
			err = dep_writer_build_id(w, process, map);
		last = map;
	}
	return err;
}

int dep_writer_admit(struct dep_writer *w, const void *data, size_t size, size_t *good)
{
	const u8 *p = data;
	size_t at, n;
	int err = 0;

	dep_writer_work_off(w);
	for (at = 0; at < size; at += n) {
		n = dep_desc_next(p + at, size - at);
		if (!n)
			err = dep_fail(-EBADMSG, "a descriptor has an invalid length");
		else
			err = take_descriptor(w, (const void *)(p + at));
		if (err)
			break;
	}
	*good = at;
	return err;
}

uint32_t dep_writer_known(const struct dep_writer *w)
{
	return w->nfrags;
}

int dep_writer_log(struct dep_writer *w, uint32_t process, const void *data, size_t size)
{
	int err;

	if (!size)
		return 0;
	err = dep_writer_frame(w, &(struct dep_new_frame){
		.type = DEP_F_DESCRIPTORS, .process = process, .data = data, .size = size,
	});
	return err ? err : put_build_ids(w, process, data, size);
}

/* Admit and log descriptors that fit into one frame. */
static int put_batch(struct dep_writer *w, u32 process, const u8 *data, size_t size)
{
	u64 before = w->log.file.size;
	size_t good;
	int err, e;

	if (w->desc_room < size) {
		free(w->desc);
		w->desc_room = 0;
		w->desc = malloc(size);
		if (!w->desc)
			return dep_fail(-ENOMEM, "descriptors");
		w->desc_room = size;
	}
	/* Copy first: the recorded process may still be able to write to @data. */
	memcpy(w->desc, data, size);
	err = dep_writer_admit(w, w->desc, size, &good);
	e = dep_writer_log(w, process, w->desc, good);
	if (e && w->log.file.size == before)
		forget(w, w->desc, good);
	return e ? e : err;
}

int dep_writer_descriptors(struct dep_writer *w, uint32_t process, const void *data, size_t size)
{
	const u8 *p = data;
	size_t n = 0, at;
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
			return dep_fail(-EBADMSG, "a descriptor is larger than %u bytes",
					DEP_FRAME_MAX);
		err = put_batch(w, process, p, at);
		p += at;
		size -= at;
	}
	return err;
}
