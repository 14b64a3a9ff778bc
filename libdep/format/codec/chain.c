// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <xxh_x86dispatch.h>

#include "chain.h"
#include "libdep/format/file/error.h"

/*
 * Most of the hashed bytes are contents.  So this file includes xxh_x86dispatch.h, which selects
 * the widest vector registers that the processor has; xxhash.h uses only SSE2.
 */
u64 dep_seg_content(const struct dep_format *fmt, const struct dep_contents *c)
{
	u64 h = XXH3_64bits_withSeed(c->control, c->control_size, fmt->seed);

	h = XXH3_64bits_withSeed(c->lens, c->lens_size, h);
	return XXH3_64bits_withSeed(c->bytes, c->bytes_size, h);
}

u64 dep_seg_chain(const struct dep_format *fmt, const struct dep_seg_header *h)
{
	const struct {
		u64 prev, index, seq, content;
		u32 thread, raw_bytes, control_raw, value_raw;
	} what = {
		.prev = h->prev, .index = h->index, .seq = h->seq, .content = h->content,
		.thread = h->thread, .raw_bytes = h->raw_bytes,
		.control_raw = h->control_raw, .value_raw = h->value_raw,
	};

	return XXH3_64bits_withSeed(&what, sizeof(what), fmt->seed);
}

ssize_t dep_chain_sums(const struct dep_table *chains, bool all, struct dep_wire_thread_sum **out)
{
	const struct dep_chain *c = chains->row;
	struct dep_wire_thread_sum *sum;
	ssize_t n = 0;
	size_t i;

	*out = NULL;
	if (!chains->n)
		return 0;
	sum = malloc(chains->n * sizeof(*sum));
	if (!sum)
		return dep_fail(-ENOMEM, "cannot make the log's table of threads");
	for (i = 0; i < chains->n; i++)
		if (all || c[i].segments > c[i].marked)
			sum[n++] = (struct dep_wire_thread_sum){
				.serial = c[i].serial, .segments = c[i].segments,
				.chain = c[i].chain,
			};
	if (!n) {
		free(sum);
		sum = NULL;
	}
	*out = sum;
	return n;
}
