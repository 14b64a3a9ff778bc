/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compression of one column. */
#ifndef ADEPT_FORMAT_CODEC_COMPRESS_H
#define ADEPT_FORMAT_CODEC_COMPRESS_H

#include "libdep/format/file/wire.h"

struct dep_packer;

/** dep_packer_new() - make a context for packing; NULL without memory */
struct dep_packer *dep_packer_new(void);
#define DEP_PACKER_NONE	0	/* level for dep_packer_level(): do not compress */

/** dep_packer_level() - set the level of zstd for further columns; negative: use LZ4 */
void dep_packer_level(struct dep_packer *p, int level);
void dep_packer_free(struct dep_packer *p);

/** dep_column_bound() - size of the buffer that dep_column_pack() needs for @size input bytes */
size_t dep_column_bound(size_t size);

/**
 * dep_column_pack() - compress @size bytes into @out
 * @codec: receives enum dep_codec
 *
 * Return: number of bytes written.
 */
u32 dep_column_pack(struct dep_packer *p, const void *in, u32 size, u8 *out, u8 *codec);

/** dep_column_unpack() - decompress into exactly @size bytes; 0 or -EBADMSG */
int dep_column_unpack(u8 codec, const void *in, u32 in_size, void *out, u32 size);

#endif
