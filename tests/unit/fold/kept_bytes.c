// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>
#include <xxhash.h>

#include "kept_bytes.h"

#define ROOM	(1u << 20)

void kept_bytes_begin(struct kept_bytes *k, const struct fold_store *f,
		      const struct dep_kept_kind *kind)
{
	*k = (struct kept_bytes){ .f = f, .kind = kind };
	snprintf(k->file, sizeof(k->file), "%s/%s", f->dir, kind->name);
}

void kept_bytes_end(struct kept_bytes *k)
{
	free(k->bytes);
}

bool kept_is_there(const struct kept_bytes *k)
{
	struct stat st;

	return !lstat(k->file, &st);
}

void kept_read(struct kept_bytes *k)
{
	FILE *in = fopen(k->file, "rb");

	assert_non_null(in);
	free(k->bytes);
	k->bytes = malloc(ROOM);
	assert_non_null(k->bytes);
	k->size = fread(k->bytes, 1, ROOM, in);
	assert_true(k->size > sizeof(struct dep_wire_kept) && k->size < ROOM);
	fclose(in);
}

void kept_write(const struct kept_bytes *k, size_t size)
{
	FILE *out = fopen(k->file, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(k->bytes, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
}

void kept_seal(struct kept_bytes *k)
{
	const u64 seed = k->f->s->fmt.seed;
	struct dep_wire_kept *h = kept_header(k);
	const u8 *at = (u8 *)(h + 1);
	size_t size;
	u32 i;

	for (i = 0; i < k->kind->tables; i++, at += size) {
		size = (size_t)h->n[i] * k->kind->row_bytes[i];
		if (size <= k->size - (size_t)(at - k->bytes))
			h->rows[i] = XXH3_64bits_withSeed(at, size, seed);
	}
	h->check = XXH3_64bits_withSeed(h, offsetof(struct dep_wire_kept, check), seed);
	kept_write(k, k->size);
}

void *kept_rows(const struct kept_bytes *k, u32 table)
{
	const struct dep_wire_kept *h = kept_header(k);
	u8 *at = k->bytes + sizeof(*h);
	u32 i;

	for (i = 0; i < table; i++)
		at += (size_t)h->n[i] * k->kind->row_bytes[i];
	assert_true(h->n[table]);
	return at;
}
