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

static inline void copy_words(u8 *to, const u8 *from, u32 bytes)
{
	u64 w;
	u32 i;

	for (i = 0; i < bytes; i += 8) {
		memcpy(&w, from + i, 8);
		memcpy(to + i, &w, 8);
	}
}

struct dep_split dep_split(const struct dep_index *x, const u8 *body, u32 size, u8 *control,
			   u8 *value)
{
	const struct dep_exit_entry *e;
	struct dep_split n = { 0 };
	u32 at = 0, c = 0, v = 0, id, len, values;
	s64 bytes;

	while (size - at >= 4) {
		memcpy(&id, body + at, 4);
		if (id >= ADEPT_FIRST_EXIT) {
			e = dep_index_find(x, id);
			if (!e || e->bytes > size - at)
				break;
			len = 4;
			values = e->bytes - 4;
		} else {
			bytes = event_bytes(id, body + at, size - at, &values);
			if (bytes < 0)
				break;
			len = 4 + bytes - values;
		}
		if (control) {
			memcpy(control + c, &id, 4);
			if (len > 4)
				memcpy(control + c + 4, body + at + 4, len - 4);
			copy_words(value + v, body + at + len, values);
		}
		c += len;
		v += values;
		at += len + values;
	}
	n.control = c;
	n.value = v;
	n.parsed = at;
	return n;
}
