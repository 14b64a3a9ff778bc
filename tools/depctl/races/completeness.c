// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasons why a report may be incomplete.  A report without races must not suggest that there are
 * none if a part of the recording is missing.
 */
#include <stdio.h>

#include <dep/verdict.h>

#include "tools/depctl/depctl.h"
#include "races.h"

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

static uint64_t count_attached(struct dep_store *store)
{
	const struct dep_process *p;
	size_t n = dep_store_processes(store, &p);
	uint64_t attached = 0;

	for (; n--; p++)
		attached += p->cause == ADEPT_BY_ATTACH;
	return attached;
}

/* Take the defects of the store's verdict, except losses: their counts are separate reasons. */
static void take_verdict(struct races_summary *s, struct dep_store *store)
{
	const struct dep_verdict *v = dep_store_verdict(store);
	size_t i;

	s->recording = v->state == DEP_VERDICT_RECORDING;
	s->defects = v->more;
	for (i = 0; i < v->ndefects; i++) {
		if (v->defect[i].kind == DEP_DEFECT_LOSS)
			continue;
		if (!s->defects++)
			snprintf(s->defect, sizeof(s->defect), "%s", v->defect[i].text);
	}
}

void races_summary_init(struct races_summary *s, struct dep_store *store,
			const struct dep_races *found)
{
	struct races_reasons why;

	*s = (struct races_summary){
		.references = found->references, .gaps = found->gaps,
		.disorder = found->disorder, .unsettled = found->unsettled,
		.too_many_threads = found->too_many_threads, .unpredicted = found->unpredicted,
		.loss = *dep_store_loss(store),
		.empty = count_empty(store), .attached = count_attached(store),
		.tsc_synchronized = dep_store_meta(store)->tsc_trusted,
	};
	take_verdict(s, store);
	races_reasons(&why, s);
	s->complete = !why.n;
}

static void add(struct races_reasons *r, uint64_t n, const char *one, const char *more)
{
	if (n && r->n < RACES_REASONS)
		snprintf(r->text[r->n++], sizeof(*r->text), "%llu %s", (unsigned long long)n,
			 n == 1 ? one : more);
}

void races_reasons(struct races_reasons *r, const struct races_summary *s)
{
	const struct dep_loss *l = &s->loss;

	r->n = 0;
	add(r, s->gaps, "gap in the recording of a thread", "gaps in the recordings of threads");
	add(r, s->disorder, "time a clock ran backwards", "times a clock ran backwards");
	add(r, s->unsettled, "word was found to be atomic only in the last pass",
	    "words were found to be atomic only in the last pass");
	add(r, s->too_many_threads, "process or group of processes had too many threads",
	    "processes or groups of processes had too many threads");
	add(r, s->unpredicted, "process was analysed for predicted races only in part",
	    "processes were analysed for predicted races only in part");
	add(r, s->empty, "thread without a segment", "threads without a segment");
	add(r, l->lost_threads, "thread ran unrecorded", "threads ran unrecorded");
	add(r, l->lost_processes, "process ran unrecorded", "processes ran unrecorded");
	add(r, l->native_images, "program ran unrecorded", "programs ran unrecorded");
	add(r, l->unwanted_children, "child ran unrecorded", "children ran unrecorded");
	add(r, l->torn_segments, "segment is incomplete or damaged",
	    "segments are incomplete or damaged");
	add(r, l->dropped_chunks, "chunk was dropped", "chunks were dropped");
	add(r, l->absent_chunks, "chunk was lost while no depd ran",
	    "chunks were lost while no depd ran");
	add(r, l->discarded_bytes, "byte was not stored", "bytes were not stored");
	add(r, l->untaken_threads, "thread's last records could not be read",
	    "threads' last records could not be read");
	add(r, l->lost_descriptors, "descriptor of code or a mapping was not recorded",
	    "descriptors of code or mappings were not recorded");
	add(r, l->corrupt, "ring or descriptor was invalid",
	    "rings or descriptors were invalid");
	if (s->recording)
		snprintf(r->text[r->n++], sizeof(*r->text), "the store is being recorded");
	if (s->defects == 1)
		snprintf(r->text[r->n++], sizeof(*r->text), "%s", s->defect);
	else if (s->defects)
		snprintf(r->text[r->n++], sizeof(*r->text), "%s, and %llu more", s->defect,
			 (unsigned long long)s->defects - 1);
}
