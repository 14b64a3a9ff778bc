// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording lacks; see missing.h. */
#include <stdio.h>
#include <string.h>

#include <dep/verdict.h>

#include "missing.h"

/* Count threads without segments: gaps in segment numbers do not reveal these threads. */
static uint64_t count_empty(struct dep_store *store)
{
	const struct dep_segment *seg;
	const struct dep_thread *t;
	size_t i, n = dep_store_segments(store, &seg);
	uint64_t threads = dep_store_threads(store, &t), present = 0;

	for (i = 0; i < n; i++)
		present += !i || seg[i].thread != seg[i - 1].thread;
	return threads > present ? threads - present : 0;
}

/* Take the defects of the store's verdict, except losses: their counts are separate reasons. */
static void take_verdict(struct missing *m, struct dep_store *store)
{
	const struct dep_verdict *v = dep_store_verdict(store);
	size_t i;

	m->recording = v->state == DEP_VERDICT_RECORDING;
	m->defects = v->more;
	for (i = 0; i < v->ndefects; i++) {
		if (v->defect[i].kind == DEP_DEFECT_LOSS)
			continue;
		if (!m->defects++)
			snprintf(m->defect, sizeof(m->defect), "%s", v->defect[i].text);
	}
}

void missing_find(struct missing *m, struct dep_store *store)
{
	memset(m, 0, sizeof(*m));
	m->loss = *dep_store_loss(store);
	m->empty = count_empty(store);
	take_verdict(m, store);
}

void reasons_add(struct reasons *r, uint64_t n, const char *one, const char *more)
{
	if (n && r->n < REASONS_MAX)
		snprintf(r->text[r->n++], sizeof(*r->text), "%llu %s", (unsigned long long)n,
			 n == 1 ? one : more);
}

static void add_text(struct reasons *r, const char *text)
{
	if (r->n < REASONS_MAX)
		snprintf(r->text[r->n++], sizeof(*r->text), "%s", text);
}

void reasons_add_all(struct reasons *r, const char *path, const struct reasons *of)
{
	size_t i;

	for (i = 0; i < of->n; i++) {
		if (r->n == REASONS_MAX) {
			snprintf(r->text[r->n - 1], sizeof(*r->text), "and more of other stores");
			return;
		}
		snprintf(r->text[r->n++], sizeof(*r->text), "%.150s%s%.160s",
			 path ? path : "", path ? ": " : "", of->text[i]);
	}
}

void reasons_add_missing(struct reasons *r, const struct missing *m)
{
	const struct dep_loss *l = &m->loss;
	char text[320];

	reasons_add(r, m->gaps, "gap in the recording of a thread",
		    "gaps in the recordings of threads");
	reasons_add(r, m->empty, "thread without a segment", "threads without a segment");
	reasons_add(r, l->lost_threads, "thread ran unrecorded", "threads ran unrecorded");
	reasons_add(r, l->lost_processes, "process ran unrecorded", "processes ran unrecorded");
	reasons_add(r, l->native_images, "program ran unrecorded", "programs ran unrecorded");
	reasons_add(r, l->unwanted_children, "child ran unrecorded", "children ran unrecorded");
	reasons_add(r, l->torn_segments, "segment is incomplete or damaged",
		    "segments are incomplete or damaged");
	reasons_add(r, l->dropped_chunks, "chunk was dropped", "chunks were dropped");
	reasons_add(r, l->absent_chunks, "chunk was lost while no depd ran",
		    "chunks were lost while no depd ran");
	reasons_add(r, l->discarded_bytes, "byte was not stored", "bytes were not stored");
	reasons_add(r, l->untaken_threads, "thread's last records could not be read",
		    "threads' last records could not be read");
	reasons_add(r, l->lost_descriptors, "descriptor of code or a mapping was not recorded",
		    "descriptors of code or mappings were not recorded");
	reasons_add(r, l->corrupt, "ring or descriptor was invalid",
		    "rings or descriptors were invalid");
	if (m->recording)
		add_text(r, "the store is being recorded");
	if (m->defects > 1) {
		snprintf(text, sizeof(text), "%s, and %llu more", m->defect,
			 (unsigned long long)m->defects - 1);
		add_text(r, text);
	} else if (m->defects) {
		add_text(r, m->defect);
	}
}

/* Contexts need more of a segment than counts do, so more segments can be unreadable for them. */
static struct dep_fold_loss loss_of(const struct dep_profile *p, const struct dep_contexts *c)
{
	struct dep_fold_loss loss = p ? p->loss : (struct dep_fold_loss){ 0 };

	if (c && c->loss.segments > loss.segments)
		loss.segments = c->loss.segments;
	if (c && c->loss.gaps > loss.gaps)
		loss.gaps = c->loss.gaps;
	return loss;
}

void reasons_of_profile(struct reasons *r, struct dep_store *store, const struct dep_profile *p,
			const struct dep_contexts *c)
{
	const struct dep_fold_loss loss = loss_of(p, c);
	struct missing m;

	r->n = 0;
	missing_find(&m, store);
	m.gaps = loss.gaps;
	reasons_add(r, loss.segments, "segment cannot be read", "segments cannot be read");
	reasons_add(r, c ? c->not_counted : 0,
		    "call did not fit into memory: counts that include callees are not exact "
		    "(see --memory of depctl query contexts and depctl report)",
		    "calls did not fit into memory: counts that include callees are not exact "
		    "(see --memory of depctl query contexts and depctl report)");
	reasons_add_missing(r, &m);
}

void reasons_of_running(struct reasons *r, const struct dep_profile *p)
{
	const struct missing m = { .gaps = p->loss.gaps };

	r->n = 1;
	snprintf(r->text[0], sizeof(r->text[0]), "the recording is still running");
	reasons_add(r, p->loss.segments, "segment cannot be read", "segments cannot be read");
	reasons_add_missing(r, &m);
}

void reasons_text(struct out *o, const struct reasons *r, const char *separator)
{
	size_t i;

	out_text(o, r->n ? "complete: no" : "complete: yes");
	for (i = 0; i < r->n; i++) {
		out_text(o, i ? ", " : separator);
		out_plain(o, r->text[i]);
	}
	out_text(o, "\n");
}

void reasons_json(struct json *j, const struct reasons *r)
{
	size_t i;

	json_bool(j, "complete", !r->n);
	json_array(j, "missing");
	for (i = 0; i < r->n; i++)
		json_str(j, NULL, r->text[i]);
	json_close(j, ']');
}
