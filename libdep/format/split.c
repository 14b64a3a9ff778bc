// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stddef.h>
#include <string.h>

#include "split.h"

/*
 * Bytes of the event at @p behind its id, values included (they alone in *@values),
 * or -1 if it is none or is cut.
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

/* The streams' ends while they are written. */
struct ends {
	u8 *len, *bytes;
};

static inline struct ends put_values(struct ends to, u64 *at, const u8 *from, u32 words)
{
	u64 value;
	u32 i, len;

	for (i = 0; i < words; i++) {
		memcpy(&value, from + i * 8, 8);
		len = dep_delta_put(&at[i], value, to.bytes);
		to.bytes += len;
		*to.len++ = len;
	}
	return to;
}

/* Exits that were looked up lately, by the lower bits of their ids; 0 is none's. */
#define RECENT	256u

struct recent {
	u32 id, bytes;
};

/* Bytes of a record, 0 = of none that is known. */
static inline u32 record_bytes(const struct dep_split *s, struct recent *recent, u32 id)
{
	struct dep_exit_entry e;

	recent += id % RECENT;
	if (recent->id != id) {
		e = dep_index_get(s->x, id);
		if (!e.bytes || e.frag >= s->limit)
			return 0;
		*recent = (struct recent){ id, e.bytes };
	}
	return recent->bytes;
}

static inline void parse(struct dep_split *s, const u8 *body, u32 size, int keep)
{
	struct ends to = { s->lens, s->bytes };
	struct recent recent[RECENT] = { 0 };
	u32 at = 0, id, len, values, whole;
	u8 *control = s->control;
	s64 bytes;

	while (size - at >= 4) {
		memcpy(&id, body + at, 4);
		len = 4;
		if (id >= ADEPT_FIRST_EXIT) {
			whole = record_bytes(s, recent, id);
			if (!whole || whole > size - at)
				break;
			values = whole - 4u;
		} else {
			bytes = event_bytes(id, body + at, size - at, &values);
			if (bytes < 0)
				break;
			len += bytes - values;
		}
		if (keep) {
			memcpy(control, &id, 4);
			if (len > 4)
				memcpy(control + 4, body + at + 4, len - 4);
			control += len;
			to = put_values(to, s->slot + dep_delta_slot(id), body + at + len,
					values / 8);
		}
		at += len + values;
	}
	s->parsed = at;
	s->control_size = control - s->control;
	s->values = to.len - s->lens;
	s->bytes_size = to.bytes - s->bytes;
}

void dep_split(struct dep_split *s, const u8 *body, u32 size)
{
	if (!s->control) {
		parse(s, body, size, 0);
		return;
	}
	memset(s->slot, 0, DEP_DELTA_SLOTS * sizeof(*s->slot));
	parse(s, body, size, 1);
}

void dep_split_tail(struct dep_split *s, const u8 *from, u32 words)
{
	struct ends to = { s->lens + s->values, s->bytes + s->bytes_size };

	to = put_values(to, s->slot + dep_delta_slot(0), from, words);
	s->values = to.len - s->lens;
	s->bytes_size = to.bytes - s->bytes;
}
