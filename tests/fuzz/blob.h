/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store in one blob, for fuzzers, and a mutator that knows its structure.
 *
 *   [length : 32] bytes	for each file of blob_names; length ~0: there is no such file
 *
 * The mutator changes whole frames and segments, or fields and contents of one, and corrects the
 * checksums, so that code after their check is reached.
 */
#ifndef FUZZ_BLOB_H
#define FUZZ_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOB_MANIFEST, BLOB_LOG, BLOB_CATALOG, BLOB_SEG0, BLOB_SEG1, BLOB_FILES };

extern const char *const blob_names[BLOB_FILES];

/** blob_dir() - a directory for stores, which is removed when the process ends */
const char *blob_dir(void);
/** blob_put() - the only files of blob_dir() are those of the blob @data */
void blob_put(const uint8_t *data, size_t size);
/** blob_pack() - write the store @dir as a blob to standard output; @unclosed: without its end */
void blob_pack(const char *dir, bool unclosed);
/** blob_seal_manifest() - correct the checksum of a manifest, if it has one */
void blob_seal_manifest(uint8_t *text, size_t size);
/** blob_hash() - for selecting some blobs for slow operations */
uint64_t blob_hash(const uint8_t *data, size_t size);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
