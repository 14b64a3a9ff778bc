/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a serialised grammar, by its description in libdep/streams/sequitur.h alone. */
#ifndef TESTS_UNIT_STREAMS_GRAMMAR_READ_H
#define TESTS_UNIT_STREAMS_GRAMMAR_READ_H

#include <stddef.h>

#include "libdep/abi/types.h"

/**
 * grammar_read() - the sequence that a serialised grammar stands for
 * @data: @size bytes, which may be any
 * @max: greatest length of the sequence
 * @n: receives the length
 *
 * Return: the sequence, to be freed; NULL if these bytes are no grammar, or stand for more than
 * @max symbols.
 */
u64 *grammar_read(const u8 *data, size_t size, u64 max, u64 *n);

#endif
