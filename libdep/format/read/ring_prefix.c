// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "ring_prefix.h"
#include "libdep/format/codec/split.h"

static void put_call(struct dep_columns *c, const struct adept_call *call)
{
	struct adept_ev_syscall ev = {
		.nr = (u32)call->nr, .before = call->before, .after = call->before,
	};
	const u32 id = ADEPT_EV_SYSCALL;
	u8 *to = (u8 *)c->control + c->h.control_raw;

	memcpy(ev.args, call->args, sizeof(ev.args));
	memcpy(to, &id, 4);
	memcpy(to + 4, &ev, sizeof(ev));
	c->h.control_raw += 4 + sizeof(ev);
}

static void set_header(struct dep_seg_header *h, u32 thread, const struct adept_chunk *k)
{
	*h = (struct dep_seg_header){
		.thread = thread, .seq = k->seq, .head = k->head, .start_ns = k->start_ns,
		.timestamp = k->timestamp, .fs_base = k->fs_base, .gs_base = k->gs_base,
	};
	memcpy(h->regs, k->regs, sizeof(h->regs));
}

/* True if no exit id follows at offset @at; the fragment of such an id would not be known yet. */
static bool ends_there(const u8 *body, u32 size, u32 at)
{
	u32 id = 0;

	if (size - at >= 4)
		memcpy(&id, body + at, 4);
	return !id;
}

int dep_prefix_columns(struct dep_store *s, const struct dep_ring_chunk *k, struct dep_columns *c,
		       bool *whole)
{
	struct dep_split split = { .x = &s->model.index, .limit = (u32)s->model.fragments.n };
	struct dep_delta_in raw;
	int err = -ENOMEM;

	*whole = false;
	split.control = malloc(DEP_SPLIT_ROOM(k->size) + 4 + sizeof(struct adept_ev_syscall));
	split.lens = malloc(DEP_SPLIT_ROOM(k->size / 8));
	split.bytes = malloc(DEP_SPLIT_ROOM(k->size));
	split.slot = malloc(DEP_DELTA_SLOTS * sizeof(*split.slot));
	if (!split.control || !split.lens || !split.bytes || !split.slot)
		goto out;
	dep_split(&split, k->body, k->size);
	dep_columns_free(c);
	c->value = malloc(split.values * 8ul + 8);
	if (!c->value)
		goto out;
	dep_delta_lens(split.lens, split.values);
	memset(split.bytes + split.bytes_size, 0, 8);
	raw = (struct dep_delta_in){ split.lens, split.bytes, split.bytes_size };
	set_header(&c->h, k->thread, k->chunk);
	c->h.value_raw = split.values * 8;
	c->h.control_raw = split.control_size;
	c->control = (u32 *)split.control;
	split.control = NULL;
	c->differences = true;
	err = dep_delta_differences(&raw, c->value, split.values);
	*whole = !err && ends_there(k->body, k->size, split.parsed);
	if (*whole && k->call)
		put_call(c, k->call);
out:
	free(split.control);
	free(split.lens);
	free(split.bytes);
	free(split.slot);
	return err ? dep_fail(err, "cannot make columns of the records in a ring") : 0;
}
