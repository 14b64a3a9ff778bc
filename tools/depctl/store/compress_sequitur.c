// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sequitur as a compressor: the result is one or several serialised grammars (sequitur_write()),
 * one after the other.
 */
#include <errno.h>
#include <string.h>

#include "libdep/streams/sequitur.h"
#include "compress.h"

/* c->state is the grammar, or NULL: none has begun since the last one ended. */

static int sequitur_begin(struct compressor *c)
{
	c->state = NULL;
	return 0;
}

static int put_bytes(void *arg, const void *data, size_t size)
{
	return compressor_out(arg, data, size);
}

static int end_grammar(struct compressor *c)
{
	u64 size;
	int err;

	if (!c->state)
		return 0;
	err = sequitur_close(c->state);
	if (!err)
		err = sequitur_write(c->state, put_bytes, c, &size);
	sequitur_free(c->state);
	c->state = NULL;
	return err;
}

static int put_symbol(struct compressor *c, u64 symbol)
{
	int err;

	if (c->state) {
		err = sequitur_append(c->state, symbol);
		if (err != -ENOSPC)
			return err;
		err = end_grammar(c);
		if (err)
			return err;
	}
	c->state = sequitur_new(SEQUITUR_MEMORY);
	if (!c->state)
		return -errno;
	c->grammars++;
	return sequitur_append(c->state, symbol);
}

static int sequitur_put(struct compressor *c, const void *data, size_t size)
{
	const u8 *p = data;
	u64 symbol = 0;
	int err = 0;

	for (; size >= c->unit && !err; p += c->unit, size -= c->unit) {
		memcpy(&symbol, p, c->unit);
		err = put_symbol(c, symbol);
	}
	return err;
}

static void sequitur_end_free(struct compressor *c)
{
	if (c->state)
		sequitur_free(c->state);
}

const struct compressor_ops sequitur_ops = {
	sequitur_begin, sequitur_put, end_grammar, sequitur_end_free,
};
