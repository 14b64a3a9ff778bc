/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read, forge and write a file that a store keeps. */
#ifndef TESTS_UNIT_FOLD_KEPT_BYTES_H
#define TESTS_UNIT_FOLD_KEPT_BYTES_H

#include "fold_store.h"
#include "libdep/format/read/kept_file.h"

/** struct kept_bytes - the file of @kind in store @f, and the bytes that were read last */
struct kept_bytes {
	const struct fold_store *f;
	const struct dep_kept_kind *kind;
	char file[160];
	u8 *bytes;
	size_t size;
};

void kept_bytes_begin(struct kept_bytes *k, const struct fold_store *f,
		      const struct dep_kept_kind *kind);
void kept_bytes_end(struct kept_bytes *k);

bool kept_is_there(const struct kept_bytes *k);
void kept_read(struct kept_bytes *k);
/** kept_write() - write the first @size bytes */
void kept_write(const struct kept_bytes *k, size_t size);
/** kept_seal() - correct the checksums of the bytes, and write them */
void kept_seal(struct kept_bytes *k);

static inline struct dep_wire_kept *kept_header(const struct kept_bytes *k)
{
	return (struct dep_wire_kept *)k->bytes;
}

/** kept_rows() - rows of a table, which must have some */
void *kept_rows(const struct kept_bytes *k, u32 table);

#endif
