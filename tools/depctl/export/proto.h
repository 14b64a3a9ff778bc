/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages in the wire format of Protocol Buffers. */
#ifndef DEPCTL_EXPORT_PROTO_H
#define DEPCTL_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct proto - a message that is being written; all zero: an empty one */
struct proto {
	uint8_t *data;
	size_t size, room;
	bool failed;		/* no memory */
};

/** proto_clear() - make it empty, and keep its memory */
static inline void proto_clear(struct proto *p)
{
	p->size = 0;
}

void proto_free(struct proto *p);

/** proto_varint() - append a bare number, an element of a packed field */
void proto_varint(struct proto *p, uint64_t v);
/** proto_number() - append field @field of an integer type, unless it is 0, the default */
void proto_number(struct proto *p, unsigned int field, uint64_t v);
void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t size);
/** proto_message() - append @sub as a message or packed field */
void proto_message(struct proto *p, unsigned int field, const struct proto *sub);

#endif
