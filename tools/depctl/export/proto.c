// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages in the wire format of Protocol Buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "proto.h"

#define VARINT_MAX	10u	/* bytes of 64 bits, 7 in each */
#define TYPE_VARINT	0u
#define TYPE_BYTES	2u

static bool make_room(struct proto *p, size_t size)
{
	size_t room = 2 * p->room + size + 64;
	uint8_t *data;

	if (p->failed)
		return false;
	if (p->room - p->size >= size)
		return true;
	data = realloc(p->data, room);
	if (!data) {
		p->failed = true;
		return false;
	}
	p->data = data;
	p->room = room;
	return true;
}

void proto_free(struct proto *p)
{
	free(p->data);
	memset(p, 0, sizeof(*p));
}

void proto_varint(struct proto *p, uint64_t v)
{
	if (!make_room(p, VARINT_MAX))
		return;
	for (; v >= 0x80; v >>= 7)
		p->data[p->size++] = (uint8_t)(v | 0x80);
	p->data[p->size++] = (uint8_t)v;
}

void proto_number(struct proto *p, unsigned int field, uint64_t v)
{
	if (!v)
		return;
	proto_varint(p, field << 3 | TYPE_VARINT);
	proto_varint(p, v);
}

void proto_bytes(struct proto *p, unsigned int field, const void *data, size_t size)
{
	proto_varint(p, field << 3 | TYPE_BYTES);
	proto_varint(p, size);
	if (!size || !make_room(p, size))
		return;
	memcpy(p->data + p->size, data, size);
	p->size += size;
}

void proto_message(struct proto *p, unsigned int field, const struct proto *sub)
{
	if (sub->failed)
		p->failed = true;
	proto_bytes(p, field, sub->data, sub->size);
}
