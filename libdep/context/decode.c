// SPDX-License-Identifier: LGPL-2.1-or-later
/* Decode recorded contexts. */
#include "decode.h"

struct dep_cc_origin *dep_cc_origin_get(struct dep_cc_origin *o)
{
	if (o)
		o->refs++;
	return o;
}

/* Threads that create threads make a list of any length. */
void dep_cc_origin_put(struct dep_cc_origin *o)
{
	struct dep_cc_origin *next;

	for (; o && !--o->refs; o = next) {
		next = o->record.origin;
		free(o->record.entry);
		free(o);
	}
}

void dep_cc_record_free(struct dep_cc_record *r)
{
	free(r->entry);
	dep_cc_origin_put(r->origin);
	*r = (struct dep_cc_record){ 0 };
}

static int add(const struct dep_cc_dictionary *d, const struct dep_cc_record *r,
	       struct dep_cc_chain *to)
{
	struct dep_cc_cursor c;

	if (d->stamp != r->stamp)
		return -EBADMSG;
	dep_cc_cursor_at(&c, d, r->function, r->id, r->entry, r->n);
	return dep_cc_cursor_chain(&c, to);
}

int dep_cc_decode(const struct dep_cc_dictionary *d, const struct dep_cc_record *r,
		  struct dep_cc_chain *to)
{
	to->n = 0;
	return add(d, r, to);
}

int dep_cc_decode_origins(const struct dep_cc_history *h, const struct dep_cc_record *r,
			  struct dep_cc_chain *to)
{
	const struct dep_cc_dictionary *d;
	int err = 0;

	to->n = 0;
	while (!err && r) {
		d = dep_cc_history_get(h, r->stamp);
		err = d ? add(d, r, to) : -ENOENT;
		r = r->origin ? &r->origin->record : NULL;
	}
	return err;
}
