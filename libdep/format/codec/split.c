// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdbool.h>
#include <string.h>

#include "libdep/x86/cpu_features.h"
#include "split.h"

/*
 * Size in bytes of the event at @p without its id; *@values receives how many of these bytes are
 * values.  Return -1 if @id is no event or the event is truncated.
 */
static s64 event_bytes(u32 id, const u8 *p, u32 avail, u32 *values)
{
	struct adept_ev_partial ev;
	int size = adept_event_size(id);

	*values = 0;
	if (size < 0 || (u32)size + 4 > avail)
		return -1;
	if (id == ADEPT_EV_PARTIAL) {
		memcpy(&ev, p + 4, sizeof(ev));
		if (ev.val_bytes % 8 || ev.val_bytes > ADEPT_MAX_RECORD ||
		    (u32)size + 4 + ev.val_bytes > avail)
			return -1;
		*values = ev.val_bytes;
	}
	return (s64)size + *values;
}

/* Cache of exits, by the low bits of their ids; id 0: empty entry. */
#define RECENT	1024u

struct recent {
	u32 id;
	u16 bytes, slot;	/* size of the exit's record; dep_delta_slot() of its id */
};

_Static_assert(DEP_DELTA_BITS <= 16, "a slot number must fit into 16 bits");

/* Positions in the output buffers at which the next bytes are written. */
struct ends {
	u8 *control, *len, *bytes;
};

static inline void put_values(struct ends *to, u64 *at, const u8 *from, const u8 *end)
{
	u64 value;
	u32 len;

	for (; from < end; from += 8) {
		memcpy(&value, from, 8);
		len = dep_delta_put(at++, value, to->bytes);
		to->bytes += len;
		*to->len++ = (u8)len;
	}
}

/* Parse whole records of cached exits from @p on; @to: NULL to parse only.  Return: their end. */
static inline const u8 *put_records(struct ends *to, u64 *slot, const struct recent *recent,
				    const u8 *p, const u8 *end)
{
	const struct recent *r;
	const u8 *after;
	u32 id;

	for (; end - p >= 4; p = after) {
		memcpy(&id, p, 4);
		r = &recent[id % RECENT];
		if (r->id != id || !id || r->bytes > end - p)
			break;
		after = p + r->bytes;
		if (!to)
			continue;
		memcpy(to->control, p, 4);
		to->control += 4;
		put_values(to, slot + r->slot, p + 4, after);
	}
	return p;
}

/* True if @id is a known exit; its entry is then added to the cache. */
static bool known_exit(const struct dep_split *s, struct recent *recent, u32 id)
{
	struct dep_exit_entry e = dep_index_get(s->x, id);

	if (id < ADEPT_FIRST_EXIT || !e.bytes || e.frag >= s->limit)
		return false;
	recent[id % RECENT] = (struct recent){ id, e.bytes, (u16)dep_delta_slot(id) };
	return true;
}

/* @keep: write the columns, else only parse.  Callers pass a constant to get fast code for each. */
static inline __attribute__((always_inline)) void parse(struct dep_split *s, const u8 *body,
							u32 size, bool keep)
{
	struct ends to = { s->control, s->lens, s->bytes };
	const u8 *p = body, *end = body + size;
	struct recent recent[RECENT] = { 0 };
	u32 id, values;
	s64 bytes;

	for (;;) {
		p = put_records(keep ? &to : NULL, s->slot, recent, p, end);
		if (end - p < 4)
			break;
		memcpy(&id, p, 4);
		if (known_exit(s, recent, id)) {
			/* The record is cut off at the end of the body. */
			if (recent[id % RECENT].bytes > end - p)
				break;
			continue;
		}
		bytes = event_bytes(id, p, (u32)(end - p), &values);
		if (id >= ADEPT_FIRST_EXIT || bytes < 0)
			break;
		p += 4 + bytes;
		if (!keep)
			continue;
		memcpy(to.control, p - 4 - bytes, 4 + (u64)bytes - values);
		to.control += 4 + (u64)bytes - values;
		put_values(&to, s->slot + dep_delta_slot(id), p - values, p);
	}
	s->parsed = (u32)(p - body);
	s->control_size = (u32)(to.control - s->control);
	s->values = (u32)(to.len - s->lens);
	s->bytes_size = (u32)(to.bytes - s->bytes);
}

/* parse() compiled for processors with BMI1, BMI2 and LZCNT. */
static __attribute__((target("lzcnt,bmi,bmi2"))) void parse_bmi(struct dep_split *s,
								const u8 *body, u32 size)
{
	parse(s, body, size, true);
}

void dep_split(struct dep_split *s, const u8 *body, u32 size)
{
	if (!s->control) {
		parse(s, body, size, false);
		return;
	}
	memset(s->slot, 0, DEP_DELTA_SLOTS * sizeof(*s->slot));
	if (x86_has_bmi())
		parse_bmi(s, body, size);
	else
		parse(s, body, size, true);
}

void dep_split_tail(struct dep_split *s, const u8 *from, u32 words)
{
	struct ends to = { NULL, s->lens + s->values, s->bytes + s->bytes_size };

	put_values(&to, s->slot + dep_delta_slot(0), from, from + words * 8ul);
	s->values = to.len - s->lens;
	s->bytes_size = to.bytes - s->bytes;
}

static void mark(struct dep_exit_entry e, u32 from, u32 n, u8 *bits)
{
	u32 i = e.frag - from;

	if (e.bytes && i < n)
		bits[i / 8] |= (u8)(1u << i % 8);
}

void dep_split_frags(const struct dep_index *x, const u8 *body, u32 size, u32 from, u32 n,
		     u8 *bits)
{
	const u8 *p = body, *end = body + size;
	struct adept_ev_partial partial;
	struct dep_exit_entry e;
	u32 id, values;
	s64 bytes;

	while (end - p >= 4) {
		memcpy(&id, p, 4);
		if (id >= ADEPT_FIRST_EXIT) {
			e = dep_index_get(x, id);
			if (!e.bytes || e.bytes > end - p)
				return;
			mark(e, from, n, bits);
			p += e.bytes;
			continue;
		}
		bytes = event_bytes(id, p, (u32)(end - p), &values);
		if (bytes < 0)
			return;
		if (id == ADEPT_EV_PARTIAL) {
			memcpy(&partial, p + 4, sizeof(partial));
			mark(dep_index_get(x, partial.frag), from, n, bits);
		}
		p += 4 + bytes;
	}
}
