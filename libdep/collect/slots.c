// SPDX-License-Identifier: LGPL-2.1-or-later
/* Helpers for the slot tables: serials, holes, messages. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_SERIAL	(1u << 26)	/* upper limit of serials: keeps their bitmap below 8 MiB */

bool dep_serial_take(struct dep_collector *c, u32 serial)
{
	size_t byte = serial / 8, want;
	u8 *grown;

	if (!serial || serial >= MAX_SERIAL)
		return false;
	if (byte >= c->serials_size) {
		want = (byte + 1) * 2 < 4096 ? 4096 : (byte + 1) * 2;
		grown = realloc(c->serials, want);
		if (!grown)
			return false;
		memset(grown + c->serials_size, 0, want - c->serials_size);
		c->serials = grown;
		c->serials_size = want;
	}
	if (c->serials[byte] & (1u << (serial % 8)))
		return false;
	c->serials[byte] |= 1u << (serial % 8);
	return true;
}

/* Recorded processes can write any value to procs_used; nslots never decreases. */
void dep_slots_count(struct dep_collector *c)
{
	u32 n = load(&c->s->map->procs_used);

	if (n > c->s->layout.nprocs)
		n = c->s->layout.nprocs;
	if (n > c->nslots)
		c->nslots = n;
}

u64 dep_table_seek(struct dep_collector *c, u64 off, u64 end, int whence)
{
	off_t at = lseek(c->s->fd, off, whence);

	if (at < 0)
		return errno == ENXIO || whence == SEEK_HOLE ? end : off;
	return (u64)at < end ? (u64)at : end;
}

void dep_punch(struct dep_collector *c, u64 off, u64 len)
{
	/*
	 * Punching a hole fails only if the kernel does not support it or lacks memory: then zero
	 * the range instead.
	 */
	if (fallocate(c->s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len))
		memset((char *)c->s->map + off, 0, len);
}

void dep_collector_message(struct dep_collector *c, const char *fmt, ...)
{
	struct dep_job *job = dep_queue_job(c->queue, DEP_JOB_MESSAGE, 512);
	va_list ap;

	if (!job)
		return;
	va_start(ap, fmt);
	vsnprintf((char *)job->data, job->room, fmt, ap);
	va_end(ap);
	dep_queue_put(c->queue, job);
}
