// SPDX-License-Identifier: LGPL-2.1-or-later
/* Decode records by the dictionaries of their time stamps, after later encodings. */
#include "check.h"

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Nodes keep their numbers. */
static u64 hash_chain(const struct dep_cc_chain *chain)
{
	const struct dep_cc_frame *f;
	u64 h = chain->n;
	size_t i;

	for (i = 0; i < chain->n; i++) {
		f = chain->frame + i;
		h = mix(mix(mix(h, f->function), f->site), f->kind);
	}
	return h;
}

static void report(struct check *c, const struct check_kept *k)
{
	const struct dep_context_mismatch m = {
		.why = "a record decodes to another context after later encodings",
		.call = k->call, .tid = k->tid, .late = true,
	};

	if (c->out->mismatches++ < CHECK_SHOWN && c->options->mismatch)
		c->options->mismatch(c->options->arg, &m);
}

static void decode(struct check *c, struct check_kept *k)
{
	const struct dep_cc_dictionary *d;
	int err;

	if (!k->used)
		return;
	d = dep_cc_history_get(&c->encoder.history, k->record.stamp);
	/* Only later encodings make it another check than before. */
	if (k->record.stamp + 1 < c->encoder.history.n && !c->err) {
		err = d ? dep_cc_decode(d, &k->record, &c->chain) : -ENOENT;
		c->out->late++;
		if (err == -ENOMEM)
			c->err = err;
		else if (err || hash_chain(&c->chain) != k->hash)
			report(c, k);
	}
	dep_cc_record_free(&k->record);
	k->used = false;
}

void check_keep(struct check *c, struct dep_cc_record *r, const struct dep_cc_chain *chain)
{
	struct check_kept *k = c->kept + c->kept_at;

	if (r->stamp != c->kept_stamp) {
		c->kept_stamp = r->stamp;
		c->kept_of_stamp = 0;
	}
	/* The first ones of a stamp, and not those with a long stack: memory is bounded. */
	if (c->kept_of_stamp >= CHECK_KEPT_STAMP || r->n > 65536) {
		dep_cc_record_free(r);
		return;
	}
	c->kept_of_stamp++;
	c->kept_at = (c->kept_at + 1) % CHECK_KEPT;
	decode(c, k);
	*k = (struct check_kept){
		.record = *r, .hash = hash_chain(chain), .call = c->out->calls,
		.tid = c->walk->thread->tid, .used = true,
	};
}

void check_late(struct check *c, u32 stamp)
{
	u32 i;

	for (i = 0; i < CHECK_KEPT; i++)
		if (c->kept[i].used && c->kept[i].record.stamp < stamp)
			decode(c, c->kept + i);
}

void check_encoded(struct check *c)
{
	const struct dep_cc_history *h = &c->encoder.history;

	if (h->at[h->n - 1]->max_id > c->max_id)
		c->max_id = h->at[h->n - 1]->max_id;
	if (h->n - c->oldest <= CHECK_HISTORY)
		return;
	check_late(c, c->oldest + 1);
	if (!check_is_pinned(c, c->oldest))
		dep_cc_history_drop(&c->encoder.history, c->oldest);
	c->oldest++;
}
