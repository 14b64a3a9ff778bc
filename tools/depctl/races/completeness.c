// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reasons why a report may be incomplete.  A report without races must not suggest that there are
 * none if a part of the recording is missing.
 */
#include "tools/depctl/depctl.h"
#include "races.h"

static uint64_t count_attached(struct dep_store *store)
{
	const struct dep_process *p;
	size_t n = dep_store_processes(store, &p);
	uint64_t attached = 0;

	for (; n--; p++)
		attached += p->cause == ADEPT_BY_ATTACH;
	return attached;
}

void races_summary_init(struct races_summary *s, struct dep_store *store,
			const struct dep_races *found)
{
	struct reasons why;

	*s = (struct races_summary){
		.references = found->references,
		.disorder = found->disorder, .unsettled = found->unsettled,
		.too_many_threads = found->too_many_threads, .unpredicted = found->unpredicted,
		.attached = count_attached(store),
		.tsc_synchronized = dep_store_meta(store)->tsc_trusted,
	};
	missing_find(&s->missing, store);
	s->missing.gaps = found->gaps;
	races_reasons(&why, s);
	s->complete = !why.n;
}

void races_reasons(struct reasons *r, const struct races_summary *s)
{
	r->n = 0;
	reasons_add(r, s->disorder, "time a clock ran backwards", "times a clock ran backwards");
	reasons_add(r, s->unsettled, "word was found to be atomic only in the last pass",
		    "words were found to be atomic only in the last pass");
	reasons_add(r, s->too_many_threads, "process or group of processes had too many threads",
		    "processes or groups of processes had too many threads");
	reasons_add(r, s->unpredicted, "process was analysed for predicted races only in part",
		    "processes were analysed for predicted races only in part");
	reasons_add_missing(r, &s->missing);
}
