// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "delta.h"
#include "error.h"

u32 dep_delta_lens(u8 *len, u32 n)
{
	u32 i, half;
	u64 v;

	memset(len + n, 0, 8);
	/* 0a 0b 0c .. -> ba dc .. */
	for (i = 0; i < n; i += 8) {
		memcpy(&v, len + i, 8);
		v = (v | v >> 4) & 0x00ff00ff00ff00ffull;
		v = (v | v >> 8) & 0x0000ffff0000ffffull;
		half = v | v >> 16;
		memcpy(len + i / 2, &half, 4);
	}
	return (n + 1) / 2;
}

/* Every length is possible and they add up to what is there. */
static int lens_good(const u8 *lens, u32 n, u64 bytes)
{
	u64 sum = 0;
	u32 i, a, b, bad = 0;

	for (i = 0; i < (n + 1) / 2; i++) {
		a = lens[i] & 15;
		b = lens[i] >> 4;
		bad |= (a > 8) | (b > 8);
		sum += a + b;
	}
	return !bad && sum == bytes && !(n & 1 && lens[n / 2] >> 4);
}

struct walk {
	const u8 *lens, *bytes;
	u32 i;			/* of the next value */
	u64 *slot, *value;
};

static inline void get_run(struct walk *w, u32 id, u32 words)
{
	static const u64 mask[16] = {
		0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff,
		0xffffffffffffff, ~0ull,
	};
	u64 *at = w->slot + dep_delta_slot(id), d;
	const u8 *p = w->bytes;
	u32 i = w->i, len;

	for (; words; words--, i++, at++) {
		len = w->lens[i / 2] >> (i & 1) * 4 & 15;
		memcpy(&d, p, 8);
		p += len;
		d &= mask[len];
		*at += d >> 1 ^ -(d & 1);
		w->value[i] = *at;
	}
	w->bytes = p;
	w->i = i;
}

/* Words of values of the record or event at @c, and of its payload; false if it is none. */
static inline int measure(const struct dep_index *x, const u32 *c, u32 left, u32 *payload,
			  u32 *words)
{
	const struct dep_exit_entry *e;
	struct adept_ev_partial ev;
	int size;

	*payload = *words = 0;
	if (*c >= ADEPT_FIRST_EXIT) {
		e = dep_index_find(x, *c);
		if (!e)
			return 0;
		*words = (e->bytes - 4u) / 8;
		return 1;
	}
	size = adept_event_size(*c);
	if (size < 0 || size / 4u >= left)
		return 0;
	*payload = size / 4;
	if (*c == ADEPT_EV_PARTIAL) {
		memcpy(&ev, c + 1, sizeof(ev));
		*words = ev.val_bytes / 8;
	}
	return 1;
}

int dep_delta_values(const struct dep_index *x, const struct dep_delta_in *in,
		     const u32 *control, u32 control_size, u64 *value, u32 value_size)
{
	struct walk w = { .lens = in->lens, .bytes = in->bytes, .slot = in->slot, .value = value };
	u32 at, n = control_size / 4, left = value_size / 8, payload, words;

	if (!lens_good(in->lens, left, in->bytes_size))
		return dep_fail(-EBADMSG, "the value column's lengths are wrong");
	memset(in->slot, 0, DEP_DELTA_SLOTS * sizeof(*in->slot));
	for (at = 0; at < n; at += 1 + payload) {
		if (!measure(x, control + at, n - at, &payload, &words) ||
		    words > left - w.i || words > DEP_DELTA_RUN)
			goto rest;
		get_run(&w, control[at], words);
	}
	words = left - w.i;
	get_run(&w, 0, words < DEP_DELTA_RUN ? words : DEP_DELTA_RUN);
rest:
	memset(value + w.i, 0, (left - w.i) * 8ul);
	return 0;
}
